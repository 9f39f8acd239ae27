//! Errors of data: text files, tables, splits, batches, token caches, datasets.

use super::join_paths;
use std::path::PathBuf;

/// Data that cannot be read, split or batched. Lines, and bytes of a line, count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum DataError {
    /// A folder where a text file was expected.
    #[error("{path} is a folder, not a text file")]
    NotAFile { path: PathBuf },
    /// A zero byte: a binary file.
    #[error("{path}: line {line} contains a zero byte: not a text file")]
    ZeroByte { path: PathBuf, line: usize },
    /// Bytes that are not UTF-8.
    #[error("{path}: line {line} is not UTF-8 (byte {byte})")]
    NotUtf8 { path: PathBuf, line: usize, byte: usize },
    /// Files without a single example.
    #[error("{}: no {what} found", join_paths(files))]
    NoExamples { files: Vec<PathBuf>, what: &'static str },
    /// An example without a label.
    #[error("{path}: line {line} has no label")]
    NoLabel { path: PathBuf, line: u64 },
    /// A label that the model was not trained with.
    #[error("{path}: line {line}: label '{label}' was not seen in training")]
    UnknownLabel { path: PathBuf, line: u64, label: String, known: Vec<String> },
    /// Two parallel files of different lengths.
    #[error(
        "{source_path} has {source_lines} lines, {target_path} has {target_lines}: parallel files \
         must have the same number of lines"
    )]
    UnequalLines {
        source_path: PathBuf,
        source_lines: usize,
        target_path: PathBuf,
        target_lines: usize,
    },
    /// The name of a table format that does not exist.
    #[error("'{name}' is not a table format")]
    UnknownFormat { name: String },
    /// A file name that does not tell the table format.
    #[error("{path}: the table format cannot be told from the file name")]
    AmbiguousFormat { path: PathBuf },
    /// A question of a SQuAD file that cannot be used.
    #[error("{path}: question {number}: {problem}")]
    Question { path: PathBuf, number: usize, problem: RowError },
    /// A row of a table that cannot be read.
    #[error("{path}: line {line}: {problem}")]
    Row { path: PathBuf, line: u64, problem: RowError },
    /// A column that the table does not have, or that is not unique.
    #[error("{path}: {problem}")]
    Column { path: PathBuf, problem: ColumnError },
    /// A validation fraction outside (0, 1).
    #[error("a validation fraction of {fraction} is not between 0 and 1")]
    ValidationFraction { fraction: f64 },
    /// Too few examples for a training and a validation split.
    #[error("{count} {unit} cannot be split into training and validation")]
    TooFewToSplit { count: usize, unit: &'static str },
    /// No examples to make batches of.
    #[error("there are no training examples")]
    NoTrainingExamples,
    /// An example that is longer than a batch.
    #[error("an example of {tokens} tokens exceeds the batch size of {batch_tokens} tokens")]
    ExampleExceedsBatch { tokens: usize, batch_tokens: usize },
    /// A text shorter than one training window.
    #[error("the text has {tokens} tokens, too few for a context of {context}")]
    TextShorterThanContext { tokens: usize, context: usize },
    /// A token cache that is not what was written.
    #[error("{path}: damaged token cache: {reason}")]
    DamagedCache { path: PathBuf, reason: String },
    /// More than a token cache can hold.
    #[error("{count} {what} exceed the {limit} that a token cache can hold")]
    CacheLimit { count: usize, what: &'static str, limit: u32 },
}

/// What is wrong with a row of a table. Columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum RowError {
    /// A label-first row without a space.
    #[error("no space between a label and a text")]
    NoSpace,
    /// Not a JSON value.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON Lines has keys, not column numbers.
    #[error("JSON Lines has no numbered columns")]
    NumberedKey,
    /// A JSON value that is no object.
    #[error("not a JSON object")]
    NotAnObject,
    /// An object without the key; `found` are the first it has.
    #[error("no key \"{key}\"")]
    NoKey { key: String, found: Vec<String> },
    /// A JSON value that is neither text nor number.
    #[error("\"{key}\" is neither a string nor a number")]
    NotText { key: String },
    /// A row with fewer columns than were asked for.
    #[error("{found} columns, but column {wanted} was requested")]
    TooFewColumns { found: usize, wanted: usize },
    /// A CSV row with more fields than the first one.
    #[error("{found} fields, but the first line has {expected}")]
    TooManyFields { found: usize, expected: usize },
    /// A quoted CSV field without an end.
    #[error("a quotation mark opens and is never closed")]
    UnclosedQuote,
    /// Text after the closing quotation mark of a CSV field, which may be opened in another line.
    #[error(
        "text after the quotation mark that closes a field{}",
        .opened_in.map_or(String::new(), |line| format!(" (opened in line {line})"))
    )]
    TextAfterQuote { opened_in: Option<usize> },
    /// A space before the opening quotation mark of a CSV field.
    #[error("a space before the quotation mark that opens a field")]
    SpaceBeforeQuote,
    /// Anything else that the CSV reader refuses.
    #[error("not CSV: {0}")]
    NotCsv(String),
    /// The label of a regression that is not a finite number.
    #[error("label '{label}' is not a number")]
    NotANumber { label: String },
    /// Several labels that are not an array of strings or numbers.
    #[error("labels {labels} are not an array of strings")]
    NotLabels { labels: String },
    /// A text without a single token.
    #[error("the text has no tokens")]
    NoTokens,
    /// A value that must be a list of strings.
    #[error("\"{key}\" is not a list")]
    NotAList { key: String },
    /// A value that must be a number of characters.
    #[error("\"{key}\" is not a number of characters")]
    NotAPlace { key: String },
    /// Lists of words and of labels that do not fit.
    #[error("{words} words and {labels} labels")]
    UnequalLists { words: usize, labels: usize },
    /// A word of nothing but spaces, by its number from 1.
    #[error("word {number} is empty")]
    EmptyWord { number: usize },
    /// A word without a label, by its number from 1.
    #[error("word {number} has no label")]
    EmptyLabel { number: usize },
    /// An answer that the context does not have at its place.
    #[error("answer '{answer}' is not at character {start} of the context")]
    AnswerNotThere { answer: String, start: usize },
}

