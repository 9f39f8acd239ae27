//! The built-in corpora, written by us: sentence pairs to translate, and stories with their summaries.

pub mod stories;
pub mod translation;

pub use translation::{CONSTRUCTIONS, Corpus, Pair, generate, lemma_counts, pair};
