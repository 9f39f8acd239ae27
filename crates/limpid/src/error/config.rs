//! Errors of configurations: keys of a run, sizes and options of a model, what a run needs, and the
//! pretrained model it starts from.

use super::listed;
use std::path::PathBuf;

/// A setting that is unknown, wrong, without effect or at odds with another. Lines, and columns in
/// characters, count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum SettingError {
    /// No task has this key.
    #[error("unknown key {key}{}", did_you_mean(nearest))]
    Unknown { key: String, nearest: Option<String> },
    /// The key changes nothing in this run; `reason` names the key that was meant, if there is one.
    #[error("{key} has no effect for {task}: {reason}")]
    NoEffect { key: String, task: &'static str, reason: String },
    /// A value of the wrong type, or a name that is not among the possible ones.
    #[error("{key} = {found}: expected {expected}")]
    Invalid { key: String, found: String, expected: String },
    /// A value outside the range that can work.
    #[error("{key} = {found} is out of range: expected {expected}")]
    OutOfRange { key: String, found: String, expected: String },
    /// A key without which a run cannot start.
    #[error("{key} is missing: {needs}")]
    Missing { key: &'static str, needs: &'static str },
    /// Two keys that exclude each other.
    #[error("{key} and {other} are both set: {reason}")]
    Conflict { key: String, other: String, reason: String },
    /// Two values that do not fit together.
    #[error("{key} = {found} does not fit {other} = {bound}: {reason}")]
    Mismatch { key: String, found: String, other: String, bound: String, reason: &'static str },
    /// An override that is not of the form `key=value`.
    #[error("'{text}' is not of the form key=value")]
    NotKeyValue { text: String },
    /// A text that is not TOML.
    #[error("line {line}, column {column}: {message}")]
    Syntax { line: usize, column: usize, message: String },
    /// Another error, at this place of a TOML file.
    #[error("line {line}, column {column}: {source}")]
    At { line: usize, column: usize, source: Box<SettingError> },
    /// A path below the data folder, and no data folder was given.
    #[error("{key}: {path} is in the data folder, and no data folder is set")]
    NoDataFolder { key: String, path: PathBuf },
    /// A path that a configuration, which is UTF-8 text, cannot hold.
    #[error("{path}: the name is not UTF-8, so a configuration file cannot hold it")]
    NotUtf8 { path: PathBuf },
}

impl SettingError {
    /// The key to change, if the error is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Unknown { key, .. }
            | Self::NoEffect { key, .. }
            | Self::Invalid { key, .. }
            | Self::OutOfRange { key, .. }
            | Self::Conflict { key, .. }
            | Self::Mismatch { key, .. }
            | Self::NoDataFolder { key, .. } => Some(key),
            Self::At { source, .. } => source.key(),
            _ => None,
        }
    }
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |key| format!(" (did you mean {key}?)"))
}

/// A configuration of a model that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum ModelConfigError {
    /// An option has no value of this name.
    #[error("{option} '{found}' is unknown: expected {}", listed(expected))]
    UnknownName { option: &'static str, found: String, expected: Vec<&'static str> },
    /// A size is 0.
    #[error("{key} is 0, expected at least 1")]
    Zero { key: &'static str },
    /// Too many layers.
    #[error("{found} layers exceed the maximum of {max}")]
    TooManyLayers { found: usize, max: usize },
    /// More parameters than the memory of an ordinary machine holds.
    #[error(
        "the model would have {parameters:.1e} parameters ({:.0} GB), more than {max:.0e}",
        parameters * 4e-9
    )]
    TooManyParameters { parameters: f64, max: f64 },
    /// The width is not a multiple of the number of heads; `nearest` divides it.
    #[error("{key}: width {width} is not divisible by {heads} heads")]
    Heads { key: &'static str, heads: usize, width: usize, nearest: usize },
    /// A dropout rate outside [0, 1).
    #[error("dropout = {found}, expected a number in [0, 1)")]
    Dropout { found: f32 },
    /// One embedding table for two vocabularies.
    #[error(
        "a shared embedding table cannot have {source_tokens} rows for the source and \
         {target_tokens} for the target"
    )]
    SharedEmbeddings { source_tokens: usize, target_tokens: usize },
    /// A special token outside the vocabulary.
    #[error("{key} = {id} is out of range for the target vocabulary of {vocab_size} tokens")]
    SpecialToken { key: &'static str, id: u32, vocab_size: usize },
    /// One-hot positions that do not fit into the width.
    #[error("one-hot positions: {max_positions} positions exceed the width of {width}")]
    OneHotPositions { max_positions: usize, width: usize },
    /// Query heads that cannot be shared out over heads of keys and values.
    #[error("{heads} attention heads cannot share {kv_heads} key-value heads: not a divisor")]
    KeyValueHeads { heads: usize, kv_heads: usize },
    /// Rotary positions on no columns, or on an odd number of them.
    #[error(
        "rotary positions on {rotated} of {head_dim} columns per head: expected an even number"
    )]
    RotaryWidth { rotated: usize, head_dim: usize },
    /// Relative positions with too few buckets, or a maximum distance that they exceed.
    #[error(
        "relative positions: {buckets} buckets for distances up to {max_distance}: expected at \
         least 4, and a distance above half of them"
    )]
    RelativeBuckets { buckets: usize, max_distance: usize },
    /// A classifier with fewer than two labels.
    #[error("a classifier needs at least two labels, found {found}")]
    TooFewLabels { found: usize },
}

