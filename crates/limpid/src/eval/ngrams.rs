//! Unigram and bigram language models: baselines for a neural one.
//!
//! ```text
//! p(w)     = (count(w) + 1) / (all + v)
//! p(w | u) = (count(u w) + k·p(w)) / (count(u ·) + k)
//! ```
//!
//! k is the number of distinct words that follow u (Witten and Bell 1991).
//!
//! ```
//! use limpid::eval::ngrams::{NGrams, Order};
//!
//! let model = NGrams::learn(&[vec![0, 1, 0, 1, 0, 2]], 3);
//! // After 0 came 1 twice and 2 once.
//! let [one, two] = [1, 2].map(|word| model.probability(Order::Bigram, 0, word));
//! assert!(one > two && model.loss(Order::Bigram, &[vec![0, 1]]).mean() < 1.0);
//! ```

use super::loss::Loss;
use std::collections::HashMap;

/// Unigram and bigram counts.
pub struct NGrams {
    vocabulary: usize,
    words: Vec<u64>,
    all: u64,
    pairs: HashMap<(u32, u32), u64>,
    /// For each word: the number of words that follow it, and of distinct ones.
    after: Vec<(u64, u64)>,
}

/// The context of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// None.
    Unigram,
    /// The previous word.
    Bigram,
}

impl NGrams {
    /// Counts sequences; the first token of each is only context.
    /// # Panics
    /// If a token is not below `vocabulary`.
    #[track_caller]
    pub fn learn<S: AsRef<[u32]>>(sequences: &[S], vocabulary: usize) -> Self {
        let (words, after) = (vec![0; vocabulary], vec![(0, 0); vocabulary]);
        let mut counts = Self { vocabulary, words, all: 0, pairs: HashMap::new(), after };
        for pair in sequences.iter().flat_map(|sequence| sequence.as_ref().windows(2)) {
            let (before, word) = (pair[0], pair[1]);
            counts.words[word as usize] += 1;
            counts.all += 1;
            let count = counts.pairs.entry((before, word)).or_default();
            *count += 1;
            let (all, different) = &mut counts.after[before as usize];
            *all += 1;
            *different += u64::from(*count == 1);
        }
        counts
    }

    /// The probability of a word after another.
    pub fn probability(&self, order: Order, before: u32, word: u32) -> f64 {
        let alone =
            (self.words[word as usize] + 1) as f64 / (self.all + self.vocabulary as u64) as f64;
        let (all, different) = self.after[before as usize];
        if order == Order::Unigram || all == 0 {
            return alone;
        }
        let together = self.pairs.get(&(before, word)).copied().unwrap_or(0);
        (together as f64 + different as f64 * alone) / (all + different) as f64
    }

    /// Σ −ln p over every token but the first of each sequence.
    pub fn loss<S: AsRef<[u32]>>(&self, order: Order, sequences: &[S]) -> Loss {
        let mut loss = Loss::default();
        for pair in sequences.iter().flat_map(|sequence| sequence.as_ref().windows(2)) {
            loss.sum -= self.probability(order, pair[0], pair[1]).ln();
            loss.tokens += 1;
        }
        loss
    }

    /// The most frequent word; the first of equals.
    pub fn most_frequent(&self) -> u32 {
        let most = self.words.iter().copied().max().unwrap_or(0);
        self.words.iter().position(|count| *count == most).unwrap_or(0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_formula_and_sum_to_one() {
        let counts = NGrams::learn(&[vec![0, 1, 2, 1, 2], vec![0, 2]], 4);
        // Words that were predicted: 1 2 1 2 2. After 1: 2, 2. After 0: 1, 2.
        assert_eq!(counts.probability(Order::Unigram, 0, 2), 4.0 / 9.0);
        assert_eq!(counts.probability(Order::Bigram, 1, 2), (2.0 + 4.0 / 9.0) / 3.0);
        assert_eq!(counts.probability(Order::Bigram, 0, 3), 2.0 * (1.0 / 9.0) / 4.0);
        assert_eq!(counts.most_frequent(), 2);
        for order in [Order::Unigram, Order::Bigram] {
            for before in 0..4 {
                let sum: f64 = (0..4).map(|word| counts.probability(order, before, word)).sum();
                assert!((sum - 1.0).abs() < 1e-12, "{order:?} after {before}: {sum}");
            }
        }
        let loss = counts.loss(Order::Unigram, &[vec![0, 2, 3]]);
        assert!((loss.sum + (4.0_f64 / 9.0).ln() + (1.0_f64 / 9.0).ln()).abs() < 1e-12);
        assert_eq!(loss.tokens, 2);
    }
}
