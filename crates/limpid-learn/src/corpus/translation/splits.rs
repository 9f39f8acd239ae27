//! Disjoint training, validation and test splits.

use std::collections::HashSet;

use super::{FIXED, Pair, pair};

/// Three sets of pairs; no sentence of one, in either language, occurs in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// The training split. Each ordinary pair occurs once; the fixed phrases repeat.
    pub train: Vec<Pair>,
    /// The validation split. No sentence occurs twice.
    pub validation: Vec<Pair>,
    /// The test split. No sentence occurs twice.
    pub test: Vec<Pair>,
}

/// The three sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Split {
    Train,
    Validation,
    Test,
}

/// A sentence with and without its full stop is one sentence.
fn key(text: &str) -> &str {
    text.strip_suffix('.').unwrap_or(text)
}

/// FNV-1a: simple, and the same everywhere.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The split of a pair: a function of its English text alone, whatever the seed and the size.
fn split(pair: &Pair) -> Split {
    let fixed = super::PHRASES.iter().any(|(english, _)| key(&pair.english) == *english);
    // The high bits of FNV mix best.
    match hash(key(&pair.english)) >> 60 {
        _ if fixed => Split::Train,
        0 => Split::Validation,
        1 => Split::Test,
        _ => Split::Train,
    }
}

/// Generates `pairs` training pairs, and min(1000, pairs / 10) (at least 1) validation and as many
/// test pairs.
///
/// A pair is kept if neither of its sentences has been seen: so every set is free of duplicates and
/// no sentence has two translations. The fixed phrases alone repeat, in training only.
pub fn generate(pairs: usize, seed: u64) -> Corpus {
    let held_out = (pairs / 10).clamp(1, 1000);
    let mut corpus = Corpus { train: Vec::new(), validation: Vec::new(), test: Vec::new() };
    let (mut english, mut french) = (HashSet::new(), HashSet::new());
    let mut n = 0;
    while corpus.train.len() < pairs
        || corpus.validation.len() < held_out
        || corpus.test.len() < held_out
    {
        let pair = pair(seed, n);
        n += 1;
        let (set, room) = match split(&pair) {
            Split::Train => (&mut corpus.train, pairs),
            Split::Validation => (&mut corpus.validation, held_out),
            Split::Test => (&mut corpus.test, held_out),
        };
        if set.len() >= room {
            continue;
        }
        // Hashing sets only answer "seen before?"; nothing depends on their order.
        let is_new = !english.contains(key(&pair.english)) && !french.contains(key(&pair.french));
        if is_new {
            english.insert(key(&pair.english).to_owned());
            french.insert(key(&pair.french).to_owned());
        }
        if is_new || pair.construction == FIXED {
            set.push(pair);
        }
    }
    corpus
}
