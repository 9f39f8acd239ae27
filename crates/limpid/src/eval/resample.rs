//! Confidence intervals and significance tests by resampling the lines of a corpus.
//!
//! [`Bootstrap`] samples as many lines as there are, with replacement, and scores them: the 95%
//! interval of such scores (Koehn 2004). For two systems the same sample is scored twice, and the
//! p-value is how often the difference deviates from its mean by more than the observed difference.
//! [`Randomization`] swaps the two systems' translations of each line with probability 1/2; the
//! p-value is how often that gives a larger difference than observed (Riezler and Maxwell 2005).
//! The statistics are sacreBLEU's; the random numbers are our own, a function of seed and position,
//! so the same seed gives the same digits on every machine.
//!
//! ```
//! use limpid::eval::resample::{Bootstrap, Interval};
//! use limpid::eval::{Bleu, count_lines};
//!
//! let hypotheses = ["a cat sat on the mat", "the dog ran"];
//! let references = [vec!["the cat sat on the mat"], vec!["the dog ran away"]];
//! let bleu = Bleu::default();
//! let counts = count_lines(&bleu, &hypotheses, &references)?;
//! let bootstrap = Bootstrap { samples: 1000, seed: 1 };
//! let interval = Interval::of(&bootstrap.scores(&bleu, &counts));
//! println!("BLEU {:.1} ± {:.1}", interval.mean, interval.half_width);
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::metric::{Counts, Metric};
use limpid_tensor::rng::Stream;

/// Bootstrap resampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// Number of samples.
    pub samples: usize,
    /// Seed of the samples.
    pub seed: u64,
}

/// Approximate randomization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Randomization {
    /// Number of shuffles.
    pub trials: usize,
    /// Seed of the shuffles.
    pub seed: u64,
}

/// A 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The mean of the scores.
    pub mean: f64,
    /// Half the distance from the 2.5th to the 97.5th percentile.
    pub half_width: f64,
}

impl Bootstrap {
    /// The scores of the samples. The sampled lines depend only on the number of lines and the
    /// seed, so the scores of two systems at one index are of the same lines.
    pub fn scores(&self, metric: &dyn Metric, counts: &Counts) -> Vec<f64> {
        let lines = counts.lines();
        let score = |sample: usize| {
            let mut stream = Stream::new(self.seed, sample as u64);
            metric.score(&counts.sum((0..lines).map(|_| stream.below(lines))))
        };
        (0..self.samples).map(score).collect()
    }

    /// Its part of a signature.
    pub fn signature(&self) -> String {
        format!("bs:{}|seed:{}", self.samples, self.seed)
    }
}

impl Interval {
    /// The interval of the scores of the samples, in any order.
    /// # Panics
    /// If there are none.
    #[track_caller]
    pub fn of(scores: &[f64]) -> Self {
        assert!(!scores.is_empty(), "an interval of no scores");
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        // 2.5% on either side.
        let cut = sorted.len() / 40;
        let half_width = 0.5 * (sorted[sorted.len() - cut - 1] - sorted[cut]);
        Self { mean: mean(scores), half_width }
    }
}

/// The p-value of the difference of two scores under the null hypothesis that the systems are
/// equal, from the scores of the same samples ([`Bootstrap::scores`]).
/// # Panics
/// If the two do not have the same number of samples.
#[track_caller]
pub fn paired_p_value(baseline: &[f64], system: &[f64], observed: f64) -> f64 {
    assert_eq!(baseline.len(), system.len(), "paired_p_value: scores of different draws");
    let differences: Vec<f64> = baseline.iter().zip(system).map(|(a, b)| (a - b).abs()).collect();
    let mean = mean(&differences);
    p_value(differences.iter().map(|difference| difference - mean), observed)
}

impl Randomization {
    /// The p-value of the observed difference under the null hypothesis that the systems are
    /// exchangeable.
    /// # Panics
    /// If the systems do not have the same number of lines.
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

    /// Its part of a signature.
    pub fn signature(&self) -> String {
        format!("ar:{}|seed:{}", self.trials, self.seed)
    }
}

/// The fraction of trials with a larger statistic than observed; the observed one counts as a
/// trial, so that a p-value is never 0.
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
