//! chrF: F-score of character n-grams of a translation and its reference (Popović 2015), and
//! chrF++, which adds word unigrams and bigrams (Popović 2017).
//!
//! ```text
//! P = mean over the orders of  matches / n-grams of the hypothesis
//! R = mean over the orders of  matches / n-grams of the reference
//! chrFβ = (1 + β²) · P·R / (β²·P + R),   β = 2: recall weighs twice as much as precision
//! ```
//!
//! The sums behind each fraction run over the whole corpus. Of several references each line uses
//! the one it scores best with. Unlike BLEU, chrF needs no tokenizer: whitespace is ignored, and
//! in chrF++ words only lose a punctuation mark at one end.
//!
//! ```
//! use limpid::eval::Chrf;
//!
//! let score = Chrf::default().sentence("a cat", &["a cat"])?;
//! assert_eq!(score.score, 100.0);
//! # Ok::<(), limpid::error::EvalError>(())
//! ```

use super::metric::{Metric, count_lines, ngrams, signature};
use super::{Case, EvalError, is_space, words};
use std::hash::Hash;

/// Whether character n-grams include whitespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whitespace {
    /// Whitespace is removed first.
    #[default]
    Ignored,
    /// Whitespace counts like any character.
    Counted,
}

/// Smoothing of orders for which hypothesis or reference has no n-gram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChrfSmooth {
    /// They are left out of the averages, as in sacreBLEU.
    #[default]
    EffectiveOrder,
    /// Their precision or recall is 10⁻¹⁶, and the mean is one of F-scores: as in the original
    /// chrF++ and in Moses.
    Epsilon,
}

/// chrF with its settings; the defaults are sacreBLEU's. [`Chrf::plus_plus`] is chrF++.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chrf {
    /// Whether case matters.
    pub case: Case,
    /// The longest n-grams of characters.
    pub char_order: usize,
    /// The longest n-grams of words; 0 for chrF, 2 for chrF++.
    pub word_order: usize,
    /// β: the weight of recall relative to precision.
    pub beta: u32,
    /// Whether whitespace counts.
    pub whitespace: Whitespace,
    /// Smoothing of orders without n-grams.
    pub smooth: ChrfSmooth,
}

impl Default for Chrf {
    fn default() -> Self {
        Self {
            case: Case::default(),
            char_order: 6,
            word_order: 0,
            beta: 2,
            whitespace: Whitespace::default(),
            smooth: ChrfSmooth::default(),
        }
    }
}

/// A chrF score.
#[derive(Clone, Debug, PartialEq)]
pub struct ChrfScore {
    /// chrF, from 0 to 100.
    pub score: f64,
    /// The signature, for example `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no`.
    pub signature: String,
}

impl Metric for Chrf {
    fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    fn settings(&self) -> String {
        let effective = match self.smooth {
            ChrfSmooth::EffectiveOrder => "yes",
            ChrfSmooth::Epsilon => "no",
        };
        let space = match self.whitespace {
            Whitespace::Ignored => "no",
            Whitespace::Counted => "yes",
        };
        let (case, nc, nw) = (self.case.signature(), self.char_order, self.word_order);
        format!("case:{case}|eff:{effective}|nc:{nc}|nw:{nw}|space:{space}")
    }

    /// For each order, first of characters, then of words: n-grams of the hypothesis, of the
    /// reference, matches.
    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<u64> {
        let text = self.case.apply(hypothesis);
        let (chars, words) = (self.chars(&text), split_words(&text));
        let against = |reference: &&str| {
            let text = self.case.apply(reference);
            let (ref_chars, ref_words) = (self.chars(&text), split_words(&text));
            let of_chars = (1..=self.char_order).flat_map(|n| matches(&chars, &ref_chars, n));
            let of_words = (1..=self.word_order).flat_map(|n| matches(&words, &ref_words, n));
            of_chars.chain(of_words).collect::<Vec<u64>>()
        };
        references
            .iter()
            .map(against)
            .reduce(|best, next| if self.score(&next) > self.score(&best) { next } else { best })
            .expect("a segment has a reference")
    }

