//! Datasets over sequences in memory: what small programs, demos and experiments train on.

use super::{Batch, Dataset};
use crate::data::batch::{EncodedText, EncoderInput, LabelledBatch, LmBatch, PairBatch};
use crate::data::masking::{MaskStream, Masking};
use crate::data::pairs::TokenPair;
use crate::data::sampler::{BatchSampler, Bucketing, random_windows};
use crate::error::{DatasetError, Result};
use crate::model::Seq2Seq;

/// A dataset over sequences in memory, one micro-batch per step.
///
/// Every example comes once per epoch, in an order that follows from the seed.
pub struct InMemoryDataset<'a> {
    batch: Box<dyn FnMut(u64) -> Batch + 'a>,
}

/// How examples become batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// Tokens of a batch at most; sequences are not truncated, so none may be longer.
    pub tokens: usize,
    /// Seed of the order of examples.
    pub seed: u64,
}

impl Batching {
    fn order(self, lengths: impl Iterator<Item = usize>) -> Result<BatchSampler> {
        let lengths: Vec<usize> = lengths.collect();
        BatchSampler::new(self.seed, &lengths, self.tokens, Bucketing::Mixed)
    }
}

impl Dataset for InMemoryDataset<'_> {
    fn micro_batches(&mut self, step: u64) -> Vec<Batch> {
        vec![(self.batch)(step)]
    }
}

impl<'a> InMemoryDataset<'a> {
    /// Sequences of a language model: every token but the first is predicted from those before it.
    ///
    /// # Errors
    /// If a sequence is longer than a batch.
    pub fn language_model(sequences: &'a [Vec<u32>], batching: Batching) -> Result<Self> {
        let mut order = batching.order(sequences.iter().map(Vec::len))?;
        Ok(Self::new(move |step| {
            let chosen = order.batch(step);
            let chosen: Vec<&[u32]> = chosen.iter().map(|i| &sequences[*i][..]).collect();
            Batch::Lm(LmBatch::new(&chosen))
        }))
    }

    /// Windows of `context` tokens from random places of a text, `batch_size` per step.
    pub fn windows(tokens: &'a [u32], context: usize, batch_size: usize, seed: u64) -> Self {
        Self::new(move |step| {
            let starts = random_windows(seed, step, batch_size, tokens.len() - context);
            let windows: Vec<&[u32]> =
                starts.iter().map(|at| &tokens[*at..at + context + 1]).collect();
            Batch::Lm(LmBatch::new(&windows))
        })
    }

    /// Sequences of an encoder with masked tokens, other ones in each epoch.
    ///
    /// # Errors
    /// If a sequence is longer than a batch.
    pub fn masked(
        sequences: &'a [EncodedText],
        masking: &'a Masking,
        batching: Batching,
    ) -> Result<Self> {
        let mut order = batching.order(sequences.iter().map(|(ids, _)| ids.len()))?;
        Ok(Self::new(move |step| {
            let chosen = order.batch(step).iter().map(|i| sequences[*i].clone()).collect();
            Batch::Masked(masking.apply(MaskStream::Training(step), chosen, None))
        }))
    }

    /// Texts of a classifier with the index of their label.
    ///
    /// # Errors
    /// If a text is longer than a batch.
    pub fn labelled(examples: &'a [(EncodedText, u32)], batching: Batching) -> Result<Self> {
        let mut order = batching.order(examples.iter().map(|((ids, _), _)| ids.len()))?;
        Ok(Self::new(move |step| {
            let chosen = order.batch(step);
            let texts: Vec<(&[u32], &[u32])> =
                chosen.iter().map(|i| (&examples[*i].0.0[..], &examples[*i].0.1[..])).collect();
            let labels: Vec<u32> = chosen.iter().map(|i| examples[*i].1).collect();
            let input = EncoderInput::new(&texts);
            Batch::Labelled(LabelledBatch { input, labels: labels.into() })
        }))
    }

    /// Sentence pairs of `model`, an encoder-decoder.
    ///
    /// # Errors
    /// If a pair is longer than a batch or than the model's maximum, or has a token id outside its
    /// vocabulary.
    pub fn pairs<'m>(
        model: impl Into<Seq2Seq<'m>>,
        pairs: &'a [TokenPair],
        batching: Batching,
    ) -> Result<Self> {
        let model = model.into();
        check_pairs(model, pairs)?;
        let start = model.start();
        let mut order =
            batching.order(pairs.iter().map(|(source, target)| source.len() + target.len()))?;
        Ok(Self::new(move |step| {
            let chosen = order.batch(step);
            let chosen: Vec<(&[u32], &[u32])> =
                chosen.iter().map(|i| (&pairs[*i].0[..], &pairs[*i].1[..])).collect();
            Batch::Pairs(PairBatch::new(&chosen, start))
        }))
    }

    fn new(batch: impl FnMut(u64) -> Batch + 'a) -> Self {
        Self { batch: Box::new(batch) }
    }
}

/// Refuses pairs that the model has no positions or no tokens for, before any of them is used.
fn check_pairs(model: Seq2Seq, pairs: &[TokenPair]) -> Result<(), DatasetError> {
    let max = model.longest();
    let sizes = [model.vocab_size(), model.decoder_vocab_size()];
    for (i, (source, target)) in pairs.iter().enumerate() {
        let pair = i + 1;
        for (side, ids, vocab_size) in [("source", source, sizes[0]), ("target", target, sizes[1])]
        {
            let (tokens, id) = (ids.len(), ids.iter().copied().max().unwrap_or(0));
            if tokens > max {
                return Err(DatasetError::PairTooLong { side, pair, tokens, max });
            }
            if id as usize >= vocab_size {
                return Err(DatasetError::IdOutOfRange { side, pair, id, vocab_size });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::config::EncoderDecoderConfig;

    #[test]
    fn a_batch_is_a_function_of_seed_and_step_alone() {
        let sequences: Vec<Vec<u32>> = (0..50).map(|i| vec![i % 7; 3 + i as usize % 5]).collect();
        let dataset = || {
            let batching = Batching { tokens: 16, seed: 3 };
            InMemoryDataset::language_model(&sequences, batching).unwrap()
        };
        let ids = |dataset: &mut InMemoryDataset, step| match &dataset.micro_batches(step)[..] {
            [Batch::Lm(batch)] => batch.targets.to_vec(),
            _ => panic!("one batch of a language model"),
        };
        let (mut forward, mut backward) = (dataset(), dataset());
        let there: Vec<_> = (0..60).map(|step| ids(&mut forward, step)).collect();
        let mut back: Vec<_> = (0..60).rev().map(|step| ids(&mut backward, step)).collect();
        back.reverse();
        assert_eq!(there, back);
    }

    #[test]
    fn pairs_that_the_model_cannot_read_are_refused_by_number() {
        let config = EncoderDecoderConfig {
            max_position_embeddings: 4,
            ..EncoderDecoderConfig::new(9, 1, 1, 4, 4)
        };
        let model = Model::new(&config, 1).unwrap();
        let refused = |pair: TokenPair| {
            let pairs = [(vec![1, 2], vec![3]), pair];
            let batching = Batching { tokens: 100, seed: 1 };
            let translator = model.stack.translator().unwrap();
            InMemoryDataset::pairs(translator, &pairs, batching).err().unwrap().to_string()
        };
        assert!(refused((vec![1; 5], vec![1])).starts_with("the source of pair 2 has 5 tokens"));
        assert!(refused((vec![1], vec![9])).starts_with("the target of pair 2 has token id 9"));
    }
}
