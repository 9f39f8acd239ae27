//! Errors: what was found, what was expected, and where.
//!
//! [`Error`] is one enum over the parts of the library; each part has an enum of its own with
//! fields, so that a program can tell cases apart and a person can read them. They say nothing of
//! command lines: what to type about an error is decided by whoever shows it.
//!
//! ```
//! use limpid::error::{Error, FileError};
//!
//! let error = limpid::hub::load("no/such/folder".as_ref()).err().unwrap();
//! assert!(error.to_string().contains("no/such/folder"));
//! assert!(!matches!(error, Error::File(FileError::Io { .. })));
//! ```
//!
//! Mistakes in calls between functions of one program are not here: those panic.

mod data;
mod dataset;
mod encode;
mod eval;
mod file;
mod generation;
mod model;
mod model_config;
mod pipeline;
mod plan;
mod pretrained;
mod report;
mod run;
mod sentencepiece;
mod setting;
mod tokenizer;

pub use data::{ColumnError, DataError, RowError};
pub use dataset::{DatasetError, SplitName};
pub use encode::{EncodeError, InputProblem};
pub use eval::EvalError;
pub use file::FileError;
pub use generation::GenerationError;
pub use model::{KeyScope, ModelError, Tying};
pub use model_config::ModelConfigError;
pub use pipeline::{PipelineError, Task};
pub use plan::{MemoryRemedy, PlanError};
pub use pretrained::{PretrainedError, TokenizerOrigin};
pub use report::ReportError;
pub use run::{CheckpointProblem, ModelPresence, Quantity, RunError, RunProgress, SettingChange};
pub use sentencepiece::SentencePieceProblem;
pub use setting::SettingError;
pub use tokenizer::{TokenPurpose, TokenizerError, VocabContent};

use std::fmt;
use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong outside the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading, writing or creating a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key of a configuration.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A pretrained model that does not fit the run.
    #[error(transparent)]
    Pretrained(#[from] PretrainedError),
    /// A run that needs more than there is.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A model folder.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A configuration of a model.
    #[error(transparent)]
    ModelConfig(#[from] ModelConfigError),
    /// Text files, tables, splits, batches and token caches.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Scoring and evaluation.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// Run folders and charts.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// Tokenizers and their training.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Generating text.
    #[error(transparent)]
    Generation(#[from] GenerationError),
    /// Embedding, mask filling and classification.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A model that was made for another task.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A training run: its folder, its checkpoints, divergence.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A dataset that a model cannot be trained on.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Another error, found in this file.
    #[error("{}: {source}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        source: Box<Error>,
    },
    /// A callback asked to stop.
    #[error("stopped by the caller")]
    Interrupted,
    /// An error that has no variant of its own yet.
    #[error("{message}")]
    #[doc(hidden)]
    Message {
        /// Which part of the outside world is to blame.
        kind: ErrorKind,
        /// What was found, expected and where.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// Which part of the outside world is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(hidden)]
pub enum ErrorKind {
    /// A setting, or a combination of settings, that cannot work.
    Config,
    /// Reading or writing a file.
    Io,
    /// A file whose content is not what it should be.
    Format,
    /// Text or ids that cannot be used.
    Data,
    /// Numbers that are no longer numbers: a loss that is infinite or NaN.
    Numeric,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error::Message { kind, message: message.into(), hint: None }
    }

    /// A setting that cannot work.
    #[doc(hidden)]
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// A file whose content is wrong.
    #[doc(hidden)]
    pub fn format(path: &Path, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Format, format!("{}: {message}", path.display()))
    }

    /// Text or ids that cannot be used.
    #[doc(hidden)]
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// Numbers that are no longer numbers.
    #[doc(hidden)]
    pub fn numeric(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Numeric, message)
    }

    /// A file that could not be read or written: `action` is "read", "write", …
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        FileError::Io { action, path: path.to_path_buf(), source }.into()
    }

    /// The same error, found in this file.
    pub fn in_file(self, path: &Path) -> Self {
        Error::InFile { path: path.to_path_buf(), source: Box::new(self) }
    }

    /// Says what to do about it.
    #[doc(hidden)]
    pub fn hint(self, text: impl Into<String>) -> Self {
        match self {
            Error::Message { kind, message, .. } => {
                Error::Message { kind, message, hint: Some(text.into()) }
            }
            other => Error::Message {
                kind: other.kind(),
                message: other.to_string(),
                hint: Some(text.into()),
            },
        }
    }

    /// Which part of the outside world is to blame.
    #[doc(hidden)]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::File(_) => ErrorKind::Io,
            Error::Setting(_) | Error::Pretrained(_) | Error::Plan(_) => ErrorKind::Config,
            Error::Model(_) => ErrorKind::Format,
            Error::ModelConfig(_) => ErrorKind::Config,
            Error::Generation(_) | Error::Encode(_) | Error::Pipeline(_) => ErrorKind::Config,
            Error::Run(_) | Error::Dataset(_) => ErrorKind::Data,
            Error::Data(_) | Error::Eval(_) | Error::Tokenizer(_) => ErrorKind::Data,
            Error::InFile { .. } | Error::Report(_) => ErrorKind::Format,
            Error::Interrupted => ErrorKind::Data,
            Error::Message { kind, .. } => *kind,
        }
    }

    /// What to do about it.
    #[doc(hidden)]
    pub fn hint_text(&self) -> Option<&str> {
        match self {
            Error::Message { hint, .. } => hint.as_deref(),
            Error::InFile { source, .. } => source.hint_text(),
            _ => None,
        }
    }
}
