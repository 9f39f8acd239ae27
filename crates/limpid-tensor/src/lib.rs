//! The numbers of Limpid: tensors, a light tape, and fused operations, each with its derivative beside it.
//!
//! The only crate of the workspace with `unsafe` code, and with hardly a dependency (`memmap2`; on Linux `libc`).
//!
//! ```
//! use limpid_tensor::kernels::activation::Activation;
//! use limpid_tensor::params::{Init, Params};
//! use limpid_tensor::tape::{Gradients, Tape, Var};
//! use limpid_tensor::tensor::Tensor;
//!
//! // A linear layer from two numbers to one: W (1, 2) of ones, b (1) of zeros.
//! let mut builder = Params::builder();
//! let w = builder.add("w", [1, 2], Init::Ones);
//! let b = builder.add("b", [1], Init::Zeros);
//! let params = builder.build(0);
//!
//! let mut gradients = Gradients::new(&params);
//! let mut tape = Tape::training(&params, &mut gradients);
//! let x = Var::constant(Tensor::new([1, 2], &[3.0, 4.0]));
//! let y = tape.linear(&x, w, Some(b), Activation::None); // (1, 2) -> (1, 1)
//! assert_eq!(y.data(), [7.0]);
//!
//! // Forward: y = x·Wᵀ + b. So dW = x and db = 1.
//! tape.backward(&y);
//! assert_eq!(gradients.get(&params, w), Some(&[3.0, 4.0][..]));
//! assert_eq!(gradients.get(&params, b), Some(&[1.0][..]));
//! ```
//!
//! # Modules, in the order data flows
//! | | |
//! |---|---|
//! | [`team`] | threads that share out a job, with the same bits at any number |
//! | [`simd`] | one plain loop, compiled for several instruction sets |
//! | [`rng`] | random numbers as a function of (seed, stream, position) |
//! | [`pool`] | memory that goes round between tensors |
//! | [`tensor`] | a shape and a shared buffer of f32 |
//! | [`params`] | what a model learns: one flat block with named ranges |
//! | [`kernels`] | maths on slices: no tape, no allocation once warm, forward above backward |
//! | [`tape`] | what was computed, in order, and how each step sends gradients back |
//! | [`ops`] | operations on the tape: check shapes, take memory, call the kernel, record |
//! | [`gradcheck`] | proof of a derivative by central differences |
//! | [`mapped`] | numbers in a file, as if they were in memory |
//!
//! # Dimension letters
//! Shapes in comments, and names such as `hidden_nf`, use these letters everywhere:
//!
//! | | | | |
//! |---|---|---|---|
//! | b | sequences of a batch | h | heads |
//! | t | length of the queries | d | width of a head, c = h·d (d_k of queries and keys, d_v of values) |
//! | s | length of the keys | f | width of the feed-forward layer |
//! | c | width of the model | v | vocabulary |
//! | n | all rows of a packed batch, n = Σt | l | layer |
//!
//! `dx` is the gradient of the loss by x, of the same shape. A linear layer's weight is (out, in).

pub mod gradcheck;
pub mod kernels;
pub mod machine;
pub mod mapped;
pub mod ops;
pub mod params;
pub mod pool;
pub mod rng;
pub mod simd;
pub mod tape;
pub mod team;
pub mod tensor;
