//! Kernels on slices of f32: no tape, no allocation; each forward directly above its backward.
//!
//! A kernel gets its outputs first, then its inputs, then what describes them. Each file starts
//! with the formula and the shapes, and is tested against a naive reference in f64 and against
//! finite differences.
//!
//! ```
//! use limpid_tensor::kernels::softmax::softmax_forward;
//!
//! let mut y = [0.0; 4];
//! softmax_forward(&mut y, &[0.0, 0.0, 1.0, f32::NEG_INFINITY], 2);
//! assert_eq!(y, [0.5, 0.5, 1.0, 0.0]);
//! ```
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
pub mod gated;
pub mod kv_format;
pub mod layer_norm;
pub mod matmul;
pub mod positions;
pub mod quantized;
pub mod recurrent;
pub mod right_operand;
pub mod rms_norm;
pub mod rotary;
pub mod softmax;
pub mod value_loss;
