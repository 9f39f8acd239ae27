//! Errors of training and evaluation data: text files, tables, splits, batches, token caches.

use super::file::join_paths;
use std::path::PathBuf;

/// Data that cannot be read, split or batched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A folder where a text file was expected.
    #[error("{} is a folder, not a text file", path.display())]
    NotAFile {
        /// The folder.
        path: PathBuf,
    },
    /// A zero byte: a binary file.
    #[error("{}: line {line} contains a zero byte: not a text file", path.display())]
    ZeroByte {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Bytes that are not UTF-8.
    #[error("{}: line {line} is not UTF-8 (byte {byte})", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The first bad byte in that line, from 1.
        byte: usize,
    },
    /// Files without a single example.
    #[error("{}: no {what} found", join_paths(files))]
    NoExamples {
        /// The files.
        files: Vec<PathBuf>,
        /// What was looked for: "examples", "pairs", "lines".
        what: &'static str,
    },
    /// An example without a label.
    #[error("{}: line {line} has no label", path.display())]
    NoLabel {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// A label that the model was not trained with.
    #[error("{}: line {line}: label '{label}' was not seen in training", path.display())]
    UnknownLabel {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The label.
        label: String,
        /// The labels of the model.
        known: Vec<String>,
    },
    /// Two parallel files of different lengths.
    #[error(
        "{} has {source_lines} lines, {} has {target_lines}: parallel files must have the same \
         number of lines",
        source_path.display(), target_path.display()
    )]
    UnequalLines {
        /// The source side.
        source_path: PathBuf,
        /// Its lines.
        source_lines: usize,
        /// The target side.
        target_path: PathBuf,
        /// Its lines.
        target_lines: usize,
    },
    /// The name of a table format that does not exist.
    #[error("'{name}' is not a table format")]
    UnknownFormat {
        /// The name.
        name: String,
    },
    /// A file name that does not tell the table format.
    #[error("{}: the table format cannot be told from the file name", path.display())]
    AmbiguousFormat {
        /// The file.
        path: PathBuf,
    },
    /// A row of a table that cannot be read.
    #[error("{}: line {line}: {problem}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: RowError,
    },
    /// A column that the table does not have, or that is not unique.
    #[error("{}: {problem}", path.display())]
    Column {
        /// The file.
        path: PathBuf,
        /// What is wrong with the column.
        problem: ColumnError,
    },
    /// A validation fraction outside (0, 1).
    #[error("a validation fraction of {fraction} is not between 0 and 1")]
    ValidationFraction {
        /// The fraction.
        fraction: f64,
    },
    /// Too few examples for a training and a validation split.
    #[error("{count} {unit} cannot be split into training and validation")]
    TooFewToSplit {
        /// How many there are.
        count: usize,
        /// Of what: "examples", "tokens".
        unit: &'static str,
    },
    /// No examples to make batches of.
    #[error("there are no training examples")]
    NoTrainingExamples,
    /// An example that is longer than a batch.
    #[error("an example of {tokens} tokens exceeds the batch size of {batch_tokens} tokens")]
    ExampleExceedsBatch {
        /// The tokens of the longest example.
        tokens: usize,
        /// The tokens of a batch.
        batch_tokens: usize,
    },
    /// A text shorter than one training window.
    #[error("the text has {tokens} tokens, too few for a context of {context}")]
    TextShorterThanContext {
        /// The tokens of the text.
        tokens: usize,
        /// The tokens of a window.
        context: usize,
    },
    /// A token cache that is not what was written.
    #[error("{}: damaged token cache: {reason}", path.display())]
    DamagedCache {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// More than a token cache can hold.
    #[error("{count} {what} exceed the {limit} that a token cache can hold")]
    CacheLimit {
        /// How many there are.
        count: usize,
        /// Of what: "sequences", "examples", "tokens of a text".
        what: &'static str,
        /// The most there may be.
        limit: u32,
    },
}

/// What is wrong with a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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
    /// An object without the key.
    #[error("no key \"{key}\"")]
    NoKey {
        /// The key.
        key: String,
        /// The first keys that the object has.
        found: Vec<String>,
    },
    /// A JSON value that is neither text nor number.
    #[error("\"{key}\" is neither a string nor a number")]
    NotText {
        /// The key.
        key: String,
    },
    /// A row with fewer columns than were asked for.
    #[error("{found} columns, but column {wanted} was requested")]
    TooFewColumns {
        /// The columns of the row.
        found: usize,
        /// The column, from 1.
        wanted: usize,
    },
    /// A CSV row with more fields than the first one.
    #[error("{found} fields, but the first line has {expected}")]
    TooManyFields {
        /// The fields of the row.
        found: usize,
        /// The fields of the first row.
        expected: usize,
    },
    /// A quoted CSV field without an end.
    #[error("a quotation mark opens and is never closed")]
    UnclosedQuote,
    /// Text after the closing quotation mark of a CSV field.
    #[error(
        "text after the quotation mark that closes a field{}",
        .opened_in.map_or(String::new(), |line| format!(" (opened in line {line})"))
    )]
    TextAfterQuote {
        /// The line of the opening mark, if it is another one.
        opened_in: Option<usize>,
    },
    /// A space before the opening quotation mark of a CSV field.
    #[error("a space before the quotation mark that opens a field")]
    SpaceBeforeQuote,
    /// Anything else that the CSV reader refuses.
    #[error("not CSV: {0}")]
    NotCsv(String),
}

/// What is wrong with a requested column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// Column 0.
    #[error("columns are numbered from 1")]
    Zero,
    /// A name that no column has.
    #[error("no column \"{name}\"")]
    Missing {
        /// The name.
        name: String,
        /// The names in the header.
        header: Vec<String>,
    },
    /// A name that several columns have.
    #[error("several columns are named \"{name}\"")]
    Ambiguous {
        /// The name.
        name: String,
    },
    /// A name, but no header.
    #[error("column \"{name}\" was requested by name, but the file has no header")]
    NoHeader {
        /// The name.
        name: String,
    },
}
