//! Measures: of translations against references (BLEU, chrF, ROUGE-L), of labels against the right ones.
//!
//! Scores of two systems can only be compared when text was cut into words in the same way, so every score
//! carries a signature in sacreBLEU's notation, and equals what sacreBLEU prints under that signature.
//! BLEU reads text in three steps, each a choice of its own: [`Case`], then [`Tokenizer`], then [`words`]; chrF
//! counts characters. Both are a [`Metric`]: counts of lines that add up, and a score of the sum. So a corpus is
//! read once, however often [`resample`] draws from its lines.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

pub mod baselines;
pub mod bleu;
pub mod chrf;
pub mod classification;
pub mod diversity;
pub mod encoder;
pub mod lengths;
pub mod loss;
mod metric;
pub mod ngrams;
pub mod resample;
pub mod rouge;
pub mod stories;
pub mod summary;
mod tokenize;
pub mod translator;

pub use bleu::{Bleu, BleuScore};
pub use chrf::Chrf;
pub use metric::{Counts, Metric, count_lines, signature};

/// Whether `The` and `the` are the same word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// They are not: text is compared as it is written.
    #[default]
    Mixed,
    /// They are: text is put in lower case first, by Unicode's full mapping.
    Lower,
}

impl Case {
    fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Case::Mixed => Cow::Borrowed(text),
            // Like Python's str.lower: `Σ` at the end of a word is `ς`, and `İ` becomes two characters. Letters
            // that Unicode gained since the Python at hand (3.11: Unicode 14) are the only difference.
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

/// How a line is cut into words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tokenizer {
    /// The rules of NIST's script `mteval-v13a`, which WMT uses: ASCII punctuation is split off.
    #[default]
    V13a,
    /// The rules of `mteval-v14` for all languages: punctuation and symbols of Unicode are split off.
    Intl,
    /// Every character is a word, for languages written without spaces.
    Char,
    /// At white space only, for text that is already in tokens.
    None,
}

impl Tokenizer {
    /// The line with its words between white space; [`words`] takes them apart.
    pub fn tokenize(self, line: &str) -> Cow<'_, str> {
        match self {
            Tokenizer::V13a => Cow::Owned(tokenize::v13a(line)),
            Tokenizer::Intl => Cow::Owned(tokenize::intl(line)),
            Tokenizer::Char => Cow::Owned(line.chars().flat_map(|c| [c, ' ']).collect()),
            Tokenizer::None => Cow::Borrowed(line),
        }
    }

    fn signature(self) -> &'static str {
        match self {
            Tokenizer::V13a => "13a",
            Tokenizer::Intl => "intl",
            Tokenizer::Char => "char",
            Tokenizer::None => "none",
        }
    }
}

/// The words of a line, between any white space, including the non-breaking space.
pub fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|word| !word.is_empty())
}

/// White space as Python's `str.split` sees it: Unicode's, and the four ASCII separators.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\x1c'..='\x1f').contains(&c)
}

/// Why hypotheses and references cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// There is nothing to score.
    NoHypotheses,
    /// The two sides do not have one line for each other.
    CountMismatch {
        /// Number of hypotheses.
        hypotheses: usize,
        /// Number of reference lines.
        references: usize,
    },
    /// There is not one source for each hypothesis.
    SourceMismatch {
        /// Number of source lines.
        sources: usize,
        /// Number of hypotheses.
        hypotheses: usize,
    },
    /// A hypothesis has no reference at all.
    NoReference {
        /// Its index, from 0.
        segment: usize,
    },
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::NoHypotheses => write!(f, "no hypotheses to score"),
            EvalError::CountMismatch { hypotheses, references } => write!(
                f,
                "{hypotheses} hypotheses but {references} reference lines; one for each was expected"
            ),
            EvalError::SourceMismatch { sources, hypotheses } => {
                write!(f, "{sources} source lines but {hypotheses} hypotheses; one for each was expected")
            }
            EvalError::NoReference { segment } => {
                write!(f, "line {} has no reference; at least one was expected", segment + 1)
            }
        }
    }
}

impl Error for EvalError {}

impl From<EvalError> for crate::error::Error {
    fn from(error: EvalError) -> Self {
        let hint = match error {
            EvalError::NoHypotheses => "is the file empty?",
            EvalError::CountMismatch { .. } | EvalError::SourceMismatch { .. } => {
                "an empty translation still needs its line"
            }
            EvalError::NoReference { .. } => "give every line at least one reference",
        };
        Self::data(error.to_string()).hint(hint)
    }
}
