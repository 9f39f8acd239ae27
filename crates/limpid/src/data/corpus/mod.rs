//! The built-in corpora, written by us: sentence pairs to translate.

pub mod translation;

pub use translation::{CONSTRUCTIONS, Corpus, Pair, generate, lemma_counts, pair};
