//! Slice maths: no tape, no allocation; each forward directly above its backward.
#![allow(clippy::too_many_arguments)]

pub mod activation;
pub mod adam;
pub mod additive;
pub mod attention;
pub mod batch_norm;
pub mod cross_entropy;
pub mod dropout;
pub mod elementwise;
pub mod embedding;
pub mod layer_norm;
pub mod matmul;
pub mod positions;
pub mod recurrent;
pub mod softmax;
