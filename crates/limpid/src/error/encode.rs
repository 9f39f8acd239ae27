//! Errors of encoders: embeddings, mask filling, classification.

/// A model or a text with which an encoder can do nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// Labels of a model without a classification head.
    #[error("the model has no classification head")]
    NoClassificationHead,
    /// Words for a mask by a model without a masked-language-modelling head.
    #[error("the model has no masked-language-modelling head: it cannot fill a mask")]
    NoMaskedLmHead,
    /// Words for a mask with a tokenizer that has no mask token.
    #[error("the tokenizer has no mask token ([MASK])")]
    NoMaskToken,
    /// The tokenizer gives an id that the model does not have.
    #[error("the tokenizer gives token {id}, the model's vocabulary has {vocab_size} tokens")]
    TokenizerMismatch {
        /// The id.
        id: u32,
        /// Size of the model's vocabulary.
        vocab_size: usize,
    },
    /// One of the texts cannot be used.
    #[error("text {}: {problem}", index + 1)]
    Input {
        /// Which text, counted from 0.
        index: usize,
        /// What is wrong with it.
        problem: InputProblem,
    },
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputProblem {
    /// No tokens at all, not even special ones.
    #[error("no tokens, and the tokenizer adds no special ones")]
    Empty,
    /// Two texts for a model that was made for one.
    #[error("a pair of texts, and the model has one token type")]
    Pair,
    /// More tokens than the model has positions for.
    #[error(
        "{tokens} tokens exceed the model's maximum of {max_tokens} by {excess}",
        excess = tokens - max_tokens
    )]
    TooLong {
        /// Tokens it has, special ones included.
        tokens: usize,
        /// Tokens the model reads.
        max_tokens: usize,
    },
    /// No mask token to fill.
    #[error("there is no {mask} to fill")]
    NoMask {
        /// The mask token.
        mask: String,
    },
}
