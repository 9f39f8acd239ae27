//! In which order examples are seen: packed to a budget of tokens, shuffled anew each epoch.
//!
//! The batch of step s is a function of seed and s alone. A resumed run asks for the step it is at and sees what the uninterrupted one would
//! have seen; nothing has to be saved, and no batch has to be made again to get there.

use crate::error::{Error, Result};
use limpid_tensor::rng::Stream;

/// Which examples share a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bucketing {
    /// Any: packed batches have no padding to save, and a batch of short sentences alone would leave them to a handful of steps an epoch (the
    /// greetings of the built-in corpus were not learnt that way).
    #[default]
    Mixed,
    /// Those of about the same length; the batches themselves come in random order. Attention over sequences of one length is
    /// shared out evenly between threads.
    ByLength,
}

/// Lengths that differ by less than this many tokens count as the same in [`Bucketing::ByLength`], so that a batch is not the same examples in
/// every epoch.
const BUCKET: usize = 4;

/// Streams of a seed: bit 61 is the order of data, beside initial values (63), dropout (62), splits (60) and the corpora.
const ORDER: u64 = 1 << 61;
/// Bit 59: positions in a text. Bits 58 and 57 are masks (`masking.rs`), 56 pairs of lines (`train/masked.rs`).
const WINDOWS: u64 = 1 << 59;

/// The batches of one epoch: lists of numbers of examples. A batch holds as many as fit into `budget` tokens, at least one.
pub fn epoch_batches(
    lengths: &[usize],
    budget: usize,
    bucketing: Bucketing,
    seed: u64,
    epoch: u64,
) -> Vec<Vec<usize>> {
    let mut rng = Stream::new(seed, ORDER | epoch);
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    rng.shuffle(&mut order);
    if bucketing == Bucketing::ByLength {
        // Stable: random within a bucket.
        order.sort_by_key(|i| lengths[*i] / BUCKET);
    }
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for i in order {
        match batches.last_mut() {
            Some(batch) if lengths[i] <= room => {
                batch.push(i);
                room -= lengths[i];
            }
            _ => {
                batches.push(vec![i]);
                room = budget.saturating_sub(lengths[i]);
            }
        }
    }
    if bucketing == Bucketing::ByLength {
        rng.shuffle(&mut batches);
    }
    batches
}

/// The batches of a run, step by step.
pub struct PairOrder {
    lengths: Vec<usize>,
    budget: usize,
    bucketing: Bucketing,
    seed: u64,
    /// The first step of each epoch that has been counted, and of the one after.
    first: Vec<u64>,
    /// The epoch that is being walked through.
    current: Option<(u64, Vec<Vec<usize>>)>,
}

impl PairOrder {
    /// Examples of these lengths (for pairs, tokens of source and target together), in batches of at most `budget` tokens.
    pub fn new(seed: u64, lengths: &[usize], budget: usize, bucketing: Bucketing) -> Result<Self> {
        if lengths.is_empty() {
            return Err(Error::data("there is nothing to learn from").hint("is the file empty?"));
        }
        if let Some(longest) = lengths.iter().max().filter(|longest| **longest > budget) {
            return Err(Error::config(format!(
                "an example of {longest} tokens does not fit into a batch of {budget}"
            ))
            .hint(format!("--set train.batch_tokens={longest}, or a smaller model.context")));
        }
        Ok(Self { lengths: lengths.to_vec(), budget, bucketing, seed, first: vec![0], current: None })
    }

    fn batches(&mut self, epoch: u64) -> &[Vec<usize>] {
        if self.current.as_ref().is_none_or(|(current, _)| *current != epoch) {
            let batches = epoch_batches(&self.lengths, self.budget, self.bucketing, self.seed, epoch);
            if self.first.len() as u64 == epoch + 1 {
                self.first.push(self.first[epoch as usize] + batches.len() as u64);
            }
            self.current = Some((epoch, batches));
        }
        &self.current.as_ref().expect("just made").1
    }

    /// The epoch a step belongs to, and its place in it; both from 0.
    ///
    /// How many batches an epoch has depends on its shuffle. Those before a step are shuffled once to count them: some milliseconds for
    /// a hundred thousand pairs.
    pub fn epoch(&mut self, step: u64) -> (u64, usize) {
        while *self.first.last().expect("it begins with 0") <= step {
            self.batches(self.first.len() as u64 - 1);
        }
        let epoch = self.first.partition_point(|first| *first <= step) - 1;
        (epoch as u64, (step - self.first[epoch]) as usize)
    }

    /// How many batches an epoch has.
    pub fn batches_of(&mut self, epoch: u64) -> usize {
        self.batches(epoch).len()
    }

    /// The examples of step `step`, from 0.
    pub fn batch(&mut self, step: u64) -> Vec<usize> {
        let (epoch, place) = self.epoch(step);
        self.batches(epoch)[place].clone()
    }
}

