//! Errors of training runs: their folders, their checkpoints, divergence, and reports about them.

use super::Error;
use std::fmt;
use std::path::PathBuf;

/// A training run that cannot start, resume or continue. Steps count from 1; space is in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum RunError {
    /// A part to freeze that the model does not have.
    #[error(
        "train.freeze: the model has no part '{pattern}' (it has {})",
        parts.join(", ")
    )]
    NothingToFreeze { pattern: String, parts: Vec<String> },
    /// Every parameter is frozen.
    #[error("train.freeze leaves nothing to train")]
    AllFrozen,
    /// A loss or gradient that is infinite or not a number.
    #[error("the {quantity} of step {step} is {value}: training diverged (learning rate {lr:.1e})")]
    Diverged { quantity: Quantity, step: u64, value: f64, lr: f32 },
    /// The micro-batches of a step contain no target.
    #[error("step {step}: its batch has no target token, so there is no loss")]
    EmptyBatch { step: u64 },
    /// The validation split contains no target.
    #[error("the validation split has no token that the tokenizer knows")]
    EmptyValidation,
    /// A new run in the folder of another.
    #[error("{folder} already contains {progress}")]
    FolderInUse { folder: PathBuf, progress: RunProgress },
    /// A folder with files that no run has written.
    #[error("{folder} contains {entry}, which is not part of a run")]
    ForeignFolder { folder: PathBuf, entry: String },
    /// A run whose saved configuration is missing.
    #[error("{config} is missing: the settings of this run are unknown")]
    ConfigMissing { config: PathBuf },
    /// A folder to resume that holds no run.
    #[error("{folder} contains no run to resume")]
    NoRun { folder: PathBuf },
    /// Two processes in one folder.
    #[error("another process is training in {folder}")]
    Locked { folder: PathBuf },
    /// The pretrained model or tokenizer lies in the folder that is to be overwritten.
    #[error(
        "the run would start from {input}, which lies inside the folder it overwrites: {folder}"
    )]
    InputInside { input: PathBuf, folder: PathBuf },
    /// A finished run whose checkpoints are gone.
    #[error("{folder} contains a finished run without checkpoints: it cannot be resumed")]
    FinishedWithoutCheckpoint { folder: PathBuf, model: ModelPresence },
    /// Settings that differ from those the run started with.
    #[error("cannot resume: {}", join(changes))]
    SettingsChanged { changes: Vec<SettingChange> },
    /// Another tokenizer than the run started with.
    #[error("cannot resume: {path} changed since this run started, so ids have other meanings")]
    TokenizerChanged { path: PathBuf },
    /// Training files with other content than at the start; no `files` if their number differs.
    #[error("cannot resume: {} changed since this run started", names(files))]
    DataChanged { files: Vec<String> },
    /// More steps done than the configuration asks for.
    #[error("the run in {folder} has completed {done} steps, more than the {steps} requested")]
    TooManySteps { folder: PathBuf, done: u64, steps: u64 },
    /// All checkpoints are damaged.
    #[error("every checkpoint in {folder} is damaged: {}", join(problems))]
    AllCheckpointsDamaged { folder: PathBuf, problems: Vec<String> },
    /// A checkpoint that cannot be used.
    #[error("{path}: {problem}")]
    Checkpoint { path: PathBuf, problem: CheckpointProblem },
    /// A folder where a training file is expected.
    #[error("{path} is a folder, not a training file")]
    DataIsFolder { path: PathBuf },
    /// A pipe or device where a file is expected that is read more than once.
    #[error("{path} is not a regular file, and training reads its files more than once")]
    DataNotRegular { path: PathBuf },
    /// A pretrained model without a tokenizer.
    #[error("{folder} has no tokenizer.json")]
    TokenizerMissing { folder: PathBuf },
    /// Not enough free disk space for what the run will write.
    #[error(
        "{folder} needs about {} of disk space for this run, and {} are free",
        size(*needed), size(*free)
    )]
    DiskSpace { folder: PathBuf, needed: u64, free: u64, checkpoint: u64, checkpoints: u64 },
    /// A learning-rate search with too few or too many steps.
    #[error("a learning-rate search of {steps} steps: expected {min} to {max}")]
    LrSearchSteps { steps: u64, min: u64, max: u64 },
    /// An error in a folder whose previous run was just restored.
    #[error(
        "{source} (the previous run was restored: the run that was to overwrite it ended before \
         its first checkpoint)"
    )]
    AfterRestore { source: Box<Error> },
}

/// What is not finite when training diverges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Quantity {
    /// The training loss.
    #[error("loss")]
    Loss,
    /// The global norm of the gradient.
    #[error("gradient norm")]
    GradientNorm,
    /// The validation loss.
    #[error("validation loss")]
    ValidationLoss,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunProgress {
    /// It can be resumed.
    #[error("a run")]
    Unfinished,
    /// All its steps are done, or it stopped early.
    #[error("a finished run")]
    Finished,
}

/// Whether the best model of a run is in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelPresence {
    /// It can be used.
    Present,
    /// It is gone.
    Missing,
}

/// A key whose value differs from that of the run being resumed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} was {} when this run started and is now {}", value(saved), value(given))]
pub struct SettingChange {
    /// The key, such as `train.lr`.
    pub key: String,
    /// Its value when the run started; none if it was not set.
    pub saved: Option<String>,
    /// Its value now.
    pub given: Option<String>,
}

fn value(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("not set")
}

/// What is wrong with a checkpoint.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum CheckpointProblem {
    /// Size or hash differ from the manifest.
    #[error("its content differs from the manifest: damaged or truncated")]
    HashMismatch,
    /// JSON or tensors that cannot be parsed.
    #[error("{reason}")]
    Unreadable { reason: String },
    /// A tensor that is not there.
    #[error("tensor '{name}' is missing: it is of another model or version")]
    MissingTensor { name: String },
    /// A tensor of another size than the model's.
    #[error("tensor '{name}' has {found} values, the model {expected}")]
    WrongSize { name: String, found: usize, expected: usize },
    /// A value that is infinite or not a number.
    #[error("value {index} of '{name}' is {value}")]
    NotFinite { name: String, index: usize, value: f32 },
}

fn join(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn names(files: &[String]) -> String {
    if files.is_empty() { "the list of training files".into() } else { files.join(", ") }
}

fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes < 1e8 => format!("{:.0} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    }
}

/// A run folder or a chart that cannot be shown. Lines count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum ReportError {
    /// A folder without `metrics.jsonl`: not a run folder.
    #[error("{folder} has no metrics.jsonl: not a run folder")]
    NotARun { folder: PathBuf },
    /// A line of `metrics.jsonl` that is not a metric.
    #[error("{path}: line {line}: {reason}")]
    Metric { path: PathBuf, line: usize, reason: String },
    /// A file of a run folder that is not what it should be.
    #[error("{path}: {reason}")]
    File { path: PathBuf, reason: String },
    /// A description of a chart that is not one.
    #[error("{path}: not a chart: {reason}")]
    Chart { path: PathBuf, reason: String },
}
