//! Limpid, the library: train, measure and open up Transformers on an ordinary machine.
//!
//! ```
//! use limpid::config::Seq2SeqConfig;
//! use limpid::data::pairs::tokenize_pairs;
//! use limpid::decode::translate;
//! use limpid::model::Seq2Seq;
//! use limpid::nn::Builder;
//! use limpid::optim::{AdamConfig, Rate, Schedule};
//! use limpid::text::word_tokenizer;
//! use limpid::train::{TranslateSettings, train_translator};
//!
//! let pairs = [("Merci.", "Thanks."), ("Je suis étudiant.", "I am a student."), ("Il dort.", "He is sleeping.")];
//! let tokenizer = word_tokenizer(pairs.iter().flat_map(|(french, english)| [*french, *english]))?;
//!
//! // One layer, two heads, width 32. The model is code; its numbers are `params`.
//! let config = Seq2SeqConfig::new(tokenizer.vocab_size(), 1, 2, 32, 64);
//! let mut builder = Builder::default();
//! let model = Seq2Seq::new(&config, &mut builder)?;
//! let (mut params, _) = builder.build(1);
//!
//! let settings = TranslateSettings {
//!     batch_tokens: 100,
//!     rate: Rate { schedule: Schedule::Cosine, peak: 1e-2, floor: 0.0, warmup: 5, total: 40 },
//!     smoothing: 0.0,
//!     adam: AdamConfig::default(),
//!     seed: 1,
//! };
//! let tokens = tokenize_pairs(&tokenizer, pairs, config.eos_token_id)?;
//! train_translator(&model, &mut params, &tokens, &settings, |_progress| {})?;
//!
//! let english = translate(&model, &params, &tokenizer, &["Je suis étudiant.", "Merci."])?;
//! assert_eq!(english, ["I am a student.", "Thanks."]);
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! # Modules, in the order data flows
//! | | |
//! |---|---|
//! | [`text`] | from text to tokens and back |
//! | [`data`] | files of text, pairs and labels; the built-in corpus; from tokens to packed batches |
//! | [`config`] | what a model is, as one validated value |
//! | [`nn`] | layers: their parameters, the names files know them by, how they compose |
//! | [`model`] | GPT, BERT and the encoder-decoder, each a screenful over packed batches |
//! | [`optim`] | from gradients to new weights: clipping, AdamW, the learning rate |
//! | [`hub`] | model folders in Hugging Face's layout, read and written |
//! | [`decode`] | one autoregressive interface, caches, greedy search, drawing, beam search |
//! | [`encode`] | what an encoder is used for: words for gaps, vectors, labels |
//! | [`eval`] | BLEU and chrF as sacreBLEU computes them, intervals, ROUGE-L, F1, and naive baselines |
//! | [`train`] | steps, and runs of them: configuration, checkpoints, metrics |
//! | [`inspect`] | looking inside: worked examples, a quiz on them, and what a translation attended to |
//! | [`report`] | what came of it, for people: run folders as pages, runs side by side, charts |
//! | [`experiment`] | claims about Transformers, put to the test |
//! | [`files`] | files that are there as a whole or not at all |
//! | [`hash`] | whether a file is still what it was |
//! | [`error`] | what can go wrong outside the program, and what to do about it |
//!
//! The maths is in [`limpid_tensor`], and so are the letters that name dimensions. Nothing in this crate is `unsafe`, and
//! nothing prints.
#![forbid(unsafe_code)]

pub mod config;
pub mod data;
pub mod decode;
pub mod encode;
pub mod error;
pub mod eval;
pub mod experiment;
pub mod files;
pub mod hash;
pub mod hub;
pub mod inspect;
pub mod model;
pub mod nn;
pub mod optim;
pub mod report;
pub mod text;
pub mod train;
