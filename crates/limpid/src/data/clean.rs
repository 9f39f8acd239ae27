//! Cleaning a corpus: empty examples and duplicates, each counted.
//!
//! ```
//! use limpid::data::clean::{Cleaner, Duplicates};
//!
//! let mut cleaner = Cleaner::new(Duplicates::Drop);
//! let kept: Vec<bool> = ["a cat", " ", "a cat"].map(|text| cleaner.keep(&[text])).to_vec();
//! assert_eq!(kept, [true, false, false]);
//! assert_eq!((cleaner.stats().empty, cleaner.stats().duplicates), (1, 1));
//! ```

use crate::hash::Xxh64;
use std::collections::HashSet;
use std::fmt;

/// Counts of what cleaning found and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaning {
    /// Examples read.
    pub read: usize,
    /// Exact duplicates of an earlier example.
    pub duplicates: usize,
    /// What was done with them.
    pub policy: Duplicates,
    /// Examples with an empty field, left out.
    pub empty: usize,
    /// Examples longer than the model's context or a batch, left out.
    pub too_long: usize,
    /// Examples that remain.
    pub kept: usize,
}

/// What to do with exact duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Count and keep them.
    #[default]
    Keep,
    /// Count them and keep the first.
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

/// Filters examples one after another: those with a blank field are left out, duplicates according
/// to the policy.
///
/// Only a 128-bit hash of each example is stored: among 10⁹ examples, the probability that two
/// different ones collide is 10⁻²¹.
pub struct Cleaner {
    cleaning: Cleaning,
    seen: HashSet<(u64, u64)>,
}

impl Cleaner {
    /// A cleaner that has seen no example.
    pub fn new(policy: Duplicates) -> Self {
        Self { cleaning: Cleaning { policy, ..Cleaning::default() }, seen: HashSet::new() }
    }

    /// Whether to keep the next example.
    pub fn keep(&mut self, fields: &[&str]) -> bool {
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

    /// The counts so far.
    pub fn stats(&self) -> Cleaning {
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

    const PAIRS: [[&str; 2]; 8] = [
        ["a", "x"],
        ["b", " "],
        ["a", "x"],
        ["a", "y"],
        ["", ""],
        ["a", "x"],
        ["ab", "x"],
        ["a", "bx"],
    ];

    fn cleaned(policy: Duplicates) -> (Vec<&'static str>, Cleaning) {
        let mut cleaner = Cleaner::new(policy);
        let kept =
            PAIRS.iter().filter(|pair| cleaner.keep(&pair[..])).map(|pair| pair[0]).collect();
        (kept, cleaner.stats())
    }

    #[test]
    fn what_is_left_out_is_counted_and_the_rest_stays_in_order() {
        let (kept, cleaning) = cleaned(Duplicates::Keep);
        assert_eq!(kept.len(), 6);
        assert_eq!((cleaning.duplicates, cleaning.empty, cleaning.kept), (2, 2, 6));
        assert_eq!(
            cleaning.to_string(),
            "8 read; 2 exact duplicates kept, 2 empty and 0 too long left out"
        );
        let (kept, cleaning) = cleaned(Duplicates::Drop);
        // Where a field ends counts: ab|x is not a|bx.
        assert_eq!(kept, ["a", "a", "ab", "a"]);
        assert_eq!((cleaning.duplicates, cleaning.empty, cleaning.kept), (2, 2, 4));
        assert!(cleaning.to_string().contains("2 exact duplicates left out"));
    }
}
