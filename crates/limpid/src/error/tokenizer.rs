//! Errors of tokenizers: their files, their special tokens, and learning a vocabulary.

use super::SentencePieceProblem;
use super::file::join_paths;
use std::fmt;
use std::path::PathBuf;

/// A tokenizer that cannot be read, used or trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// There is no readable `tokenizer.json`.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
    /// A `tokenizer.json` that the `tokenizers` library does not accept.
    #[error("{}: not a valid tokenizer: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What the JSON parser or the library says.
        reason: String,
    },
    /// A file that is not a SentencePiece model.
    #[error("{}: not a valid SentencePiece model: {problem}", path.display())]
    SentencePiece {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: SentencePieceProblem,
    },
    /// A folder without the files of a tokenizer, or with some that do not say how to read them.
    #[error(
        "{}: no tokenizer: {}",
        folder.display(),
        if found.is_empty() {
            "none of its files is one".to_string()
        } else {
            format!("{} alone does not say how it is to be read", found.join(", "))
        }
    )]
    NotFound {
        /// The folder.
        folder: PathBuf,
        /// The files of tokenizers that it has.
        found: Vec<&'static str>,
    },
    /// A tokenizer class, or a model without one, that only a `tokenizer.json` describes.
    #[error(
        "{}: {} of '{class}' cannot be read without tokenizer.json",
        folder.display(),
        found.join(", ")
    )]
    UnknownClass {
        /// The folder.
        folder: PathBuf,
        /// The `tokenizer_class`, or else the `model_type`.
        class: String,
        /// The files of tokenizers that the folder has.
        found: Vec<&'static str>,
    },
    /// One of several files that belong together is missing.
    #[error("{}: {missing} is missing beside {}", folder.display(), found.join(", "))]
    Incomplete {
        /// The folder.
        folder: PathBuf,
        /// The files that it has.
        found: Vec<&'static str>,
        /// The file that it lacks.
        missing: &'static str,
    },
    /// A SentencePiece model of another algorithm than its tokenizer class has.
    #[error("{}: a {found} model, but its tokenizer class is {expected}", path.display())]
    Algorithm {
        /// The file.
        path: PathBuf,
        /// The algorithm of the file.
        found: &'static str,
        /// The algorithm of the class.
        expected: &'static str,
    },
    /// An added token whose id in the files does not follow the vocabulary.
    #[error(
        "{}: the added token '{token}' should have the id {id}, but the vocabulary gives it {}",
        folder.display(),
        found.map_or("none".to_string(), |id| id.to_string())
    )]
    AddedTokenId {
        /// The folder.
        folder: PathBuf,
        /// The token.
        token: String,
        /// The id in `added_tokens_decoder` or `added_tokens.json`.
        id: u32,
        /// The id that it would get.
        found: Option<u32>,
    },
    /// A language that the tokenizer does not have.
    #[error("{}: there is no language '{language}'", path.display())]
    UnknownLanguage {
        /// The file of the vocabulary.
        path: PathBuf,
        /// The code.
        language: String,
    },
    /// A tokenizer that `tokenizer.json` cannot describe.
    #[error("the tokenizer cannot be stored as tokenizer.json: {reason}")]
    NotConvertible {
        /// Why.
        reason: String,
    },
    /// A text that the tokenizer cannot encode.
    #[error("the text cannot be tokenized: {reason}")]
    Encode {
        /// What the library says.
        reason: String,
    },
    /// Token ids that the tokenizer cannot decode.
    #[error("the token ids cannot be decoded: {reason}")]
    Decode {
        /// What the library says.
        reason: String,
    },
    /// A special token is missing that the task needs.
    #[error("the tokenizer has no {token}: {purpose}")]
    MissingToken {
        /// The token, or what it is for.
        token: &'static str,
        /// Why it is needed.
        purpose: TokenPurpose,
    },
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
        join_paths(files),
        if *bytes == 0 { "empty" } else { "only whitespace" }
    )]
    BlankText {
        /// The files.
        files: Vec<PathBuf>,
        /// Their size.
        bytes: u64,
    },
    /// One short line: most likely not the file that was meant.
    #[error(
        "{}: one line of {bytes} bytes is too little text to learn a vocabulary",
        join_paths(files)
    )]
    ShortText {
        /// The files.
        files: Vec<PathBuf>,
        /// Their size.
        bytes: u64,
        /// The least a text of one line must have.
        minimum: u64,
    },
    /// BPE, WordPiece and Unigram need a vocabulary size.
    #[error("{algorithm} needs a vocabulary size")]
    NoVocabSize {
        /// The name of the algorithm.
        algorithm: &'static str,
    },
    /// The text does not have that many tokens.
    #[error("a vocabulary of {requested} was requested, but the text yields {available} tokens")]
    VocabTooLarge {
        /// The vocabulary size asked for.
        requested: usize,
        /// The largest that works.
        available: usize,
    },
    /// What must be in the vocabulary does not fit.
    #[error("a vocabulary of {requested} is too small: {content} need {minimum}")]
    VocabTooSmall {
        /// The vocabulary size asked for.
        requested: usize,
        /// The smallest that works.
        minimum: usize,
        /// What needs that many.
        content: VocabContent,
    },
    /// A byte vocabulary has a fixed size.
    #[error(
        "a vocabulary of {requested} was requested, but bytes and their special tokens are {size}"
    )]
    ByteVocab {
        /// The vocabulary size asked for.
        requested: usize,
        /// The only one there is.
        size: usize,
    },
}

/// Why a special token is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenPurpose {
    /// `[CLS]` and `[SEP]` around the texts of an encoder.
    EncoderInput,
    /// `[MASK]` for masked language modelling.
    Masking,
    /// The end of a text, for a language model.
    EndOfText,
}

impl fmt::Display for TokenPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EncoderInput => "an encoder needs it",
            Self::Masking => "masked language modelling needs it",
            Self::EndOfText => "a language model needs it to separate texts",
        })
    }
}

/// What a vocabulary must hold at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VocabContent {
    /// Every character of the text.
    AllCharacters,
    /// The special tokens and one word; all words would need `all`.
    OneWord {
        /// The size with every word.
        all: usize,
    },
    /// The alphabet of BPE or WordPiece and the special tokens.
    Alphabet,
    /// A piece for every character and the special tokens.
    Characters,
}

impl fmt::Display for VocabContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllCharacters => "all characters",
            Self::OneWord { .. } => "the special tokens and one word",
            Self::Alphabet => "the alphabet and the special tokens",
            Self::Characters => "one piece per character and the special tokens",
        })
    }
}
