//! The tensor engine of Limpid: tensors on the CPU, reverse-mode automatic differentiation on a
//! light tape, and fused Transformer operations, each with its backward pass beside it.
//!
//! The only crate of the workspace with `unsafe` code. Dependencies: `memmap2`, and `libc` on
//! Linux.
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
//! | [`team`] | a persistent thread team; the same bits for any number of threads |
//! | [`simd`] | one plain loop, compiled for several instruction sets |
//! | [`rng`] | counter-based random numbers: a function of (seed, stream, position) |
//! | [`pool`] | buffers that are reused from tensor to tensor |
//! | [`tensor`] | a shape and a shared buffer of f32 |
//! | [`params`] | the parameters of a model: one flat buffer with named ranges |
//! | [`packed_weights`] | the same in the order in which products read them, for inference |
//! | [`row_pool`] | rows of bytes that come and go: the memory of caches of keys and values |
//! | [`kernels`] | maths on slices: no tape, no allocation once warm, forward above backward |
//! | [`tape`] | reverse-mode automatic differentiation |
//! | [`ops`] | operations on the tape: check shapes, allocate, call the kernel, record |
//! | [`gradcheck`] | gradient checking by central differences |
//! | [`mapped`] | memory-mapped files of integers |
//! | [`disk`] | free disk space |
//! | [`machine`] | peak arithmetic throughput and memory bandwidth of this machine |
//! | [`counting`] | a global allocator that counts, for tests and benchmarks |
//!
//! # Settings
//! The crate reads no environment variable. The number of threads is [`team::set_threads`]
//! (default: one per core), the instruction set [`simd::set_level`] (default: the best of the CPU).
//!
//! # Debug builds
//! Without optimization the kernels are about eighty times slower, and Cargo's dev profile does not
//! optimize dependencies. A crate that depends on this one, directly or through `limpid`, adds to
//! its own `Cargo.toml` (profiles of dependencies have no effect):
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```
//!
//! # Dimension letters
//! Shapes in comments, and names such as `hidden_nf`, use these letters everywhere:
//!
//! | | | | |
//! |---|---|---|---|
//! | b | sequences of a batch | h | heads |
//! | t | length of the queries | d | width of a head, c = h·d (d_k: queries, keys; d_v: values) |
//! | s | length of the keys | f | width of the feed-forward layer |
//! | c | width of the model | v | vocabulary |
//! | n | all rows of a packed batch, n = Σt | l | layer |
//!
//! `dx` is the gradient of the loss by x, of the same shape. The weight of a linear layer is
//! (out, in), as in PyTorch.

pub(crate) mod arena;
pub mod bytes;
pub mod counting;
pub mod disk;
pub mod gradcheck;
pub mod kernels;
pub mod machine;
pub mod mapped;
pub mod ops;
pub mod packed_weights;
pub mod params;
pub mod pool;
pub mod rng;
pub mod row_pool;
pub mod simd;
pub mod tape;
pub mod team;
pub mod tensor;

/// The example of README.md is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
