//! Operations on the tape, one file each: check shapes, take memory, call the kernel, record the backward.
//!
//! All are methods of [`crate::tape::Tape`], so a model reads as a list of steps.

mod add;
mod attention;
mod attentive;
mod batch_norm;
mod concat;
mod dropout;
mod embedding;
mod layer_norm;
mod linear;
mod output_loss;
mod positions;
mod recurrent;
mod softmax;
mod sum;

pub use attention::{AttentionPlan, Columns, PaddingMask};
pub use attentive::{AdditiveWeights, SourceStates};
pub use batch_norm::BatchNormParams;
pub use output_loss::LossSpec;
pub use positions::PositionTable;
pub use recurrent::{RecurrentWeights, State};
