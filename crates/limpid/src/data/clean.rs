//! What is wrong with a corpus, counted: nothing is left out in silence.

use super::pairs::TokenPair;
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

/// Leaves out examples with an empty field (nothing but white space), and duplicates if that is wished.
pub fn clean<T>(
    examples: Vec<T>,
    fields: impl Fn(&T) -> Vec<&str>,
    duplicates: Duplicates,
) -> (Vec<T>, Cleaning) {
    let mut cleaning = Cleaning { read: examples.len(), policy: duplicates, ..Cleaning::default() };
    let mut seen: HashSet<Vec<&str>> = HashSet::new();
    let keep: Vec<bool> = examples
        .iter()
        .map(|example| {
            let fields = fields(example);
            if fields.iter().any(|field| field.trim().is_empty()) {
                cleaning.empty += 1;
                return false;
            }
            let is_new = seen.insert(fields);
            cleaning.duplicates += usize::from(!is_new);
            is_new || duplicates == Duplicates::Keep
        })
        .collect();
    drop(seen);
    let mut keep = keep.into_iter();
    let mut examples = examples;
    examples.retain(|_| keep.next().expect("one for each"));
    cleaning.kept = examples.len();
    (examples, cleaning)
}

/// Leaves out empty sentence pairs, and duplicates if that is wished.
pub fn clean_pairs(
    pairs: Vec<(String, String)>,
    duplicates: Duplicates,
) -> (Vec<(String, String)>, Cleaning) {
    clean(pairs, |(source, target)| vec![source, target], duplicates)
}

/// Leaves out pairs with more than `longest` tokens on a side, and counts them.
pub fn drop_long(pairs: Vec<TokenPair>, longest: usize, cleaning: &mut Cleaning) -> Vec<TokenPair> {
    let before = pairs.len();
    let kept: Vec<TokenPair> =
        pairs.into_iter().filter(|(source, target)| source.len().max(target.len()) <= longest).collect();
    cleaning.too_long += before - kept.len();
    cleaning.kept -= before - kept.len();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> Vec<(String, String)> {
        let pairs = [("a", "x"), ("b", " "), ("a", "x"), ("a", "y"), ("", ""), ("a", "x"), ("ab", "x")];
        pairs.map(|(source, target)| (source.to_string(), target.to_string())).to_vec()
    }

    #[test]
    fn what_is_left_out_is_counted_and_what_is_kept_stays_in_order() {
        let (kept, cleaning) = clean_pairs(pairs(), Duplicates::Keep);
        assert_eq!(kept.len(), 5);
        assert_eq!((cleaning.duplicates, cleaning.empty, cleaning.kept), (2, 2, 5));
        assert_eq!(cleaning.to_string(), "7 read; 2 exact duplicates kept, 2 empty and 0 too long left out");
        let (kept, cleaning) = clean_pairs(pairs(), Duplicates::Drop);
        let sources: Vec<&str> = kept.iter().map(|(source, _)| source.as_str()).collect();
        assert_eq!(sources, ["a", "a", "ab"]);
        assert_eq!((cleaning.duplicates, cleaning.empty, cleaning.kept), (2, 2, 3));
        assert!(cleaning.to_string().contains("2 exact duplicates left out"));
    }

    #[test]
    fn long_pairs_are_counted_by_their_longer_side() {
        let mut cleaning = Cleaning { read: 3, kept: 3, ..Cleaning::default() };
        let pairs = vec![(vec![1; 3], vec![1; 3]), (vec![1; 4], vec![1]), (vec![1], vec![1; 4])];
        assert_eq!(drop_long(pairs, 3, &mut cleaning).len(), 1);
        assert_eq!((cleaning.too_long, cleaning.kept), (2, 1));
    }
}
