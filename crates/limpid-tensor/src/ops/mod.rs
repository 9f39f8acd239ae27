//! Operations on the tape, one file each: check shapes, allocate the output, call the kernel,
//! record the backward pass.
//!
//! All are methods of [`crate::tape::Tape`], so the forward pass of a model reads as a list of
//! calls:
//!
//! ```
//! use limpid_tensor::params::Params;
//! use limpid_tensor::tape::{Tape, Var};
//! use limpid_tensor::tensor::Tensor;
//!
//! let params = Params::builder().build(0);
//! let mut tape = Tape::inference(&params);
//! let x = Var::constant(Tensor::new([1, 2], &[1.0, -1.0]));
//! let doubled = tape.add(&x, &x);
//! assert_eq!(tape.scale(&doubled, 0.5).data(), x.data());
//! ```

mod add;
mod attention;
mod attention_weights;
mod batch_norm;
mod cached_attention;
mod concat;
mod dropout;
mod embedding;
mod gated;
mod layer_norm;
mod linear;
mod lora;
mod output_loss;
mod positions;
mod recurrent;
mod recurrent_attention;
mod relative_bias;
mod rms_norm;
mod rotary;
mod softmax;
mod span_loss;
mod span_mean;
mod sum;

pub use attention::{AttentionPlan, Columns, PaddingMask};
pub use attention_weights::AttentionWeights;
pub use batch_norm::BatchNormParams;
pub use cached_attention::{CachedData, CachedRows};
pub use output_loss::LossSpec;
pub use positions::PositionTable;
pub use recurrent::{RecurrentState, RecurrentWeights};
pub use recurrent_attention::{AdditiveWeights, SourceStates};
pub use relative_bias::{BucketRange, Buckets, RelativeBias};
pub use rms_norm::{HeadNormParams, RmsNormParams};
