//! Errors of training that starts from pretrained weights.

use std::path::PathBuf;

/// A pretrained model that does not fit the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PretrainedError {
    /// The folder holds a model of another stack.
    #[error("{} does not hold {expected}", folder.display())]
    WrongStack {
        /// The model folder.
        folder: PathBuf,
        /// The run's task.
        task: &'static str,
        /// What the task can start from: "an encoder".
        expected: &'static str,
    },
    /// A key asks for something other than the model has.
    #[error("{key} = {found}, but the model in {} has {own}", folder.display())]
    Differs {
        /// The key.
        key: String,
        /// Its value.
        found: String,
        /// What the model has.
        own: String,
        /// The model folder.
        folder: PathBuf,
    },
    /// A context longer than the model has positions for.
    #[error(
        "model.context_length = {context_length} exceeds the {positions} positions of the model \
         in {}",
        folder.display()
    )]
    TooLong {
        /// The context length.
        context_length: usize,
        /// The model's maximum.
        positions: usize,
        /// The model folder.
        folder: PathBuf,
    },
    /// A pair of texts for an encoder with one token type.
    #[error(
        "the encoder in {} has one token type: it cannot be given pairs of texts",
        folder.display()
    )]
    OneTokenType {
        /// The model folder.
        folder: PathBuf,
    },
    /// A tokenizer with more tokens than the model has embeddings.
    #[error(
        "the tokenizer has {tokens} tokens, the model in {} has embeddings for {embeddings}",
        folder.display()
    )]
    Vocabulary {
        /// Tokens of the tokenizer.
        tokens: usize,
        /// Rows of the model's embedding table.
        embeddings: usize,
        /// The model folder.
        folder: PathBuf,
        /// Whose tokenizer it is.
        tokenizer: TokenizerOrigin,
    },
    /// A tokenizer whose end token is not the model's.
    #[error(
        "the tokenizer ends a sentence with token {found}, the model in {} with {expected}",
        folder.display()
    )]
    EndToken {
        /// The tokenizer's end token.
        found: u32,
        /// The model's.
        expected: u32,
        /// The model folder.
        folder: PathBuf,
        /// Whose tokenizer it is.
        tokenizer: TokenizerOrigin,
    },
    /// A tokenizer without a token that the model needs.
    #[error("the tokenizer has no {token} token, which an encoder-decoder needs")]
    MissingToken {
        /// Which one: "end-of-sentence (</s>)".
        token: &'static str,
    },
    /// Training without biases, from a model that has some.
    #[error("model.bias = false, but the model in {} has biases ({name})", folder.display())]
    HasBiases {
        /// The model folder.
        folder: PathBuf,
        /// The first of them.
        name: String,
    },
    /// The model's classification head is for other labels and is not loaded.
    #[error(
        "the pretrained classifier has other labels: the classification head starts from scratch"
    )]
    NewClassificationHead,
    /// The model has no masked-language-modelling head to load.
    #[error("the pretrained model has no masked-LM head: it starts from scratch")]
    NewMaskedLmHead,
}

/// Where a run's tokenizer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerOrigin {
    /// The folder that `tokenizer.from` names.
    Key,
    /// The folder of the pretrained model.
    Model,
}
