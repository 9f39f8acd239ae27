//! Training: from a dataset to a better model.
//!
//! ```
//! use limpid::model::{Model, config::DecoderConfig};
//! use limpid::optim::{AdamConfig, LearningRate, Schedule};
//! use limpid::train::dataset::{Batching, InMemoryDataset};
//! use limpid::train::{Control, Outcome, Trainer, TrainerConfig};
//!
//! // A language model that is to count: 0 1 2 3 0 1 2 3 …
//! let sequences = vec![vec![0, 1, 2, 3, 0, 1, 2, 3]; 4];
//! let model = Model::new(&DecoderConfig::gpt2(4, 8, 1, 1, 8), 1)?;
//! let dataset = InMemoryDataset::language_model(&sequences, Batching { tokens: 16, seed: 1 })?;
//! let schedule = Schedule::Constant;
//! let lr = LearningRate { schedule, peak: 0.02, floor: 0.0, warmup: 0, total: 50 };
//! let mut trainer = Trainer::new(model, dataset, TrainerConfig::new(lr, 1));
//!
//! let mut losses = Vec::new();
//! let outcome = trainer.train(|_, step| {
//!     losses.push(step.loss);
//!     Ok(Control::Continue) // or Control::Stop
//! })?;
//! assert_eq!(outcome, Outcome::Completed);
//! assert!(losses[49] < 0.5 * losses[0]);
//! let model = trainer.into_model();
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`Trainer`] | the training loop: steps, callbacks |
//! | [`dataset`] | micro-batches as a function of seed and step |
//! | [`setup::open`], [`Run`] | a run in a folder: settings, metrics, validation, checkpoints |
//! | [`setup::open_in`] | the same on several processes ([`crate::distributed`]) |
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
mod trained;
mod trainer;
mod vocabulary;
mod warning;

pub use config::{RunConfig, TaskKind};
pub use dataset::{Batch, Dataset, Examples, RunDataset};
pub use evaluate::{ScoredSplit, TestScores};
pub use run::{OnEvent, Run, TrainEvent};
pub use trainer::{Control, Outcome, StepReport, Trainer, TrainerConfig};
pub use warning::{MetricsLoss, RunWarning};
