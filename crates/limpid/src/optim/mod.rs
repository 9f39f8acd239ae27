//! From gradients to new weights: clipping, Adam, and how the learning rate goes.

mod adam;
mod schedule;

pub use adam::{Adam, AdamConfig};
pub use schedule::{Rate, Schedule};
