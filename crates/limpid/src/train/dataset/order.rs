//! Which examples the micro-batches of a step hold.

use crate::data::sampler::{BatchSampler, random_windows};

/// The order of a run's examples: which ones a micro-batch holds, as a function of seed and step.
pub(super) struct Order {
    /// Micro-batches per step, of one pass each.
    pub(super) accumulate: u64,
    pub(super) sampling: Sampling,
}

/// How examples are chosen.
pub(super) enum Sampling {
    /// Random ones, sampled for a whole step: its micro-batches together are one batch.
    Random {
        /// Seed of the run.
        seed: u64,
        /// Examples of a micro-batch.
        batch: usize,
        /// Examples to choose from.
        from: usize,
        /// An epoch in micro-batches, as a fraction.
        epoch: (u64, u64),
    },
    /// Every example once per epoch, in micro-batches of a token budget.
    Shuffled(Box<BatchSampler>),
}

impl Order {
    /// The examples of each micro-batch of a step.
    pub(super) fn micro_batches(&mut self, step: u64) -> Vec<Vec<usize>> {
        let k = self.accumulate;
        match &mut self.sampling {
            Sampling::Random { seed, batch, from, .. } => {
                let all = random_windows(*seed, step, *batch * k as usize, *from);
                all.chunks(*batch).map(<[usize]>::to_vec).collect()
            }
            Sampling::Shuffled(sampler) => {
                (step * k..(step + 1) * k).map(|n| sampler.batch(n)).collect()
            }
        }
    }

    /// Epochs before micro-batch `n`, counted over the whole run.
    pub(super) fn epoch(&mut self, n: u64) -> f64 {
        match &mut self.sampling {
            Sampling::Random { epoch: (size, batch), .. } => (n * *batch) as f64 / *size as f64,
            Sampling::Shuffled(sampler) => {
                let (epoch, place) = sampler.epoch(n);
                epoch as f64 + place as f64 / sampler.batches_of(epoch) as f64
            }
        }
    }

    /// Micro-batches in this many epochs.
    pub(super) fn batches_in(&mut self, epochs: u64) -> u64 {
        match &mut self.sampling {
            Sampling::Random { epoch: (size, batch), .. } => (epochs * *size).div_ceil(*batch),
            Sampling::Shuffled(sampler) => {
                (0..epochs).map(|epoch| sampler.batches_of(epoch) as u64).sum()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micro_batches_of_a_step_hold_the_windows_of_one_large_batch() {
        let order = |batch, accumulate| {
            let sampling = Sampling::Random { seed: 7, batch, from: 1000, epoch: (1000, 3) };
            Order { accumulate, sampling }
        };
        for step in 0..3 {
            let parts = order(3, 4).micro_batches(step);
            assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [3; 4]);
            assert_eq!([parts.concat()], order(12, 1).micro_batches(step)[..]);
        }
    }
}
