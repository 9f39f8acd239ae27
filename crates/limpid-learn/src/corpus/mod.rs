//! The built-in corpora: French-English sentence pairs, and short stories with their summaries,
//! generated from grammars.
//!
//! ```
//! use limpid_learn::corpus::{generate, stories};
//!
//! let corpus = generate(100, 1);
//! assert_eq!((corpus.train.len(), corpus.test.len()), (100, 10));
//! let story = stories::story(1, 0);
//! // The grammar knows the exact probability of each of its stories.
//! assert!(stories::log_probability(&story.text).unwrap() < 0.0);
//! ```
//!
//! Pair or story number n of a seed is a pure function: no files are needed, and the splits share
//! no sentence. [`score`] measures models of the stories between n-gram baselines and exact bounds.

pub mod score;
pub mod stories;
pub mod translation;

pub use translation::{CONSTRUCTIONS, Corpus, Pair, generate, lemma_counts, pair};
