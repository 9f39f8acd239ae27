//! Errors of tokenizers: their files, their special tokens, and learning a vocabulary.

use super::join_paths;
use std::path::PathBuf;

/// A tokenizer that cannot be read, used or trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum TokenizerError {
    /// There is no `tokenizer.json`; `found` are files of other formats of tokenizers.
    #[error("{folder} has no tokenizer.json{}", other_files(found))]
    Missing { folder: PathBuf, found: Vec<&'static str> },
    /// There is no readable `tokenizer.json`.
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A `tokenizer.json` that the `tokenizers` library does not accept.
    #[error("{path}: not a valid tokenizer: {reason}")]
    Invalid { path: PathBuf, reason: String },
    /// A text that the tokenizer cannot encode.
    #[error("the text cannot be tokenized: {reason}")]
    Encode { reason: String },
    /// Token ids that the tokenizer cannot decode.
    #[error("the token ids cannot be decoded: {reason}")]
    Decode { reason: String },
    /// A special token is missing that the task needs.
    #[error("the tokenizer has no {token}: {purpose}")]
    MissingToken { token: &'static str, purpose: TokenPurpose },
    /// Nothing in the vocabulary can be predicted.
    #[error("the tokenizer has only special tokens")]
    OnlySpecialTokens,
    /// Whole-word masking needs tokens that show word boundaries.
    #[error("whole-word masking: the tokens of this tokenizer do not mark where a word begins")]
    NoWordBoundaries,
    /// No file was given to learn a vocabulary from.
    #[error("no training text for the vocabulary")]
    NoText,
    /// The training text has no words.
    #[error(
        "{}: {}: there is no vocabulary to learn",
        join_paths(files), if *bytes == 0 { "empty" } else { "only whitespace" }
    )]
    BlankText { files: Vec<PathBuf>, bytes: u64 },
    /// One short line: most likely not the file that was meant.
    #[error(
        "{}: one line of {bytes} bytes is too little text to learn a vocabulary",
        join_paths(files)
    )]
    ShortText { files: Vec<PathBuf>, bytes: u64, minimum: u64 },
    /// BPE, WordPiece and Unigram need a vocabulary size.
    #[error("{algorithm} needs a vocabulary size")]
    NoVocabSize { algorithm: &'static str },
    /// The text does not have that many tokens.
    #[error("a vocabulary of {requested} was requested, but the text yields {available} tokens")]
    VocabTooLarge { requested: usize, available: usize },
    /// What must be in the vocabulary does not fit.
    #[error("a vocabulary of {requested} is too small: {content} need {minimum}")]
    VocabTooSmall { requested: usize, minimum: usize, content: VocabContent },
    /// A byte vocabulary has a fixed size.
    #[error(
        "a vocabulary of {requested} was requested, but bytes and their special tokens are {size}"
    )]
    ByteVocab { requested: usize, size: usize },
}

/// ", only vocab.txt", if there is one.
fn other_files(found: &[&str]) -> String {
    if found.is_empty() { String::new() } else { format!(", only {}", found.join(", ")) }
}

/// Why a special token is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenPurpose {
    /// `[CLS]` and `[SEP]` around the texts of an encoder.
    #[error("an encoder needs it")]
    EncoderInput,
    /// `[MASK]` for masked language modelling.
    #[error("masked language modelling needs it")]
    Masking,
    /// The end of a text, for a language model.
    #[error("a language model needs it to separate texts")]
    EndOfText,
}

/// What a vocabulary must hold at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum VocabContent {
    /// Every character of the text.
    #[error("all characters")]
    AllCharacters,
    /// The special tokens and one word; all words would need `all`.
    #[error("the special tokens and one word")]
    OneWord { all: usize },
    /// The alphabet of BPE or WordPiece and the special tokens.
    #[error("the alphabet and the special tokens")]
    Alphabet,
    /// A piece for every character and the special tokens.
    #[error("one piece per character and the special tokens")]
    Characters,
}
