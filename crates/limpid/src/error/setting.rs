//! Errors of settings: keys of a run's configuration and fields of a model's.

use std::path::PathBuf;

/// A setting that is unknown, wrong, without effect or at odds with another.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// No task has this key.
    #[error("unknown key {key}{}", did_you_mean(nearest))]
    Unknown {
        /// The key, such as `train.step`.
        key: String,
        /// The key that is most like it.
        nearest: Option<String>,
    },
    /// The key exists, but changes nothing in this run.
    #[error("{key} has no effect for {task}: {reason}")]
    NoEffect {
        /// The key.
        key: String,
        /// The run's task.
        task: &'static str,
        /// Why, and which key does what was meant, if one does.
        reason: String,
    },
    /// A value of the wrong type, or a name that is not among the possible ones.
    #[error("{key} = {found}: expected {expected}")]
    Invalid {
        /// The key.
        key: String,
        /// The value as it was written.
        found: String,
        /// What is accepted: "a whole number", "one of pre, post".
        expected: String,
    },
    /// A value outside the range that can work.
    #[error("{key} = {found} is out of range: expected {expected}")]
    OutOfRange {
        /// The key.
        key: String,
        /// The value.
        found: String,
        /// The range in words: "a number above 0".
        expected: String,
    },
    /// A key without which a run cannot start.
    #[error("{key} is missing: {needs}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What needs it: "a language model is trained on text".
        needs: &'static str,
    },
    /// Two keys that exclude each other.
    #[error("{key} and {other} are both set: {reason}")]
    Conflict {
        /// One key.
        key: String,
        /// The other.
        other: String,
        /// Why they exclude each other.
        reason: String,
    },
    /// Two values that do not fit together.
    #[error("{key} = {found} does not fit {other} = {bound}: {reason}")]
    Mismatch {
        /// The key whose value should change.
        key: String,
        /// Its value.
        found: String,
        /// The other key.
        other: String,
        /// Its value.
        bound: String,
        /// How the two depend on each other.
        reason: &'static str,
    },
    /// An override that is not of the form `key=value`.
    #[error("'{text}' is not of the form key=value")]
    NotKeyValue {
        /// The override.
        text: String,
    },
    /// A text that is not TOML.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What the parser says.
        message: String,
    },
    /// Another error, at this place of a TOML file.
    #[error("line {line}, column {column}: {source}")]
    At {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The error.
        source: Box<SettingError>,
    },
    /// A path below the data folder, and no data folder was given.
    #[error("{key}: {} is in the data folder, and no data folder is set", path.display())]
    NoDataFolder {
        /// The key.
        key: String,
        /// The path.
        path: PathBuf,
    },
    /// A path that a configuration, which is UTF-8 text, cannot hold.
    #[error("{}: the name is not UTF-8, so a configuration file cannot hold it", path.display())]
    NotUtf8 {
        /// The path.
        path: PathBuf,
    },
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
