//! What a run noticed and survived: damage that was repaired, and settings without effect.

use crate::error::Error;
use std::path::PathBuf;

/// Something that a run noticed and survived.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunWarning {
    /// A damaged cache of token ids.
    #[error("{source}; it is rebuilt from the text")]
    CacheRebuilt {
        /// What is wrong with it.
        source: Error,
    },
    /// A damaged tokenizer of the run.
    #[error("{source}; it is made again")]
    TokenizerRebuilt {
        /// What is wrong with it.
        source: Error,
    },
    /// A damaged checkpoint that is newer than the one resumed from.
    #[error("{source}; an older checkpoint is used, and this one is renamed")]
    CheckpointSkipped {
        /// What is wrong with it.
        source: Error,
    },
    /// A run that trained before, and has no checkpoint.
    #[error("{} has no checkpoint: the run starts again", folder.display())]
    NoCheckpoint {
        /// The folder of the run.
        folder: PathBuf,
    },
    /// Lines of `metrics.jsonl` that a checkpoint knows of are gone.
    #[error(
        "{}: {loss}; curves will lack what is lost, the weights are complete", path.display()
    )]
    MetricsLost {
        /// The file.
        path: PathBuf,
        /// How much is gone.
        loss: MetricsLoss,
    },
    /// A run that was to be overwritten is back, because its successor never saved a checkpoint.
    #[error(
        "the previous run was restored: the run that was to overwrite it ended before its first \
         checkpoint"
    )]
    Restored,
    /// Something about the pretrained model.
    #[error("{message}")]
    Pretrained {
        /// What.
        message: String,
    },
    /// Files beside the best weights that were damaged.
    #[error("{problem}; the files beside the weights are written again")]
    ModelRepaired {
        /// What was wrong.
        problem: String,
    },
    /// The best weights so far are gone or unusable.
    #[error(
        "{reason}: the best weights so far (of step {step}) are lost, the best from now on are \
         saved"
    )]
    BestModelLost {
        /// Why.
        reason: String,
        /// The step they were of.
        step: u64,
    },
    /// The saved weights are not the best ones that the run knows of.
    #[error(
        "the weights in {} are not those of step {step}, but of another moment of this run; they \
         are kept, with a validation loss of {loss:.4}", folder.display()
    )]
    OtherWeights {
        /// The folder of the model.
        folder: PathBuf,
        /// The best step.
        step: u64,
        /// The validation loss of the weights that are there.
        loss: f64,
    },
    /// A damaged checkpoint.
    #[error("{source}; it is left out of the average")]
    NotInAverage {
        /// What is wrong with it.
        source: Error,
    },
    /// Too few checkpoints to average.
    #[error("no checkpoints are averaged: {wanted} are needed, and there are {found} regular ones")]
    NothingAveraged {
        /// How many the configuration asks for.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
}

/// How much of `metrics.jsonl` is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricsLoss {
    /// Lines that cannot be parsed are removed.
    #[error("{unreadable} of its {of} lines cannot be read and are removed")]
    Lines {
        /// How many.
        unreadable: usize,
        /// Of how many.
        of: usize,
    },
    /// The file is shorter than it was.
    #[error("it has {found} of the {written} bytes that were written")]
    Bytes {
        /// Its length now.
        found: u64,
        /// Its length when the checkpoint was saved.
        written: u64,
    },
}