/// A run that cannot work on this machine or with this text. Memory is in bytes.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum PlanError {
    /// More memory than is free.
    #[error(
        "the run needs about {:.1} GB of memory, {:.1} GB are free",
        needed / 1e9, available / 1e9
    )]
    Memory { needed: f64, available: f64, remedy: MemoryRemedy },
    /// A context longer than the whole text.
    #[error("{bytes} bytes of text are too few for a context length of {context_length}")]
    ContextLength { bytes: u64, context_length: usize, suggested: u64 },
}

/// What makes a run fit into memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum MemoryRemedy {
    /// Micro-batches, the same step in parts: `key` is that of the batch size.
    Accumulate { key: &'static str, size: usize, steps: usize },
    /// `train.activation_checkpointing`: layers are computed again instead of kept.
    ActivationCheckpointing,
    /// A shorter `model.context_length`.
    ContextLength(usize),
    /// A smaller `model.hidden_size`.
    HiddenSize(usize),
    /// A smaller pretrained model: its sizes are given.
    SmallerPretrained,
    /// A smaller `tokenizer.vocab_size`.
    Vocabulary,
}

/// A pretrained model that does not fit the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum PretrainedError {
    /// The folder holds a model of another stack.
    #[error("{folder} does not hold {expected}")]
    WrongStack { folder: PathBuf, task: &'static str, expected: &'static str },
    /// A key asks for something other than the model has.
    #[error("{key} = {found}, but the model in {folder} has {own}")]
    Differs { key: String, found: String, own: String, folder: PathBuf },
    /// A context longer than the model has positions for.
    #[error(
        "model.context_length = {context_length} exceeds the {positions} positions of the model in \
         {folder}"
    )]
    TooLong { context_length: usize, positions: usize, folder: PathBuf },
    /// A pair of texts for an encoder with one token type.
    #[error("the encoder in {folder} has one token type: it cannot be given pairs of texts")]
    OneTokenType { folder: PathBuf },
    /// A tokenizer with more tokens than the model has embeddings.
    #[error(
        "the tokenizer has {tokens} tokens, the model in {folder} has embeddings for {embeddings}"
    )]
    Vocabulary { tokens: usize, embeddings: usize, folder: PathBuf, tokenizer: TokenizerOrigin },
    /// A tokenizer whose end token is not the model's.
    #[error(
        "the tokenizer ends a sentence with token {found}, the model in {folder} with {expected}"
    )]
    EndToken { found: u32, expected: u32, folder: PathBuf, tokenizer: TokenizerOrigin },
    /// A tokenizer without a token that the model needs.
    #[error("the tokenizer has no {token} token, which an encoder-decoder needs")]
    MissingToken { token: &'static str },
    /// A multilingual translator that is not told what it translates into.
    #[error(
        "data.target_lang is missing: the translator in {folder} has {} languages", known.len()
    )]
    NoTargetLanguage { folder: PathBuf, known: Vec<String> },
    /// Training without biases, from a model that has some.
    #[error("model.bias = false, but the model in {folder} has biases ({name})")]
    HasBiases { folder: PathBuf, name: String },
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
