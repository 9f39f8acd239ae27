//! Errors of tokenizers: their files, their special tokens, and learning a vocabulary.

use super::{SentencePieceProblem, join_paths};
use std::path::PathBuf;

/// A tokenizer that cannot be read, used or trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum TokenizerError {
    /// A language for a model that has none.
    #[error("language '{language}': the model translates between two languages only")]
    NoLanguages { language: String },
    /// A language that a multilingual model does not have.
    #[error("the model does not have the language '{language}'")]
    LacksLanguage { language: String, nearest: Option<String>, known: Vec<String> },
    /// There is no readable `tokenizer.json`.
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    /// A `tokenizer.json` that the `tokenizers` library does not accept.
    #[error("{path}: not a valid tokenizer: {reason}")]
    Invalid { path: PathBuf, reason: String },
    /// A file that is not a SentencePiece model.
    #[error("{path}: not a valid SentencePiece model: {problem}")]
    SentencePiece { path: PathBuf, problem: SentencePieceProblem },
    /// A folder without the files of a tokenizer, or with some (`found`) that do not say how to
    /// read them.
    #[error(
        "{folder}: no tokenizer: {}",
        if found.is_empty() {
            "none of its files is one".to_string()
        } else {
            format!("{} alone does not say how it is to be read", found.join(", "))
        }
    )]
    NotFound { folder: PathBuf, found: Vec<&'static str> },
    /// A tokenizer class, or a model type without one, that only a `tokenizer.json` describes.
    #[error("{folder}: {} of '{class}' cannot be read without tokenizer.json", found.join(", "))]
    UnknownClass { folder: PathBuf, class: String, found: Vec<&'static str> },
    /// One of several files that belong together is missing.
    #[error("{folder}: {missing} is missing beside {}", found.join(", "))]
    Incomplete { folder: PathBuf, found: Vec<&'static str>, missing: &'static str },
    /// A SentencePiece model of another algorithm than its tokenizer class has.
    #[error("{path}: a {found} model, but its tokenizer class is {expected}")]
    Algorithm { path: PathBuf, found: &'static str, expected: &'static str },
    /// An added token whose id in the files is not the one that the vocabulary would give it.
    #[error(
        "{folder}: the added token '{token}' should have the id {id}, but the vocabulary gives it \
         {}",
        found.map_or("none".to_string(), |id| id.to_string())
    )]
    AddedTokenId { folder: PathBuf, token: String, id: u32, found: Option<u32> },
    /// A language that the vocabulary does not have.
    #[error("{path}: there is no language '{language}': there are {}", known.join(", "))]
    UnknownLanguage { path: PathBuf, language: String, known: Vec<String> },
    /// A tokenizer that `tokenizer.json` cannot describe.
    #[error("the tokenizer cannot be stored as tokenizer.json: {reason}")]
    NotConvertible { reason: String },
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
