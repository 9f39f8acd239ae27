//! Errors of measuring a model on the built-in stories.

/// Why a model cannot be measured on the built-in stories.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CorpusError {
    /// A text that the story grammar does not generate, so that its probability is unknown.
    #[error("\"{text}\" is not one of the built-in stories")]
    NotAStory {
        /// The text.
        text: String,
    },
    /// No training or no test stories.
    #[error("there are no stories to measure on")]
    NoStories,
    /// A story that exceeds the model's positions.
    #[error("a story has {tokens} tokens, which exceeds the model's maximum of {max}")]
    TooLong {
        /// Tokens of the longest story, special tokens included.
        tokens: usize,
        /// The model's number of positions.
        max: usize,
    },
    /// Masked-word accuracy needs a mask token.
    #[error("the tokenizer has no mask token ([MASK])")]
    NoMaskToken,
    /// Masked-word accuracy needs one token per word.
    #[error("a story of {words} words and punctuation marks has {tokens} tokens")]
    NotWordLevel {
        /// Words and punctuation marks of the story.
        words: usize,
        /// Tokens that the tokenizer makes of it.
        tokens: usize,
    },
}
