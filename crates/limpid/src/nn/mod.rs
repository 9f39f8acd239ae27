//! Layers: the parameters they declare, and their forward pass.
//!
//! A layer declares its parameters in a [`ParamsBuilder`] under a dotted path that its stack
//! chooses (`layers.0.ffn.up.weight`). How files name and store them is the business of
//! [`crate::hub`].
//!
//! ```
//! use limpid::nn::Linear;
//! use limpid_tensor::kernels::activation::Activation;
//! use limpid_tensor::params::{Init, Params};
//! use limpid_tensor::tape::{Tape, Var};
//! use limpid_tensor::tensor::Tensor;
//!
//! let mut builder = Params::builder();
//! let layer = Linear::new(&mut builder, "up", [8, 4], Init::Xavier);
//! let params = builder.build(0);
//! let mut tape = Tape::inference(&params);
//! let y = layer.forward(&mut tape, &Var::constant(Tensor::zeros([2, 4])), Activation::Relu);
//! assert_eq!(y.rows_cols(), (2, 8));
//! ```
//!
//! [`ParamsBuilder`]: limpid_tensor::params::ParamsBuilder

mod attention;
mod cache;
mod layer;
mod layers;
mod named;
mod options;
mod positions;
mod rotary;
mod stream;

pub use attention::{CrossAttention, Relations, SelfAttention};
pub use cache::{CachedPast, CachedSource, KvCache};
pub use layer::{LayerConfig, LayerInit, LayerKind, Layers, Memory, Source};
pub use layers::{FeedForward, Linear, Norm};
pub use named::Named;
pub(crate) use named::named;
pub use options::{
    AttentionOptions, Bias, Block, FeedForwardKind, FirstNorm, HeadNorm, LayerOptions,
    LayerVariant, NormPlacement, Normalization, Positions, RelativeOptions, Residual, Scaling,
    Windows,
};
pub use positions::PositionEncoding;
pub use rotary::{RopeScaling, RotaryOptions};
use stream::Stream;
