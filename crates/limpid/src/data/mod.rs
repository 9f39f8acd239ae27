//! From files to batches: reading, cleaning, splitting, tokenizing and packing.
//!
//! [`table`] and [`parallel`] read examples, [`clean`] and [`split`] choose among them, [`tokens`]
//! and [`sequence_file`] cache them as token ids, [`sampler`] orders them, and [`batch`] packs
//! them without padding.
//!
//! ```
//! use limpid::data::batch::LmBatch;
//! use limpid::data::sampler::{BatchSampler, Bucketing};
//!
//! let documents = [vec![5, 9, 2], vec![7, 2], vec![4, 4, 8, 2]];
//! let lengths: Vec<usize> = documents.iter().map(Vec::len).collect();
//! // Batches of at most 6 tokens: a function of the seed and the step.
//! let mut sampler = BatchSampler::new(1, &lengths, 6, Bucketing::Mixed)?;
//! let examples: Vec<&[u32]> = sampler.batch(0).into_iter().map(|i| &documents[i][..]).collect();
//! let batch = LmBatch::new(&examples);
//! assert_eq!(batch.input.tokens(), batch.targets.len());
//! # Ok::<(), limpid::error::Error>(())
//! ```

pub mod batch;
pub mod clean;
pub mod labelled;
pub mod masking;
pub mod next_sentence;
pub mod pairs;
pub mod parallel;
pub mod questions;
pub mod sampler;
pub mod sequence_file;
pub mod sequences;
pub mod split;
pub mod table;
pub mod tagged;
pub mod template;
mod token_writer;
pub mod tokens;
