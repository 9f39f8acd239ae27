//! Metrics of a classifier, from its confusion matrix.
//!
//! ```text
//! precision = TP / (TP + FP)     recall = TP / (TP + FN)     F1 = 2·P·R / (P + R)
//! ```
//!
//! A fraction 0/0 counts as 0, as in scikit-learn. The macro average is over the classes that occur
//! as label or as prediction; with one label per text the micro F1 is the accuracy.
//!
//! ```
//! use limpid::eval::classification::ConfusionMatrix;
//!
//! // Four texts of two classes, one of them classified wrongly.
//! let matrix = ConfusionMatrix::new(2, &[0, 0, 1, 1], &[0, 1, 1, 1])?;
//! assert_eq!(matrix.accuracy(), 0.75);
//! assert_eq!((matrix.class(0).precision, matrix.class(0).recall), (1.0, 0.5));
//! # Ok::<(), limpid::error::EvalError>(())
//! ```

use super::{EvalError, FScore, ratio};

/// Counts of (label, prediction) pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfusionMatrix {
    classes: usize,
    counts: Vec<u64>, // (label, prediction), row by row
}

impl ConfusionMatrix {
    /// Counts predictions against labels, both class ids below `classes`.
    /// # Errors
    /// If there is not one prediction per label, or there is none.
    /// # Panics
    /// If a class id is `classes` or more.
    #[track_caller]
    pub fn new(classes: usize, correct: &[usize], predicted: &[usize]) -> Result<Self, EvalError> {
        if correct.len() != predicted.len() {
            let (hypotheses, references) = (predicted.len(), correct.len());
            return Err(EvalError::CountMismatch { hypotheses, references });
        }
        if predicted.is_empty() {
            return Err(EvalError::NoHypotheses);
        }
        let mut counts = vec![0; classes * classes];
        for (&correct, &predicted) in correct.iter().zip(predicted) {
            assert!(
                correct < classes && predicted < classes,
                "ConfusionMatrix: classes {correct} and {predicted} of {classes}"
            );
            counts[correct * classes + predicted] += 1;
        }
        Ok(Self { classes, counts })
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The number of examples of a class that were predicted as another.
    pub fn count(&self, correct: usize, predicted: usize) -> u64 {
        self.counts[correct * self.classes + predicted]
    }

    /// The number of examples of a class (scikit-learn's support).
    pub fn support(&self, class: usize) -> u64 {
        (0..self.classes).map(|predicted| self.count(class, predicted)).sum()
    }

    /// The number of predictions of a class.
    pub fn predicted(&self, class: usize) -> u64 {
        (0..self.classes).map(|correct| self.count(correct, class)).sum()
    }

    /// The accuracy, which equals micro-averaged precision, recall and F1.
    pub fn accuracy(&self) -> f64 {
        let correct: u64 = (0..self.classes).map(|class| self.count(class, class)).sum();
        ratio(correct, self.counts.iter().sum())
    }

    /// The scores of one class.
    pub fn class(&self, class: usize) -> FScore {
        let correct = self.count(class, class);
        let (said, there) = (self.predicted(class), self.support(class));
        // 2PR / (P + R) without dividing first.
        FScore {
            precision: ratio(correct, said),
            recall: ratio(correct, there),
            f1: ratio(2 * correct, said + there),
        }
    }

    /// The macro average: unweighted over the classes that occur.
    pub fn macro_mean(&self) -> FScore {
        let occurring =
            (0..self.classes).filter(|&class| self.support(class) + self.predicted(class) > 0);
        FScore::mean(occurring.map(|class| (1.0, self.class(class))))
    }

    /// The average over the classes, weighted by support.
    pub fn weighted_mean(&self) -> FScore {
        let weighted = |class| (self.support(class) as f64, self.class(class));
        FScore::mean((0..self.classes).map(weighted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "ConfusionMatrix: classes 0 and 2 of 2")]
    fn a_class_out_of_range_panics_with_both() {
        let _ = ConfusionMatrix::new(2, &[0], &[2]);
    }

    #[test]
    fn labels_that_do_not_pair_up_are_refused() {
        let mismatch = EvalError::CountMismatch { hypotheses: 1, references: 2 };
        assert_eq!(ConfusionMatrix::new(2, &[0, 1], &[0]), Err(mismatch));
        assert_eq!(ConfusionMatrix::new(2, &[], &[]), Err(EvalError::NoHypotheses));
    }
}
