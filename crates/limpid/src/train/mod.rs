//! Training: from a dataset to a better model.
//!
//! | | |
//! |---|---|
//! | [`Trainer`] | the training loop: steps, callbacks; an example |
//! | [`dataset`] | micro-batches as a function of seed and step |
//! | [`setup::open`], [`Run`] | a run in a folder: settings, metrics, validation, checkpoints |
//! | [`checkpoint`] | saving and restoring a run |
//! | [`evaluate`] | loss, metrics and scores on held-out examples |
//! | [`lr_finder`] | a suggestion for the learning rate |
//! | [`config`], [`plan`] | what a run is, and what it needs |

pub mod checkpoint;
pub mod config;
pub mod dataset;
mod disk;
pub mod evaluate;
mod freeze;
pub mod lr_finder;
mod metrics;
pub mod plan;
mod pretrained;
mod run;
mod run_folder;
pub mod setup;
mod trainer;
mod vocabulary;
mod warning;

pub use config::{RunConfig, TaskKind};
pub use dataset::{Batch, Dataset, Examples, RunDataset};
pub use evaluate::{ScoredSplit, TestScores};
pub use run::{OnEvent, Run, TrainEvent};
pub use trainer::{Control, Outcome, StepReport, Trainer, TrainerConfig};
pub use warning::{MetricsLoss, RunWarning};
