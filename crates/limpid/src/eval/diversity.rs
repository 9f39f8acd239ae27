//! Diversity of generated texts.
//!
//! ```text
//! repeated-n(text)  = 1 − (distinct n-grams of the text) / (n-grams of the text)
//! distinct-n(texts) = (distinct n-grams of all texts) / (n-grams of all texts)
//! ```
//!
//! distinct-n is that of Li et al. 2016. It falls with the number and length of the texts, so only
//! sets of the same number of texts of similar length are comparable.
//!
//! ```
//! use limpid::eval::diversity::{distinct, repeated};
//!
//! let text = ["the", "cat", "the", "cat"];
//! assert_eq!(repeated(&text, 1), 0.5);
//! assert_eq!(distinct(&[text, ["the", "dog", "the", "dog"]], 1), 3.0 / 8.0);
//! ```

use std::collections::HashSet;

/// The fraction of a text's n-grams that repeat an earlier one; 0 for a text without any.
pub fn repeated<T: Eq + std::hash::Hash>(text: &[T], n: usize) -> f64 {
    1.0 - share_of_different([text], n)
}

/// The fraction of distinct n-grams among those of all texts; 1 if there are none.
pub fn distinct<T: Eq + std::hash::Hash, S: AsRef<[T]>>(texts: &[S], n: usize) -> f64 {
    share_of_different(texts.iter().map(AsRef::as_ref), n)
}

fn share_of_different<'a, T: Eq + std::hash::Hash + 'a>(
    texts: impl IntoIterator<Item = &'a [T]>,
    n: usize,
) -> f64 {
    let (mut different, mut all) = (HashSet::new(), 0);
    for ngram in texts.into_iter().flat_map(|text| text.windows(n)) {
        different.insert(ngram);
        all += 1;
    }
    if all == 0 { 1.0 } else { different.len() as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_counted_by_hand() {
        // a b a b a: pairs ab ba ab ba: 2 of 4 are new; single words: 2 of 5.
        let text = ["a", "b", "a", "b", "a"];
        assert_eq!(repeated(&text, 2), 0.5);
        assert_eq!(repeated(&text, 1), 1.0 - 2.0 / 5.0);
        assert_eq!(repeated(&text, 5), 0.0);
        assert_eq!(repeated(&text, 6), 0.0, "there are no n-grams");
        // No n-gram reaches from one text into the next: ab, ab, bc.
        assert_eq!(distinct(&[vec!["a", "b"], vec!["a", "b", "c"]], 2), 2.0 / 3.0);
        assert_eq!(distinct::<u32, Vec<u32>>(&[], 1), 1.0);
    }
}
