//! Slice maths: no tape, no allocation; each forward directly above its backward.
#![allow(clippy::too_many_arguments)]

pub mod activation;
pub mod elementwise;
pub mod layer_norm;
pub mod matmul;
