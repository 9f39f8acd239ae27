//! Errors of datasets: training data that is too small, too long or of one kind only.

use std::path::PathBuf;

/// A dataset that a model cannot be trained on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// A classifier needs at least two labels.
    #[error("every example has the label {label}: a classifier needs at least two labels")]
    OneLabel {
        /// The only label.
        label: String,
    },
    /// No sequences for a split.
    #[error("the {split} split has no {unit}")]
    Empty {
        /// Which split.
        split: SplitName,
        /// What a sequence is: "lines", "windows", "pairs".
        unit: String,
    },
    /// A training text shorter than one window.
    #[error("{found} training tokens are too few for a context of {context}")]
    TooShort {
        /// Training tokens.
        found: usize,
        /// `model.context_length`.
        context: usize,
    },
    /// A validation text of fewer than two tokens.
    #[error("{}{found} validation tokens are too few to predict one from another", listed(files))]
    ValidationTooShort {
        /// The validation files; none if a share of the training text is held out.
        files: Vec<PathBuf>,
        /// Validation tokens.
        found: usize,
    },
    /// All pairs exceed the length limit.
    #[error("no training pair is left: all {pairs} exceed {limit} tokens on a side")]
    AllTooLong {
        /// How many pairs there were.
        pairs: usize,
        /// The longest allowed side, in tokens.
        limit: usize,
        /// The key that sets the limit.
        key: &'static str,
    },
    /// A pair that is longer than the model's maximum.
    #[error(
        "the {side} of pair {pair} has {tokens} tokens, which exceed the model's maximum of {max}"
    )]
    PairTooLong {
        /// "source" or "target".
        side: &'static str,
        /// The pair, counted from 1.
        pair: usize,
        /// Its tokens.
        tokens: usize,
        /// The model's maximum.
        max: usize,
    },
    /// A pair with a token id outside the model's vocabulary.
    #[error("the {side} of pair {pair} has token id {id}, the model's vocabulary has {vocab_size}")]
    IdOutOfRange {
        /// "source" or "target".
        side: &'static str,
        /// The pair, counted from 1.
        pair: usize,
        /// The id.
        id: u32,
        /// Size of the vocabulary.
        vocab_size: usize,
    },
}

/// A split of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitName {
    /// Training examples.
    Train,
    /// Held-out examples.
    Validation,
}

impl std::fmt::Display for SplitName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            SplitName::Train => "training",
            SplitName::Validation => "validation",
        })
    }
}

fn listed(files: &[PathBuf]) -> String {
    match files {
        [] => String::new(),
        files => {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            format!("{}: ", names.join(", "))
        }
    }
}