/// What is wrong with a requested column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum ColumnError {
    /// Column 0.
    #[error("columns are numbered from 1")]
    Zero,
    /// A name that no column has.
    #[error("no column \"{name}\"")]
    Missing { name: String, header: Vec<String> },
    /// A name that several columns have.
    #[error("several columns are named \"{name}\"")]
    Ambiguous { name: String },
    /// A name, but no header.
    #[error("column \"{name}\" was requested by name, but the file has no header")]
    NoHeader { name: String },
}

/// A dataset that a model cannot be trained on. Pairs count from 1.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum DatasetError {
    /// A classifier needs at least two labels.
    #[error("every example has the label {label}: a classifier needs at least two labels")]
    OneLabel { label: String },
    /// A question that leaves no room for a context.
    #[error(
        "the question '{question}' has {tokens} tokens: with a stride of {stride} it leaves no \
         room for a context in {context} tokens"
    )]
    QuestionTooLong { question: String, tokens: usize, stride: usize, context: usize },
    /// No sequences for a split: "lines", "windows" or "pairs".
    #[error("the {split} split has no {unit}")]
    Empty { split: SplitName, unit: String },
    /// A training text shorter than one window.
    #[error("{found} training tokens are too few for a context of {context}")]
    TooShort { found: usize, context: usize },
    /// A validation text of fewer than two tokens; no `files` if it is part of the training text.
    #[error("{}{found} validation tokens are too few to predict one from another", before(files))]
    ValidationTooShort { files: Vec<PathBuf>, found: usize },
    /// All pairs exceed the length limit.
    #[error("no training pair is left: all {pairs} exceed {limit} tokens on a side")]
    AllTooLong { pairs: usize, limit: usize, key: &'static str },
    /// A pair that is longer than the model's maximum.
    #[error(
        "the {side} of pair {pair} has {tokens} tokens, which exceed the model's maximum of {max}"
    )]
    PairTooLong { side: &'static str, pair: usize, tokens: usize, max: usize },
    /// A pair with a token id outside the model's vocabulary.
    #[error("the {side} of pair {pair} has token id {id}, the model's vocabulary has {vocab_size}")]
    IdOutOfRange { side: &'static str, pair: usize, id: u32, vocab_size: usize },
}

/// A split of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitName {
    /// Training examples.
    #[error("training")]
    Train,
    /// Held-out examples.
    #[error("validation")]
    Validation,
}

fn before(files: &[PathBuf]) -> String {
    if files.is_empty() { String::new() } else { format!("{}: ", join_paths(files)) }
}
