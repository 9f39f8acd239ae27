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

mod chat;
mod config;
mod data;
mod distributed;
mod gguf;
mod inference;
mod model;
mod run;
mod sentencepiece;
mod tokenizer;

pub use chat::{ChatError, TemplateLimit};
pub use config::{
    MemoryRemedy, ModelConfigError, PlanError, PretrainedError, SettingError, TokenizerOrigin,
};
pub use data::{ColumnError, DataError, DatasetError, RowError, SplitName};
pub use distributed::DistributedError;
pub use gguf::GgufProblem;
pub use inference::{
    EncodeError, EvalError, GenerationError, InputProblem, InspectError, PipelineError, Task,
};
pub use model::{KeyScope, ModelError, Tying, WeightFormat};
pub use run::{
    CheckpointProblem, ModelPresence, Quantity, ReportError, RunError, RunProgress, SettingChange,
};
pub use sentencepiece::SentencePieceProblem;
pub use tokenizer::{TokenPurpose, TokenizerError, VocabContent};

use std::path::{Path, PathBuf};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong outside the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
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
    /// Chat templates.
    #[error(transparent)]
    Chat(#[from] ChatError),
    /// Embedding, mask filling and classification.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A number that cannot be explained.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// A model that was made for another task.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A training run: its folder, its checkpoints, divergence.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A dataset that a model cannot be trained on.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// Processes that cannot train together.
    #[error(transparent)]
    Distributed(#[from] DistributedError),
    /// Another error, found in this file.
    #[error("{path}: {source}")]
    InFile { path: PathBuf, source: Box<Error> },
    /// A callback asked to stop.
    #[error("stopped by the caller")]
    Interrupted,
}

impl Error {
    /// A file that could not be read or written: `action` is "read", "write", …
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        FileError::Io { action, path: path.to_path_buf(), source }.into()
    }

    /// The same error, found in this file.
    pub fn in_file(self, path: &Path) -> Self {
        Error::InFile { path: path.to_path_buf(), source: Box::new(self) }
    }
}

/// A file or folder that cannot be read, written or created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum FileError {
    /// The system refused the `action`: "read", "write", …
    #[error("cannot {action} {path}: {source}")]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    /// A pointer of git-LFS stands where the file should be.
    #[error("{path} is a git-LFS pointer, not the file itself")]
    GitLfsPointer { path: PathBuf },
    /// A file would be overwritten that holds something of another kind.
    #[error("{path} exists and holds something else: it is not overwritten")]
    Occupied { path: PathBuf },
    /// A file is to be written whose folder does not exist.
    #[error("{path} cannot be written: its folder does not exist")]
    NoFolder { path: PathBuf },
    /// A file is to be written where a folder is.
    #[error("{path} cannot be written: it is a folder")]
    IsFolder { path: PathBuf },
    /// A folder is to be written that holds something already.
    #[error("{path} is not empty: it is not overwritten")]
    NotEmpty { path: PathBuf },
    /// A folder is to be created where a file is.
    #[error("{path} cannot be created as a folder: it is a file")]
    IsFile { path: PathBuf },
}

/// Paths as a message lists them.
fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { "no file".into() } else { paths.join(", ") }
}

/// "a, b or c".
fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing".into(),
        [one] => (*one).into(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