/// Where a language model reads at step `step`: `batch` positions out of `windows`, each equally likely, drawn anew each step.
#[track_caller]
pub fn random_windows(seed: u64, step: u64, batch: usize, windows: usize) -> Vec<usize> {
    let mut rng = Stream::new(seed, WINDOWS | step);
    (0..batch).map(|_| rng.below(windows)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Bucketing; 2] = [Bucketing::Mixed, Bucketing::ByLength];

    fn lengths() -> Vec<usize> {
        (0..500).map(|i| 2 + (i * i) % 41).collect()
    }

    fn order(seed: u64, bucketing: Bucketing) -> PairOrder {
        PairOrder::new(seed, &lengths(), 120, bucketing).unwrap()
    }

    #[test]
    fn every_pair_is_seen_once_an_epoch_within_the_budget_which_is_used() {
        let lengths = lengths();
        for bucketing in KINDS {
            let mut order = order(3, bucketing);
            let mut step = 0;
            for epoch in 0..3 {
                let (mut seen, mut batches) = (Vec::new(), 0);
                while order.epoch(step).0 == epoch {
                    let batch = order.batch(step);
                    assert!(batch.iter().map(|i| lengths[*i]).sum::<usize>() <= 120);
                    seen.extend(batch);
                    (step, batches) = (step + 1, batches + 1);
                }
                seen.sort_unstable();
                assert_eq!(seen, (0..500).collect::<Vec<_>>(), "{bucketing:?}, epoch {epoch}");
                assert!(lengths.iter().sum::<usize>() > 75 * batches, "{bucketing:?}");
            }
        }
    }

    #[test]
    fn a_step_does_not_depend_on_which_steps_were_asked_for_before() {
        for bucketing in KINDS {
            let mut walked = order(7, bucketing);
            let all: Vec<Vec<usize>> = (0..400).map(|step| walked.batch(step)).collect();
            for step in [399, 0, 250, 251, 13, 399] {
                assert_eq!(order(7, bucketing).batch(step), all[step as usize], "{bucketing:?} {step}");
                assert_eq!(walked.batch(step), all[step as usize], "{bucketing:?} {step}");
            }
        }
    }

    #[test]
    fn epochs_and_seeds_differ_and_not_only_in_the_order_of_their_batches() {
        for bucketing in KINDS {
            let sorted = |seed, epoch| {
                let mut batches = epoch_batches(&lengths(), 120, bucketing, seed, epoch);
                batches.iter_mut().for_each(|batch| batch.sort_unstable());
                batches.sort();
                batches
            };
            assert_eq!(sorted(1, 3), sorted(1, 3));
            assert_ne!(sorted(1, 3), sorted(1, 4), "{bucketing:?}");
            assert_ne!(sorted(1, 3), sorted(2, 3), "{bucketing:?}");
        }
    }

    #[test]
    fn buckets_hold_pairs_of_about_one_length_and_come_in_random_order() {
        let lengths = lengths();
        let batches = epoch_batches(&lengths, 120, Bucketing::ByLength, 1, 0);
        let spread = |batch: &Vec<usize>| {
            let of = |i: &usize| lengths[*i];
            batch.iter().map(of).max().unwrap() - batch.iter().map(of).min().unwrap()
        };
        let narrow = batches.iter().filter(|batch| spread(batch) < 2 * BUCKET).count();
        assert!(narrow * 10 >= batches.len() * 9, "{narrow} of {}", batches.len());
        let firsts: Vec<usize> = batches.iter().map(|batch| lengths[batch[0]]).collect();
        let rises = firsts.windows(2).filter(|pair| pair[0] <= pair[1]).count();
        assert!(rises > firsts.len() / 4 && rises < firsts.len() * 3 / 4, "{rises} of {}", firsts.len());
    }

    #[test]
    fn no_pairs_and_a_pair_beyond_the_budget_are_errors_with_the_setting_that_works() {
        assert!(PairOrder::new(1, &[], 10, Bucketing::Mixed).is_err());
        let error = PairOrder::new(1, &[5, 30, 7], 10, Bucketing::Mixed).err().unwrap();
        assert_eq!(error.to_string(), "an example of 30 tokens does not fit into a batch of 10");
        assert!(error.hint_text().unwrap().contains("train.batch_tokens=30"));
        // Where nobody has refused it, it is a batch of its own.
        assert_eq!(epoch_batches(&[30], 10, Bucketing::Mixed, 0, 0), [[0]]);
    }

    #[test]
    fn positions_of_a_text_are_a_function_of_seed_and_step() {
        assert_eq!(random_windows(1, 5, 8, 1000), random_windows(1, 5, 8, 1000));
        assert_ne!(random_windows(1, 5, 8, 1000), random_windows(1, 6, 8, 1000));
        assert!((0..100).flat_map(|step| random_windows(1, step, 8, 3)).all(|position| position < 3));
    }
}
