//! Metrics: BLEU, chrF and ROUGE of texts, precision, recall and F1 of labels, loss and perplexity
//! of models, with bootstrap intervals and significance tests.
//!
//! Scores of two systems are comparable only if their text was tokenized alike, so every score
//! carries a signature in sacreBLEU's notation, and equals what sacreBLEU prints under that
//! signature. BLEU processes text in three steps, each a choice: [`Case`], [`BleuTokenizer`],
//! [`words`]; chrF counts characters. Both implement [`Metric`]: counts per line that add up, and a
//! score of the sum, so that a corpus is counted once, however often [`resample`] samples its
//! lines.
//!
//! ```
//! use limpid::eval::Bleu;
//!
//! let hypotheses = ["The cat sat on the mat."];
//! let references = [vec!["The cat sat on a mat."]];
//! let bleu = Bleu::default().corpus(&hypotheses, &references)?;
//! assert_eq!(format!("{:.2}", bleu.score), "48.89");
//! assert_eq!(bleu.signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp");
//! # Ok::<(), limpid::error::Error>(())
//! ```

use std::borrow::Cow;

pub mod answers;
pub mod baselines;
pub mod bleu;
pub mod chrf;
pub mod classification;
pub mod diversity;
pub mod encoder;
pub mod entities;
pub mod lengths;
pub mod loss;
mod metric;
pub mod multi_label;
pub mod ngrams;
pub mod regression;
pub mod resample;
pub mod rouge;
pub mod squad;
pub mod summary;
mod tokenize;
pub mod translator;

pub use crate::error::EvalError;
pub use bleu::{Bleu, BleuScore};
pub use chrf::Chrf;
pub use metric::{Counts, Metric, count_lines, signature};

/// Whether case matters, as sacreBLEU names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// It does: `The` and `the` differ.
    #[default]
    Mixed,
    /// It does not: text is lowercased first, by Unicode's full mapping.
    Lower,
}

impl Case {
    fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Case::Mixed => Cow::Borrowed(text),
            // Like Python's str.lower: `Σ` at the end of a word is `ς`, and `İ` becomes two
            // characters. Letters that Unicode gained since the Python at hand (3.11: Unicode 14)
            // are the only difference.
            Case::Lower => Cow::Owned(text.to_lowercase()),
        }
    }

    fn signature(self) -> &'static str {
        match self {
            Case::Mixed => "mixed",
            Case::Lower => "lc",
        }
    }
}

/// How BLEU tokenizes a line, as sacreBLEU names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BleuTokenizer {
    /// The rules of NIST's script `mteval-v13a`, which WMT uses: ASCII punctuation is split off.
    #[default]
    V13a,
    /// The rules of `mteval-v14` for all languages: punctuation and symbols of Unicode are split
    /// off.
    Intl,
    /// Every character is a token, for languages without spaces between words.
    Char,
    /// At whitespace only, for tokenized text.
    None,
}

impl BleuTokenizer {
    /// The line with its tokens separated by whitespace; [`words`] splits them.
    pub fn tokenize(self, line: &str) -> Cow<'_, str> {
        match self {
            BleuTokenizer::V13a => Cow::Owned(tokenize::v13a(line)),
            BleuTokenizer::Intl => Cow::Owned(tokenize::intl(line)),
            BleuTokenizer::Char => Cow::Owned(line.chars().flat_map(|c| [c, ' ']).collect()),
            BleuTokenizer::None => Cow::Borrowed(line),
        }
    }

    fn signature(self) -> &'static str {
        match self {
            BleuTokenizer::V13a => "13a",
            BleuTokenizer::Intl => "intl",
            BleuTokenizer::Char => "char",
            BleuTokenizer::None => "none",
        }
    }
}

/// Precision, recall and F1, each from 0 to 1: of a class, or of the words of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FScore {
    /// Correct among those predicted.
    pub precision: f64,
    /// Predicted among those in the reference.
    pub recall: f64,
    /// Their harmonic mean.
    pub f1: f64,
}

impl FScore {
    /// The mean of scores with their weights; of none, 0.
    pub fn mean(scores: impl IntoIterator<Item = (f64, FScore)>) -> Self {
        let (mut sum, mut all) = (Self::default(), 0.0);
        for (weight, score) in scores {
            sum.precision += weight * score.precision;
            sum.recall += weight * score.recall;
            sum.f1 += weight * score.f1;
            all += weight;
        }
        if all == 0.0 {
            return sum;
        }
        Self { precision: sum.precision / all, recall: sum.recall / all, f1: sum.f1 / all }
    }
}

/// A fraction; 0/0 counts as 0.
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The words of a line, separated by any whitespace, including the non-breaking space.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|word| !word.is_empty())
}

/// Whitespace as Python's `str.split` defines it: Unicode's, and the four ASCII separators.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}
