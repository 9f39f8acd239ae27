//! Optimization: gradients of micro-batches, clipping, AdamW and learning-rate schedules.

mod adam;
mod optimizer;
mod schedule;

pub use adam::{Adam, AdamConfig};
pub use optimizer::{Activations, Optimizer, StepOutput};
pub use schedule::{LearningRate, Schedule};
