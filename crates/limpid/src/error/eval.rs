//! Errors of evaluation: hypotheses and references, models and their test data.

use std::path::PathBuf;

/// Something that cannot be scored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// There is nothing to score.
    #[error("no hypotheses to score")]
    NoHypotheses,
    /// There is not one reference line per hypothesis.
    #[error(
        "{hypotheses} hypotheses but {references} reference lines; expected one per hypothesis"
    )]
    CountMismatch {
        /// Number of hypotheses.
        hypotheses: usize,
        /// Number of reference lines.
        references: usize,
    },
    /// There is not one source line per hypothesis.
    #[error("{sources} source lines but {hypotheses} hypotheses; expected one per hypothesis")]
    SourceMismatch {
        /// Number of source lines.
        sources: usize,
        /// Number of hypotheses.
        hypotheses: usize,
    },
    /// A hypothesis has no reference.
    #[error("line {} has no reference; expected at least one", segment + 1)]
    NoReference {
        /// Its index, from 0.
        segment: usize,
    },
    /// A test example is longer than the model's context.
    #[error(
        "{}: {unit} {number}: {tokens} tokens exceed the model's maximum of {maximum}",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// "line" or, in a table, "pair".
        unit: &'static str,
        /// Its number, from 1.
        number: usize,
        /// Its tokens.
        tokens: usize,
        /// The most the model can process.
        maximum: usize,
    },
    /// The tokenizer of another model.
    #[error("token id {id} is out of range: the model has a vocabulary of {vocab_size}")]
    TokenOutOfRange {
        /// The token id.
        id: u32,
        /// The size of the model's vocabulary.
        vocab_size: usize,
    },
}
