//! What is wrong with a corpus, counted: nothing is left out in silence.

use crate::hash::Xxh64;
use std::collections::HashSet;
use std::fmt;

/// What was found in a corpus and what is left of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaning {
    /// Examples that were read.
    pub read: usize,
    /// Examples that are exactly equal to an earlier one.
    pub duplicates: usize,
    /// What was done with those.
    pub policy: Duplicates,
    /// Examples with an empty side, which are left out.
    pub empty: usize,
    /// Examples longer than the model or the batch has room for, which are left out.
    pub too_long: usize,
    /// Examples that are left.
    pub kept: usize,
}

/// What becomes of exact duplicates. A corpus may repeat what is said often; a test set should not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// They are counted and stay.
    #[default]
    Keep,
    /// They are counted, and the first of them stays.
    Drop,
}

impl fmt::Display for Cleaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = if self.policy == Duplicates::Drop { "left out" } else { "kept" };
        write!(
            f,
            "{} read; {} exact duplicates {policy}, {} empty and {} too long left out",
            self.read, self.duplicates, self.empty, self.too_long
        )
    }
}

/// Looks at examples one after another: those with an empty field (nothing but white space) are left out, duplicates if that is wished.
///
/// Of an example that was seen only a hash of 128 bits is kept: with a milliard of examples, two that differ are taken for the same with a
/// probability of 10⁻²¹.
pub struct Cleaner {
    cleaning: Cleaning,
    seen: HashSet<(u64, u64)>,
}

impl Cleaner {
    /// Nothing was seen yet.
    pub fn new(policy: Duplicates) -> Self {
        Self { cleaning: Cleaning { policy, ..Cleaning::default() }, seen: HashSet::new() }
    }

    /// Whether the next example stays.
    pub fn keeps(&mut self, fields: &[&str]) -> bool {
        self.cleaning.read += 1;
        if fields.iter().any(|field| field.trim().is_empty()) {
            self.cleaning.empty += 1;
            return false;
        }
        let is_new = self.seen.insert(fingerprint(fields));
        self.cleaning.duplicates += usize::from(!is_new);
        let keeps = is_new || self.cleaning.policy == Duplicates::Keep;
        self.cleaning.kept += usize::from(keeps);
        keeps
    }

    /// What was found so far.
    pub fn found(&self) -> Cleaning {
        self.cleaning
    }
}

fn fingerprint(fields: &[&str]) -> (u64, u64) {
    let hash = |first: &[u8]| {
        let mut hash = Xxh64::default();
        hash.update(first);
        for field in fields {
            hash.update(&(field.len() as u64).to_le_bytes());
            hash.update(field.as_bytes());
        }
        hash.finish()
    };
    (hash(b""), hash(b"the other half"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [[&str; 2]; 8] =
        [["a", "x"], ["b", " "], ["a", "x"], ["a", "y"], ["", ""], ["a", "x"], ["ab", "x"], ["a", "bx"]];

    fn cleaned(policy: Duplicates) -> (Vec<&'static str>, Cleaning) {
        let mut cleaner = Cleaner::new(policy);
        let kept = PAIRS.iter().filter(|pair| cleaner.keeps(&pair[..])).map(|pair| pair[0]).collect();
        (kept, cleaner.found())
    }

    #[test]
    fn what_is_left_out_is_counted_and_what_is_kept_stays_in_order() {
        let (kept, cleaning) = cleaned(Duplicates::Keep);
        assert_eq!(kept.len(), 6);
        assert_eq!((cleaning.duplicates, cleaning.empty, cleaning.kept), (2, 2, 6));
        assert_eq!(cleaning.to_string(), "8 read; 2 exact duplicates kept, 2 empty and 0 too long left out");
        let (kept, cleaning) = cleaned(Duplicates::Drop);
        // Where a field ends counts: ab|x is not a|bx.
        assert_eq!(kept, ["a", "a", "ab", "a"]);
        assert_eq!((cleaning.duplicates, cleaning.empty, cleaning.kept), (2, 2, 4));
        assert!(cleaning.to_string().contains("2 exact duplicates left out"));
    }
}
