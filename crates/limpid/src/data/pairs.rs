//! Sentence pairs as ids, and the batches of an epoch; [`super::order::PairOrder`] has them step by step.

use super::order::{Bucketing, epoch_batches};
use crate::error::{Error, Result};
use crate::text::Tokenizer;

/// A source and a target sentence as ids, each ending with the end token.
pub type TokenPair = (Vec<u32>, Vec<u32>);

/// Tokenizes sentence pairs; `end` is appended to both sides.
pub fn tokenize_pairs<'a>(
    tokenizer: &Tokenizer,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    end: u32,
) -> Result<Vec<TokenPair>> {
    let ids = |text: &str| -> Result<Vec<u32>> {
        let mut ids = tokenizer.encode(text)?;
        ids.push(end);
        Ok(ids)
    };
    pairs.into_iter().map(|(source, target)| Ok((ids(source)?, ids(target)?))).collect()
}

/// Makes the batches of an epoch: lists of indices into `pairs`.
///
/// A batch holds as many pairs as fit into `tokens` (source and target together), at least one.
pub fn batches(pairs: &[TokenPair], tokens: usize, seed: u64, epoch: u64) -> Result<Vec<Vec<usize>>> {
    if pairs.is_empty() {
        return Err(Error::data("there are no sentence pairs to train on").hint("is the file empty?"));
    }
    let lengths: Vec<usize> = pairs.iter().map(|(source, target)| source.len() + target.len()).collect();
    Ok(epoch_batches(&lengths, tokens, Bucketing::Mixed, seed, epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Vec<TokenPair> {
        (0..200).map(|i| (vec![1; 1 + i % 17], vec![1; 1 + i % 13])).collect()
    }

    #[test]
    fn every_pair_is_in_one_batch_and_batches_keep_to_the_budget() {
        let batches = batches(&pairs(), 100, 1, 0).unwrap();
        let mut seen: Vec<usize> = batches.concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..200).collect::<Vec<_>>());
        let pairs = pairs();
        let tokens =
            |batch: &Vec<usize>| batch.iter().map(|i| pairs[*i].0.len() + pairs[*i].1.len()).sum::<usize>();
        assert!(batches.iter().all(|batch| tokens(batch) <= 100));
        // The budget is used, not just respected.
        assert!(batches.iter().map(tokens).sum::<usize>() > 75 * batches.len());
    }

    #[test]
    fn the_order_is_a_function_of_seed_and_epoch() {
        let order = |seed, epoch| batches(&pairs(), 100, seed, epoch).unwrap();
        assert_eq!(order(1, 3), order(1, 3));
        assert_ne!(order(1, 3), order(1, 4));
        assert_ne!(order(1, 3), order(2, 3));
    }

    #[test]
    fn a_pair_beyond_the_budget_is_a_batch_of_its_own_and_no_pairs_are_an_error() {
        assert_eq!(batches(&[(vec![1; 50], vec![1; 60])], 10, 0, 0).unwrap(), [[0]]);
        assert!(batches(&[], 10, 0, 0).is_err());
    }
}
