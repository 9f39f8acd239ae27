//! Metrics where any number of labels apply to a text.
//!
//! ```text
//! micro F1 = 2·ΣTP / (2·ΣTP + ΣFP + ΣFN)     macro F1 = mean over the labels of their F1
//! ```
//!
//! As in scikit-learn for label indicators: 0/0 counts as 0, the macro average is over all labels,
//! and the accuracy counts texts whose labels are all right (subset accuracy).
//!
//! ```
//! use limpid::eval::multi_label::MultiLabelScore;
//!
//! let mut score = MultiLabelScore::new(2);
//! score.add(&[true, false], &[true, true]);
//! score.add(&[false, true], &[false, true]);
//! assert_eq!((score.accuracy(), score.label(1).recall), (0.5, 0.5));
//! ```

use super::{FScore, ratio};

/// Counts per label, and texts whose labels are all right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiLabelScore {
    labels: Vec<Counts>,
    texts: u64,
    exact: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    correct: u64,
    predicted: u64,
    support: u64,
}

impl Counts {
    fn score(self) -> FScore {
        FScore {
            precision: ratio(self.correct, self.predicted),
            recall: ratio(self.correct, self.support),
            f1: ratio(2 * self.correct, self.predicted + self.support),
        }
    }
}

impl MultiLabelScore {
    /// Nothing counted yet.
    pub fn new(labels: usize) -> Self {
        Self { labels: vec![Counts::default(); labels], texts: 0, exact: 0 }
    }

    /// Counts a text: for each label whether it was predicted, and whether it applies.
    /// # Panics
    /// If there is not one value per label.
    #[track_caller]
    pub fn add(&mut self, predicted: &[bool], correct: &[bool]) {
        let count = self.labels.len();
        assert!(predicted.len() == count && correct.len() == count, "one value per label");
        for (label, (said, applies)) in self.labels.iter_mut().zip(predicted.iter().zip(correct)) {
            label.correct += u64::from(*said && *applies);
            label.predicted += u64::from(*said);
            label.support += u64::from(*applies);
        }
        self.texts += 1;
        self.exact += u64::from(predicted == correct);
    }

    /// The share of texts whose labels are all right.
    pub fn accuracy(&self) -> f64 {
        ratio(self.exact, self.texts)
    }

    /// The number of texts.
    pub fn texts(&self) -> u64 {
        self.texts
    }

    /// The number of texts to which a label applies.
    pub fn support(&self, label: usize) -> u64 {
        self.labels[label].support
    }

    /// The scores of one label.
    pub fn label(&self, label: usize) -> FScore {
        self.labels[label].score()
    }

    /// Of all decisions together.
    pub fn micro(&self) -> FScore {
        let sum = self.labels.iter().fold(Counts::default(), |sum, label| Counts {
            correct: sum.correct + label.correct,
            predicted: sum.predicted + label.predicted,
            support: sum.support + label.support,
        });
        sum.score()
    }

    /// The mean over all labels.
    pub fn macro_mean(&self) -> FScore {
        FScore::mean(self.labels.iter().map(|label| (1.0, label.score())))
    }
}