    fn score(&self, counts: &[u64]) -> f64 {
        let factor = f64::from(self.beta).powi(2);
        let f_score = |p: f64, r: f64| (1.0 + factor) * p * r / (factor * p + r);
        let (mut precision, mut recall, mut orders, mut smoothed) = (0.0, 0.0, 0.0, 0.0);
        for order in counts.chunks_exact(3) {
            let [hypothesis, reference, matched] =
                [order[0] as f64, order[1] as f64, order[2] as f64];
            let part = |of: f64| if of > 0.0 { matched / of } else { EPSILON };
            let (p, r) = (part(hypothesis), part(reference));
            smoothed += if factor * p + r > 0.0 { f_score(p, r) } else { EPSILON };
            if hypothesis > 0.0 && reference > 0.0 {
                precision += p;
                recall += r;
                orders += 1.0;
            }
        }
        match self.smooth {
            ChrfSmooth::Epsilon => 100.0 * smoothed / (self.char_order + self.word_order) as f64,
            ChrfSmooth::EffectiveOrder if precision + recall > 0.0 => {
                100.0 * f_score(precision / orders, recall / orders)
            }
            ChrfSmooth::EffectiveOrder => 0.0,
        }
    }
}

const EPSILON: f64 = 1e-16;

impl Chrf {
    /// chrF++: word unigrams and bigrams count too.
    pub fn plus_plus() -> Self {
        Self { word_order: 2, ..Self::default() }
    }

    /// Scores a corpus; `references[i]` are the references of `hypotheses[i]`, at least one.
    /// # Errors
    /// If there are no hypotheses, or not at least one reference for each.
    pub fn corpus(
        &self,
        hypotheses: &[&str],
        references: &[Vec<&str>],
    ) -> Result<ChrfScore, EvalError> {
        let counts = count_lines(self, hypotheses, references)?;
        Ok(ChrfScore {
            score: self.score(&counts.total()),
            signature: signature(self, references, None),
        })
    }

    /// Scores one sentence.
    ///
    /// # Errors
    /// [`EvalError::NoReference`] if there is no reference.
    pub fn sentence(&self, hypothesis: &str, references: &[&str]) -> Result<ChrfScore, EvalError> {
        self.corpus(&[hypothesis], &[references.to_vec()])
    }

    fn chars(&self, text: &str) -> Vec<char> {
        match self.whitespace {
            Whitespace::Ignored => text.chars().filter(|c| !is_space(*c)).collect(),
            Whitespace::Counted => text.chars().collect(),
        }
    }
}

/// N-grams of the hypothesis (none if the reference has none to match), of the reference, and
/// matches.
fn matches<T: Eq + Hash>(hypothesis: &[T], reference: &[T], n: usize) -> [u64; 3] {
    let (hypothesis, reference) = (ngrams(hypothesis, n), ngrams(reference, n));
    if reference.is_empty() {
        return [0; 3];
    }
    let matched = |(ngram, count): (&&[T], &u64)| *count.min(reference.get(ngram).unwrap_or(&0));
    [hypothesis.values().sum(), reference.values().sum(), hypothesis.iter().map(matched).sum()]
}

/// The words of a line, each with one ASCII punctuation mark split off: at its end or else at its
/// start. `(hi)` gives `(hi` and `)`, as in the original.
fn split_words(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for word in words(text) {
        let first = word.chars().next().expect("words are not empty");
        let last = word.chars().next_back().expect("words are not empty");
        // Punctuation of ASCII is one byte long.
        if word.len() == first.len_utf8() {
            parts.push(word);
        } else if last.is_ascii_punctuation() {
            parts.extend([&word[..word.len() - 1], &word[word.len() - 1..]]);
        } else if first.is_ascii_punctuation() {
            parts.extend([&word[..1], &word[1..]]);
        } else {
            parts.push(word);
        }
    }
    parts
}
