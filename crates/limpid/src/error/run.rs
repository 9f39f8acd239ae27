//! Errors of training runs: their folders, their checkpoints, and training that diverges.

use super::Error;
use std::fmt;
use std::path::PathBuf;

/// A training run that cannot start, resume or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A loss or gradient that is infinite or not a number.
    #[error("the {quantity} of step {step} is {value}: training diverged (learning rate {lr:.1e})")]
    Diverged {
        /// What is not finite.
        quantity: Quantity,
        /// The step, counted from 1.
        step: u64,
        /// Its value.
        value: f64,
        /// The learning rate of that step.
        lr: f32,
    },
    /// The micro-batches of a step contain no target.
    #[error("step {step}: its batch has no target token, so there is no loss")]
    EmptyBatch {
        /// The step, counted from 1.
        step: u64,
    },
    /// The validation split contains no target.
    #[error("the validation split has no token that the tokenizer knows")]
    EmptyValidation,
    /// A new run in the folder of another.
    #[error("{} already contains {}", folder.display(), progress.name())]
    FolderInUse {
        /// The folder.
        folder: PathBuf,
        /// How far the run in it is.
        progress: RunProgress,
    },
    /// A folder with files that no run has written.
    #[error("{} contains {entry}, which is not part of a run", folder.display())]
    ForeignFolder {
        /// The folder.
        folder: PathBuf,
        /// The first such entry.
        entry: String,
    },
    /// A run whose saved configuration is missing.
    #[error("{} is missing: the settings of this run are unknown", config.display())]
    ConfigMissing {
        /// Where it should be.
        config: PathBuf,
    },
    /// A folder to resume that holds no run.
    #[error("{} contains no run to resume", folder.display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
    },
    /// Two processes in one folder.
    #[error("another process is training in {}", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// The pretrained model or tokenizer lies in the folder that is to be overwritten.
    #[error(
        "the run would start from {}, which lies inside the folder it overwrites: {}",
        input.display(), folder.display()
    )]
    InputInside {
        /// The model or tokenizer.
        input: PathBuf,
        /// The folder of the run.
        folder: PathBuf,
    },
    /// A finished run whose checkpoints are gone.
    #[error("{} contains a finished run without checkpoints: it cannot be resumed",
            folder.display())]
    FinishedWithoutCheckpoint {
        /// The folder.
        folder: PathBuf,
        /// Whether its model is still there.
        model: ModelPresence,
    },
    /// Settings that differ from those the run started with.
    #[error("cannot resume: {}", join(changes))]
    SettingsChanged {
        /// Every key that differs and may not.
        changes: Vec<SettingChange>,
    },
    /// Another tokenizer than the run started with.
    #[error("cannot resume: {} changed since this run started, so ids have other meanings",
            path.display())]
    TokenizerChanged {
        /// Its file.
        path: PathBuf,
    },
    /// Training files whose content differs from what the run started with.
    #[error("cannot resume: {} changed since this run started", names(files))]
    DataChanged {
        /// The files; empty if their number differs.
        files: Vec<String>,
    },
    /// More steps done than the configuration asks for.
    #[error("the run in {} has completed {done} steps, more than the {steps} requested",
            folder.display())]
    TooManySteps {
        /// The folder.
        folder: PathBuf,
        /// Steps completed.
        done: u64,
        /// Steps requested.
        steps: u64,
    },
    /// All checkpoints are damaged.
    #[error("every checkpoint in {} is damaged: {}", folder.display(), join(problems))]
    AllCheckpointsDamaged {
        /// The folder of the run.
        folder: PathBuf,
        /// What is wrong with each.
        problems: Vec<String>,
    },
    /// A checkpoint that cannot be used.
    #[error("{}: {problem}", path.display())]
    Checkpoint {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        problem: CheckpointProblem,
    },
    /// A folder where a training file is expected.
    #[error("{} is a folder, not a training file", path.display())]
    DataIsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A pipe or device where a file is expected that is read more than once.
    #[error("{} is not a regular file, and training reads its files more than once",
            path.display())]
    DataNotRegular {
        /// The path.
        path: PathBuf,
    },
    /// A pretrained model without a tokenizer.
    #[error("{} has no tokenizer.json", folder.display())]
    TokenizerMissing {
        /// The folder of the model.
        folder: PathBuf,
    },
    /// Not enough free disk space for what the run will write.
    #[error(
        "{} needs about {} of disk space for this run, and {} are free",
        folder.display(), gigabytes(*needed), gigabytes(*free)
    )]
    DiskSpace {
        /// The folder of the run.
        folder: PathBuf,
        /// Bytes the run is going to write.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes of one checkpoint.
        checkpoint: u64,
        /// How many checkpoints exist at the same time.
        checkpoints: u64,
    },
    /// A learning-rate search with too few or too many steps.
    #[error("a learning-rate search of {steps} steps: expected {min} to {max}")]
    LrSearchSteps {
        /// The steps requested.
        steps: u64,
        /// The fewest that give a curve.
        min: u64,
        /// The most that are useful.
        max: u64,
    },
    /// An error in a folder whose previous run was just restored.
    #[error(
        "{source} (the previous run was restored: the run that was to overwrite it ended \
             before its first checkpoint)"
    )]
    AfterRestore {
        /// The error.
        source: Box<Error>,
    },
}

/// What is not finite when training diverges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// The training loss.
    Loss,
    /// The global norm of the gradient.
    GradientNorm,
    /// The validation loss.
    ValidationLoss,
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Quantity::Loss => "loss",
            Quantity::GradientNorm => "gradient norm",
            Quantity::ValidationLoss => "validation loss",
        })
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunProgress {
    /// It can be resumed.
    Unfinished,
    /// All its steps are done, or it stopped early.
    Finished,
}

impl RunProgress {
    fn name(self) -> &'static str {
        match self {
            RunProgress::Unfinished => "a run",
            RunProgress::Finished => "a finished run",
        }
    }
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// The key, such as `train.lr`.
    pub key: String,
    /// Its value when the run started; none if it was not set.
    pub saved: Option<String>,
    /// Its value now.
    pub given: Option<String>,
}

impl fmt::Display for SettingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".into());
        write!(
            f,
            "{} was {} when this run started and is now {}",
            self.key,
            value(&self.saved),
            value(&self.given)
        )
    }
}

/// What is wrong with a checkpoint.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointProblem {
    /// Size or hash differ from the manifest.
    #[error("its content differs from the manifest: damaged or truncated")]
    HashMismatch,
    /// JSON or tensors that cannot be parsed.
    #[error("{reason}")]
    Unreadable {
        /// What the parser says.
        reason: String,
    },
    /// A tensor that is not there.
    #[error("tensor '{name}' is missing: it is of another model or version")]
    MissingTensor {
        /// Its name.
        name: String,
    },
    /// A tensor of another size than the model's.
    #[error("tensor '{name}' has {found} values, the model {expected}")]
    WrongSize {
        /// Its name.
        name: String,
        /// Values in the file.
        found: usize,
        /// Values in the model.
        expected: usize,
    },
    /// A value that is infinite or not a number.
    #[error("value {index} of '{name}' is {value}")]
    NotFinite {
        /// The tensor.
        name: String,
        /// Which of its values.
        index: usize,
        /// The value.
        value: f32,
    },
}

fn join(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn names(files: &[String]) -> String {
    if files.is_empty() { "the list of training files".into() } else { files.join(", ") }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
