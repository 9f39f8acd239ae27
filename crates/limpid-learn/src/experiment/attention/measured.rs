//! A number with two kinds of chance: the seed of a training, and the texts of the test.

use super::super::{Estimate, Verdict};

/// A number that was measured with several seeds, and the mean over the seeds for every drawn set
/// of test texts.
pub(super) struct Measured {
    pub(super) seeds: Vec<f64>,
    pub(super) draws: Vec<f64>,
}

impl Measured {
    pub(super) fn mean(&self) -> f64 {
        Estimate::of(&self.seeds).mean
    }

    /// Where 95% of the draws lie.
    pub(super) fn range(&self) -> (f64, f64) {
        let mut sorted = self.draws.clone();
        sorted.sort_by(f64::total_cmp);
        let cut = sorted.len() / 40;
        (sorted[cut], sorted[sorted.len() - 1 - cut])
    }

    /// Whether it could be computed for every seed and draw: a share of nothing cannot.
    pub(super) fn is_known(&self) -> bool {
        self.seeds.iter().chain(&self.draws).all(|value| value.is_finite())
    }

    pub(super) fn sentences(&self, digits: usize) -> String {
        let (low, high) = self.range();
        format!("{:.digits$} ({low:.digits$} to {high:.digits$})", self.mean())
    }

    /// This less other, seed by seed and draw by draw.
    pub(super) fn less(&self, other: &Self) -> Self {
        let differences =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
        Self {
            seeds: differences(&self.seeds, &other.seeds),
            draws: differences(&self.draws, &other.draws),
        }
    }

    /// Above zero, below, or neither, by both intervals.
    pub(super) fn is_above_zero(&self) -> Verdict {
        let by_seeds = Estimate::of(&self.seeds).is_above(0.0);
        let by_sentences = match self.range() {
            (low, high) if low > 0.0 && high.is_finite() => Verdict::Confirmed,
            (low, high) if high < 0.0 && low.is_finite() => Verdict::Refuted,
            _ => Verdict::Inconclusive,
        };
        if by_seeds == by_sentences { by_seeds } else { Verdict::Inconclusive }
    }

    pub(super) fn words(&self) -> String {
        if !self.is_known() {
            return "an unknown share, for BLEU of short texts is 0 in some seed or draw".into();
        }
        let (low, high) = self.range();
        format!("{} over seeds, {low:.3} to {high:.3} over texts", Estimate::of(&self.seeds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judgement_needs_both_the_seeds_and_the_sentences() {
        let measured = |seeds: [f64; 3], draws: [f64; 2]| Measured {
            seeds: seeds.into(),
            draws: draws.into(),
        };
        let sure = [0.30, 0.31, 0.32];
        assert_eq!(measured(sure, [0.2, 0.4]).is_above_zero(), Verdict::Confirmed);
        assert_eq!(measured(sure.map(|x| -x), [-0.4, -0.2]).is_above_zero(), Verdict::Refuted);
        assert_eq!(measured(sure, [-0.1, 0.7]).is_above_zero(), Verdict::Inconclusive);
        assert_eq!(measured([0.0, 0.1, 0.9], [0.2, 0.4]).is_above_zero(), Verdict::Inconclusive);
        let unknown = measured(sure, [0.2, f64::NAN]);
        assert_eq!(unknown.is_above_zero(), Verdict::Inconclusive);
        assert!(!unknown.words().contains("NaN"), "{}", unknown.words());
    }
}
