//! Measures of a classifier: from one table of what was right and what was said, everything else.
//!
//! ```text
//! precision = right of those called so,   recall = called so of those that are,   F1 = 2·P·R / (P + R)
//! ```
//!
//! Where a fraction is 0/0 it counts as 0, as in scikit-learn. The macro mean is over the classes that occur, as right
//! answer or as prediction; with one label for each text the micro F1 is the accuracy.

use super::EvalError;

/// How often each class was taken for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>, // (right answer, prediction), row by row
}

/// Precision, recall and F1, each from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassScore {
    /// Right of those called so.
    pub precision: f64,
    /// Called so of those that are.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

impl Confusion {
    /// Counts predictions against right answers, both numbers of one of `classes` classes.
    ///
    /// # Panics
    /// If a class is `classes` or more.
    #[track_caller]
    pub fn new(classes: usize, right: &[usize], predicted: &[usize]) -> Result<Self, EvalError> {
        if right.len() != predicted.len() {
            let (hypotheses, references) = (predicted.len(), right.len());
            return Err(EvalError::CountMismatch { hypotheses, references });
        }
        if predicted.is_empty() {
            return Err(EvalError::NoHypotheses);
        }
        let mut counts = vec![0; classes * classes];
        for (&right, &predicted) in right.iter().zip(predicted) {
            assert!(
                right < classes && predicted < classes,
                "Confusion: classes {right} and {predicted} of {classes}"
            );
            counts[right * classes + predicted] += 1;
        }
        Ok(Self { classes, counts })
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// How often `right` was taken for `predicted`.
    pub fn count(&self, right: usize, predicted: usize) -> u64 {
        self.counts[right * self.classes + predicted]
    }

    /// How many there are of a class.
    pub fn support(&self, class: usize) -> u64 {
        (0..self.classes).map(|predicted| self.count(class, predicted)).sum()
    }

    /// How many were said to be of a class.
    pub fn predicted(&self, class: usize) -> u64 {
        (0..self.classes).map(|right| self.count(right, class)).sum()
    }

    /// The part that is right. Precision, recall and F1 of all classes together (micro) are the same number.
    pub fn accuracy(&self) -> f64 {
        let right: u64 = (0..self.classes).map(|class| self.count(class, class)).sum();
        ratio(right, self.counts.iter().sum())
    }

    /// The scores of one class.
    pub fn class(&self, class: usize) -> ClassScore {
        let right = self.count(class, class);
        let (said, there) = (self.predicted(class), self.support(class));
        // 2PR / (P + R) without dividing first.
        ClassScore {
            precision: ratio(right, said),
            recall: ratio(right, there),
            f1: ratio(2 * right, said + there),
        }
    }

    /// The mean over the classes that occur, each counted alike.
    pub fn macro_mean(&self) -> ClassScore {
        let occurring = (0..self.classes).filter(|&class| self.support(class) + self.predicted(class) > 0);
        self.mean(occurring.map(|class| (class, 1)))
    }

    /// The mean over the classes, each counted as often as it is the right answer.
    pub fn weighted_mean(&self) -> ClassScore {
        self.mean((0..self.classes).map(|class| (class, self.support(class))))
    }

    fn mean(&self, weights: impl Iterator<Item = (usize, u64)>) -> ClassScore {
        let (mut sum, mut all) = (ClassScore::default(), 0.0);
        for (class, weight) in weights {
            let (score, weight) = (self.class(class), weight as f64);
            sum.precision += weight * score.precision;
            sum.recall += weight * score.recall;
            sum.f1 += weight * score.f1;
            all += weight;
        }
        ClassScore { precision: sum.precision / all, recall: sum.recall / all, f1: sum.f1 / all }
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "Confusion: classes 0 and 2 of 2")]
    fn a_class_out_of_range_panics_with_both() {
        let _ = Confusion::new(2, &[0], &[2]);
    }

    #[test]
    fn labels_that_do_not_pair_up_are_refused() {
        let mismatch = EvalError::CountMismatch { hypotheses: 1, references: 2 };
        assert_eq!(Confusion::new(2, &[0, 1], &[0]), Err(mismatch));
        assert_eq!(Confusion::new(2, &[], &[]), Err(EvalError::NoHypotheses));
    }
}
