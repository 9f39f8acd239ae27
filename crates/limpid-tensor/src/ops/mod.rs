//! Operations on the tape, one file each: check shapes, take memory, call the kernel, record the backward.
//!
//! All are methods of [`crate::tape::Tape`], so a model reads as a list of steps.

mod add;
mod attention;
mod dropout;
mod embedding;
mod layer_norm;
mod linear;
mod output_loss;
mod positions;
mod softmax;
mod sum;

pub use attention::{AttentionPlan, Columns, PaddingMask};
pub use output_loss::LossSpec;
pub use positions::PositionTable;
