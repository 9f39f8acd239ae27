//! Why a model has no GGUF file.

use super::listed;

/// What llama.cpp has nothing for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum GgufProblem {
    /// A stack that is not exported.
    #[error("{found} is not exported (decoders and BERT encoders are)")]
    Stack { found: &'static str },
    /// Layers that no architecture has.
    #[error("llama.cpp has no architecture with {what}")]
    Layers { what: String },
    /// An activation that the architecture does not have.
    #[error("llama.cpp's {architecture} has no {found} activation (it has {})", listed(supported))]
    Activation {
        architecture: &'static str,
        found: &'static str,
        supported: &'static [&'static str],
    },
    /// A tokenizer that llama.cpp has no kind for.
    #[error("llama.cpp has no tokenizer with {what}")]
    Tokenizer { what: String },
    /// A folder without a tokenizer.
    #[error("a GGUF file holds its tokenizer, and the folder has none")]
    NoTokenizer,
    /// More tokens than the embedding table has rows.
    #[error("the tokenizer has {tokens} tokens, the embedding table {rows} rows")]
    Vocabulary { tokens: usize, rows: usize },
}
