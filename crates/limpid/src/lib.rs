//! Limpid: train, evaluate, inspect and run Transformers on a CPU, without Python.
//!
//! ```no_run
//! let generator = limpid::Generator::load("runs/english")?; // a model folder or a run folder
//! let text = generator.prompt("The").temperature(0.8).top_p(0.9).seed(7).generate()?;
//! let vectors = limpid::Embedder::load("all-MiniLM-L6-v2")?.embed(&["a cat", "a dog"])?;
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! [`Generator`], [`Translator`], [`Embedder`], [`FillMask`], [`Classifier`], [`TokenClassifier`],
//! [`QuestionAnswerer`], [`Reranker`] and [`Scorer`] are the facade ([`pipeline`]): each loads a
//! folder in Hugging Face's layout and gives the same result as the command. Below it everything is
//! reachable, in the order data flows:
//!
//! | | |
//! |---|---|
//! | [`text`] | from text to token ids and back |
//! | [`data`] | files, splits, packed batches |
//! | [`distributed`] | several processes that train one model |
//! | [`nn`] | layers |
//! | [`model`] | four stacks: decoder, encoder, encoder-decoder, recurrent |
//! | [`hub`] | model folders: config, weights, tokenizer; one file per model family |
//! | [`optim`] | AdamW, gradient clipping, learning-rate schedules |
//! | [`train`] | run folders, datasets, the training loop, configuration, checkpoints |
//! | [`generate`] | sessions with caches, greedy search, sampling, beam search, logits processors |
//! | [`encode`] | embeddings, mask filling, classification, question answering |
//! | [`eval`] | BLEU, chrF, ROUGE-L, F1, bootstrap intervals, baselines |
//! | [`quantize`] | weights as int8, int4 or bf16, and what that costs |
//! | [`inspect`] | where any number comes from; cross-attention, word alignment |
//! | [`pipeline`] | the facade |
//! | [`report`] | charts and run pages |
//! | [`files`], [`hash`] | atomic writes, content hashes |
//! | [`error`] | typed errors |
//!
//! The numbers are in [`tensor`] (the crate `limpid-tensor`), and so are the letters that name
//! dimensions. Nothing in this crate is `unsafe`, prints, or reads an environment variable.
//!
//! **Debug builds.** Without optimization the kernels are some eighty times slower. Add to your
//! `Cargo.toml`:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! ```
#![forbid(unsafe_code)]

pub mod data;
pub mod distributed;
pub mod encode;
pub mod error;
pub mod eval;
pub mod files;
pub mod generate;
pub mod hash;
pub mod hub;
pub mod inspect;
pub mod model;
pub mod nn;
pub mod optim;
pub mod pipeline;
pub mod quantize;
pub mod report;
#[cfg(test)]
mod sample_text;
pub mod text;
pub mod train;

pub use pipeline::{
    Classifier, Embedder, FillMask, Generator, QuestionAnswerer, Reranker, Scorer, TokenClassifier,
    Translator,
};

/// The numbers: tensors, parameters, the tape and the kernels, as [`limpid_tensor`].
pub use limpid_tensor as tensor;
