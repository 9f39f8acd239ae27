//! Teaching material for Limpid: corpora that need no files, worked examples computed by the
//! kernels that training uses, a quiz on them, and experiments that test claims about Transformers.
//!
//! ```
//! use limpid_learn::explain::{Inputs, Style, explain, render};
//!
//! let explanation = explain("self-attention", &Inputs::default())?;
//! let text = render(&explanation, Style::Plain, 80);
//! assert!(text.contains("softmax"));
//! # Ok::<(), limpid_learn::error::Error>(())
//! ```
//!
//! This crate is a user of [`limpid`] like any other: the library does not depend on it.
//!
//! | module | |
//! |---|---|
//! | [`corpus`] | French-English sentence pairs and short stories, generated from grammars |
//! | [`explain`] | worked examples: every step of the arithmetic, with numbers of your choice |
//! | [`quiz`] | questions and exercises on the worked examples |
//! | [`experiment`] | claims about Transformers, tested by training small models |
//! | [`error`] | what can go wrong |
#![forbid(unsafe_code)]

pub mod corpus;
pub mod error;
pub mod experiment;
pub mod explain;
pub mod quiz;

pub use error::{Error, Result};
