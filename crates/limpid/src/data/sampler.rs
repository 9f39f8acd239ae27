//! Batch sampling: examples in batches of a token budget, shuffled every epoch.
//!
//! The batch of step s is a function of the seed and s alone: a resumed run asks for its step and
//! gets the batch of the uninterrupted run, without saved state.
//!
//! ```
//! use limpid::data::sampler::{BatchSampler, Bucketing};
//!
//! // Examples of 3, 2, 4 and 1 tokens, in batches of at most 5 tokens.
//! let lengths = [3, 2, 4, 1];
//! let mut sampler = BatchSampler::new(7, &lengths, 5, Bucketing::Mixed)?;
//! let mut epoch: Vec<usize> = Vec::new();
//! for step in 0..sampler.batches_of(0) as u64 {
//!     epoch.extend(sampler.batch(step));
//! }
//! epoch.sort();
//! assert_eq!(epoch, [0, 1, 2, 3]);
//! # Ok::<(), limpid::error::Error>(())
//! ```

use crate::error::{DataError, Result};
use limpid_tensor::rng::Stream;

/// Which examples share a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bucketing {
    /// Any: packed batches have no padding to save, and batches of only short sentences would leave
    /// these to a handful of steps per epoch (the greetings of the built-in corpus were not learned
    /// that way).
    #[default]
    Mixed,
    /// Those of similar length; the batches come in random order. Attention over sequences of one
    /// length is balanced between threads.
    ByLength,
}

/// The bucket width of [`Bucketing::ByLength`] in tokens: wide enough that batches differ between
/// epochs.
const BUCKET: usize = 4;

/// Random streams of a seed: bit 61 is the order of data, beside initialization (63), dropout (62),
/// splits (60) and the built-in corpora.
const ORDER: u64 = 1 << 61;
/// Bit 59: window positions in a text. Bits 58 and 57 are masks (`masking.rs`), 56 next-sentence
/// pairs.
const WINDOWS: u64 = 1 << 59;

/// The batches of one epoch as lists of example indices. A batch holds as many as fit into `budget`
/// tokens, at least one.
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

/// The batches of a training run, by step.
pub struct BatchSampler {
    lengths: Vec<usize>,
    budget: usize,
    bucketing: Bucketing,
    seed: u64,
    /// The first step of each epoch that was computed, and of the one after.
    first: Vec<u64>,
    /// The epoch computed last, with its batches.
    current: Option<(u64, Vec<Vec<usize>>)>,
}

impl BatchSampler {
    /// Examples of these lengths in tokens (for pairs, source and target together), in batches of
    /// at most `budget` tokens.
    /// # Errors
    /// If there are no examples, or one is longer than `budget`.
    pub fn new(seed: u64, lengths: &[usize], budget: usize, bucketing: Bucketing) -> Result<Self> {
        if lengths.is_empty() {
            return Err(DataError::NoTrainingExamples.into());
        }
        if let Some(&tokens) = lengths.iter().max().filter(|longest| **longest > budget) {
            return Err(DataError::ExampleExceedsBatch { tokens, batch_tokens: budget }.into());
        }
        Ok(Self {
            lengths: lengths.to_vec(),
            budget,
            bucketing,
            seed,
            first: vec![0],
            current: None,
        })
    }

    fn batches(&mut self, epoch: u64) -> &[Vec<usize>] {
        if self.current.as_ref().is_none_or(|(current, _)| *current != epoch) {
            let batches =
                epoch_batches(&self.lengths, self.budget, self.bucketing, self.seed, epoch);
            if self.first.len() as u64 == epoch + 1 {
                self.first.push(self.first[epoch as usize] + batches.len() as u64);
            }
            self.current = Some((epoch, batches));
        }
        &self.current.as_ref().expect("just made").1
    }

    /// The epoch of a step and its index in it, both from 0.
    ///
    /// The number of batches of an epoch depends on its shuffle, so the epochs before a step are
    /// shuffled once to count them: some milliseconds for a hundred thousand pairs.
    pub fn epoch(&mut self, step: u64) -> (u64, usize) {
        while *self.first.last().expect("it begins with 0") <= step {
            self.batches(self.first.len() as u64 - 1);
        }
        let epoch = self.first.partition_point(|first| *first <= step) - 1;
        (epoch as u64, (step - self.first[epoch]) as usize)
    }

    /// The number of batches of an epoch.
    pub fn batches_of(&mut self, epoch: u64) -> usize {
        self.batches(epoch).len()
    }

    /// The example indices of step `step`, from 0.
    pub fn batch(&mut self, step: u64) -> Vec<usize> {
        let (epoch, index) = self.epoch(step);
        self.batches(epoch)[index].clone()
    }
}

/// The window positions of step `step`: `batch` of them, sampled uniformly from `windows`.
/// # Panics
/// If `windows` is 0.
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

    fn order(seed: u64, bucketing: Bucketing) -> BatchSampler {
        BatchSampler::new(seed, &lengths(), 120, bucketing).unwrap()
    }

    #[test]
    fn every_example_is_seen_once_per_epoch_within_the_token_budget() {
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
    fn a_batch_does_not_depend_on_the_steps_requested_before() {
        for bucketing in KINDS {
            let mut walked = order(7, bucketing);
            let all: Vec<Vec<usize>> = (0..400).map(|step| walked.batch(step)).collect();
            for step in [399, 0, 250, 251, 13, 399] {
                assert_eq!(
                    order(7, bucketing).batch(step),
                    all[step as usize],
                    "{bucketing:?} {step}"
                );
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
    fn buckets_hold_examples_of_similar_length_and_come_in_random_order() {
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
        assert!(
            rises > firsts.len() / 4 && rises < firsts.len() * 3 / 4,
            "{rises} of {}",
            firsts.len()
        );
    }

    #[test]
    fn no_examples_and_an_example_beyond_the_budget_are_errors() {
        assert!(BatchSampler::new(1, &[], 10, Bucketing::Mixed).is_err());
        let error = BatchSampler::new(1, &[5, 30, 7], 10, Bucketing::Mixed).err().unwrap();
        let text = "an example of 30 tokens exceeds the batch size of 10 tokens";
        assert_eq!(error.to_string(), text);
        // Unchecked, it is a batch of its own.
        assert_eq!(epoch_batches(&[30], 10, Bucketing::Mixed, 0, 0), [[0]]);
    }

    #[test]
    fn window_positions_are_a_function_of_seed_and_step() {
        assert_eq!(random_windows(1, 5, 8, 1000), random_windows(1, 5, 8, 1000));
        assert_ne!(random_windows(1, 5, 8, 1000), random_windows(1, 6, 8, 1000));
        assert!(
            (0..100).flat_map(|step| random_windows(1, step, 8, 3)).all(|position| position < 3)
        );
    }
}
