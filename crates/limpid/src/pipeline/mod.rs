//! The facade: what the command does, a program does in three lines, with the same result.
//!
//! | | loads | gives |
//! |---|---|---|
//! | [`Generator`] | a decoder (GPT) | continuations of a prompt; a [`Chat`] |
//! | [`Translator`] | an encoder-decoder | translations, summaries |
//! | [`Embedder`] | an encoder (BERT) | one vector per text |
//! | [`FillMask`] | an encoder with a masked-language-modelling head | tokens at `[MASK]` |
//! | [`Classifier`] | an encoder or a decoder with a classification head | labels with scores |
//! | [`TokenClassifier`] | an encoder with a token-classification head | labelled words |
//! | [`QuestionAnswerer`] | an encoder with a question-answering head | spans of a context |
//! | [`Reranker`] | a cross-encoder: a classifier with one label | texts by relevance |
//! | [`Pipeline`] | any folder | its [`Generator`], [`Translator`], [`Classifier`], or encoder |
//! | [`Scorer`] | a decoder or an encoder-decoder | log-probabilities, loss, perplexity |
//!
//! Each is loaded from a model folder or from the folder of a training run, takes its defaults from
//! the folder's files, is used by `&self` and can be shared between threads. The state of a
//! generation (its caches) is private to a call. Nothing prints: what was ignored in a folder is in
//! `warnings()`.
//!
//! ```no_run
//! let generator = limpid::Generator::load("runs/english")?;
//! let text = generator.prompt("The").temperature(0.8).top_p(0.9).seed(7).generate()?;
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod any;
#[cfg(feature = "chat")]
mod chat;
mod classifier;
mod embedder;
mod fill_mask;
mod generator;
mod loaded;
mod question_answerer;
mod request;
mod reranker;
mod scorer;
mod token_classifier;
mod translator;

pub use any::Pipeline;
#[cfg(feature = "chat")]
pub use chat::Chat;
pub use classifier::{Classifier, LabelScore};
pub use embedder::{Embedder, EmbedderOptions};
pub use fill_mask::FillMask;
pub use generator::Generator;
pub use loaded::{LongText, Overlength, model_folder};
pub use question_answerer::QuestionAnswerer;
pub use request::{GenerationRequest, TranslationRequest};
pub use reranker::{Ranked, Relevance, Reranker};
pub use scorer::{Scorer, TextScore, TokenScore};
pub use token_classifier::TokenClassifier;
pub use translator::Translator;
