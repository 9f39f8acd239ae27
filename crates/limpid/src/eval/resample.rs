//! How sure is a score? Lines are drawn again from the same corpus, as if other sentences had been tested.
//!
//! [`Bootstrap`] draws as many lines as there are, with replacement, and scores them; 95% of such scores lie in an
//! interval around their mean (Koehn 2004). For two systems the same draw is scored twice, and the test asks how
//! often the difference strays from its mean by more than the difference observed. [`Randomization`] exchanges
//! the two systems' translations of each line with probability 1/2, and asks how often that gives a difference
//! larger than the observed one (Riezler and Maxwell 2005). The statistics are sacreBLEU's, the random numbers are
//! our own, a function of seed and position: the same seed gives the same digits everywhere.

use super::metric::{Counts, Metric};
use limpid_tensor::rng::Stream;

/// Bootstrap resampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// How many corpora are drawn.
    pub samples: usize,
    /// Another seed draws others.
    pub seed: u64,
}

/// Approximate randomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Randomization {
    /// How many times the lines are shuffled between the systems.
    pub trials: usize,
    /// Another seed shuffles in another way.
    pub seed: u64,
}

/// Where 95% of the scores of drawn corpora lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Their mean.
    pub mean: f64,
    /// Half the distance from the 2.5th to the 97.5th percentile.
    pub half_width: f64,
}

impl Bootstrap {
    /// The scores of the drawn corpora. They depend on the number of lines and the seed, not on the metric, so scores
    /// of two systems at one index are of the same lines.
    pub fn scores(&self, metric: &dyn Metric, counts: &Counts) -> Vec<f64> {
        let lines = counts.lines();
        let draw = |sample: usize| {
            let mut stream = Stream::new(self.seed, sample as u64);
            metric.score(&counts.sum((0..lines).map(|_| stream.below(lines))))
        };
        (0..self.samples).map(draw).collect()
    }

    /// What signatures say of it.
    pub fn signature(&self) -> String {
        format!("bs:{}|seed:{}", self.samples, self.seed)
    }
}

impl Interval {
    /// Of the scores of drawn corpora, in any order.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn of(scores: &[f64]) -> Self {
        assert!(!scores.is_empty(), "an interval of no scores");
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        // One fortieth of them on either side: 2.5%.
        let cut = sorted.len() / 40;
        let half_width = 0.5 * (sorted[sorted.len() - cut - 1] - sorted[cut]);
        Self { mean: mean(scores), half_width }
    }
}

/// The chance of a difference as large as that of two scores, if the systems were alike, from the scores of the same
/// drawn corpora ([`Bootstrap::scores`]).
///
/// # Panics
/// If the two have not been drawn equally often.
#[track_caller]
pub fn paired_p_value(baseline: &[f64], system: &[f64], observed: f64) -> f64 {
    assert_eq!(baseline.len(), system.len(), "paired_p_value: scores of different draws");
    let differences: Vec<f64> = baseline.iter().zip(system).map(|(a, b)| (a - b).abs()).collect();
    let mean = mean(&differences);
    p_value(differences.iter().map(|difference| difference - mean), observed)
}

impl Randomization {
    /// The chance of a difference as large as the observed one, if it did not matter which system translated a line.
    ///
    /// # Panics
    /// If the systems have not the same number of lines.
    #[track_caller]
    pub fn p_value(&self, metric: &dyn Metric, baseline: &Counts, system: &Counts) -> f64 {
        let lines = baseline.lines();
        assert_eq!(lines, system.lines(), "Randomization: systems of different numbers of lines");
        let (total_a, total_b) = (baseline.total(), system.total());
        let observed = (metric.score(&total_a) - metric.score(&total_b)).abs();
        let all: Vec<u64> = total_a.iter().zip(&total_b).map(|(a, b)| a + b).collect();
        let shuffle = |trial: usize| {
            let mut stream = Stream::new(self.seed, trial as u64);
            let mut bits = 0;
            let mut one = vec![0; all.len()];
            for i in 0..lines {
                if i % 32 == 0 {
                    bits = stream.next_u32();
                }
                let row = if bits >> (i % 32) & 1 == 0 { baseline.line(i) } else { system.line(i) };
                one.iter_mut().zip(row).for_each(|(sum, count)| *sum += count);
            }
            // What one did not get, the other has.
            let other: Vec<u64> = all.iter().zip(&one).map(|(all, one)| all - one).collect();
            (metric.score(&one) - metric.score(&other)).abs()
        };
        p_value((0..self.trials).map(shuffle), observed)
    }

    /// What signatures say of it.
    pub fn signature(&self) -> String {
        format!("ar:{}|seed:{}", self.trials, self.seed)
    }
}

/// The part of the trials whose statistic is beyond the observed one; the observed one is a trial itself, so that no
/// finite number of trials proves the impossible.
fn p_value(statistics: impl Iterator<Item = f64>, observed: f64) -> f64 {
    // Here we depart from sacreBLEU, which finds a file significantly different from itself.
    if observed == 0.0 {
        return 1.0;
    }
    let (mut beyond, mut trials) = (0, 0);
    for statistic in statistics {
        trials += 1;
        beyond += usize::from(statistic > observed);
    }
    (beyond + 1) as f64 / (trials + 1) as f64
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}
