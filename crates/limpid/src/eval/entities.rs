//! Metrics of token classification: entities as seqeval finds them in labels such as `B-PER`,
//! `I-PER` and `O`, and the accuracy of labels.
//!
//! An entity is correct if its kind, its first and its last word are. As in seqeval's default mode
//! an `I-` that follows nothing starts an entity, and so does a change of kind; `E-` ends one and
//! `S-` is one of a single word.
//!
//! ```
//! use limpid::eval::entities::{EntityScore, entities};
//!
//! let labels = ["B-PER", "I-PER", "O", "I-LOC"];
//! assert_eq!(entities(&labels), [("PER", 0, 1), ("LOC", 3, 3)]);
//! let mut score = EntityScore::default();
//! score.add(&["B-PER", "O", "O", "I-LOC"], &labels);
//! assert_eq!((score.overall().f1, score.accuracy()), (0.5, 0.75));
//! ```

use super::{FScore, ratio};
use std::collections::BTreeMap;

/// Counts of entities by kind, and of labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntityScore {
    kinds: BTreeMap<String, Counts>,
    labels: u64,
    correct: u64,
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

impl EntityScore {
    /// Counts a sentence: its predicted labels and the correct ones, word by word.
    /// # Panics
    /// If there is not one prediction per label.
    #[track_caller]
    pub fn add(&mut self, predicted: &[&str], correct: &[&str]) {
        assert_eq!(predicted.len(), correct.len(), "one prediction per label");
        self.labels += correct.len() as u64;
        self.correct += predicted.iter().zip(correct).filter(|(a, b)| a == b).count() as u64;
        let (found, there) = (entities(predicted), entities(correct));
        for entity in &there {
            let kind = self.kind(entity.0);
            kind.support += 1;
            kind.correct += u64::from(found.contains(entity));
        }
        found.iter().for_each(|entity| self.kind(entity.0).predicted += 1);
    }

    fn kind(&mut self, kind: &str) -> &mut Counts {
        self.kinds.entry(kind.to_string()).or_default()
    }

    /// The share of labels that were predicted.
    pub fn accuracy(&self) -> f64 {
        ratio(self.correct, self.labels)
    }

    /// The number of labels.
    pub fn labels(&self) -> u64 {
        self.labels
    }

    /// Of all entities together.
    pub fn overall(&self) -> FScore {
        let sum = self.kinds.values().fold(Counts::default(), |sum, kind| Counts {
            correct: sum.correct + kind.correct,
            predicted: sum.predicted + kind.predicted,
            support: sum.support + kind.support,
        });
        sum.score()
    }

    /// The scores of each kind of entity, with the number of such entities.
    pub fn kinds(&self) -> impl Iterator<Item = (&str, u64, FScore)> {
        self.kinds.iter().map(|(kind, counts)| (kind.as_str(), counts.support, counts.score()))
    }
}

/// The entities of a sentence: kind, first word, last word.
pub fn entities<'a>(labels: &[&'a str]) -> Vec<(&'a str, usize, usize)> {
    let mut found = Vec::new();
    let (mut before, mut first) = (('O', ""), 0);
    let end = std::iter::once("O");
    for (i, label) in labels.iter().copied().chain(end).enumerate() {
        let next = parts(label);
        if ends(before, next) {
            found.push((before.1, first, i - 1));
        }
        if starts(before, next) {
            first = i;
        }
        before = next;
    }
    found
}

/// The letter of a label and the kind of its entity; `_` where it has none.
fn parts(label: &str) -> (char, &str) {
    let tag = label.chars().next().unwrap_or('O');
    let rest = &label[label.chars().next().map_or(0, char::len_utf8)..];
    let kind = rest.split_once('-').map_or(rest, |(_, kind)| kind);
    (tag, if kind.is_empty() { "_" } else { kind })
}

/// Whether an entity ends with `before`.
fn ends(before: (char, &str), next: (char, &str)) -> bool {
    match (before.0, next.0) {
        ('E' | 'S', _) | ('B' | 'I', 'B' | 'S' | 'O') => true,
        ('O' | '.', _) => false,
        _ => before.1 != next.1,
    }
}

/// Whether an entity starts with `next`.
fn starts(before: (char, &str), next: (char, &str)) -> bool {
    match (before.0, next.0) {
        (_, 'B' | 'S') | ('E' | 'S' | 'O', 'E' | 'I') => true,
        (_, 'O' | '.') => false,
        _ => before.1 != next.1,
    }
}
