//! Errors of model configurations: sizes and options that no model can have.

/// A configuration of a model that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelConfigError {
    /// An option has no value of this name.
    #[error("{option} '{found}' is unknown: expected {}", listed(expected))]
    UnknownName {
        /// The option: "activation".
        option: &'static str,
        /// The name that was given.
        found: String,
        /// The names there are.
        expected: Vec<&'static str>,
    },
    /// A size is 0.
    #[error("{key} is 0, expected at least 1")]
    Zero {
        /// The configuration key.
        key: &'static str,
    },
    /// Too many layers.
    #[error("{found} layers exceed the maximum of {max}")]
    TooManyLayers {
        /// Number of layers.
        found: usize,
        /// The maximum.
        max: usize,
    },
    /// More parameters than the memory of an ordinary machine holds.
    #[error(
        "the model would have {parameters:.1e} parameters ({:.0} GB), more than {max:.0e}",
        parameters * 4e-9
    )]
    TooManyParameters {
        /// Number of parameters, about.
        parameters: f64,
        /// The maximum.
        max: f64,
    },
    /// The width is not a multiple of the number of heads.
    #[error("{key}: width {width} is not divisible by {heads} heads")]
    Heads {
        /// Which heads: "heads", "encoder heads", "decoder heads".
        key: &'static str,
        /// Number of heads.
        heads: usize,
        /// Width of the model.
        width: usize,
        /// The nearest number of heads that divides the width.
        nearest: usize,
    },
    /// A dropout rate outside [0, 1).
    #[error("dropout = {found}, expected a number in [0, 1)")]
    Dropout {
        /// The rate.
        found: f32,
    },
    /// One embedding table for two vocabularies.
    #[error(
        "a shared embedding table cannot have {source_tokens} rows for the source and \
         {target_tokens} for the target"
    )]
    SharedEmbeddings {
        /// Size of the source vocabulary.
        source_tokens: usize,
        /// Size of the target vocabulary.
        target_tokens: usize,
    },
    /// A special token outside the vocabulary.
    #[error("{key} = {id} is out of range for the target vocabulary of {vocab_size} tokens")]
    SpecialToken {
        /// The configuration key.
        key: &'static str,
        /// The token id.
        id: u32,
        /// Size of the vocabulary.
        vocab_size: usize,
    },
    /// One-hot positions that do not fit into the width.
    #[error("one-hot positions: {max_positions} positions exceed the width of {width}")]
    OneHotPositions {
        /// Number of positions.
        max_positions: usize,
        /// Width of the model.
        width: usize,
    },
    /// A classifier with fewer than two labels.
    #[error("a classifier needs at least two labels, found {found}")]
    TooFewLabels {
        /// Number of labels.
        found: usize,
    },
}

/// "a, b or c".
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => (*one).into(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
