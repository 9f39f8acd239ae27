//! From text to tokens and back.

mod tokenizer;
mod words;

pub use tokenizer::{Offsets, Tokenizer};
pub use words::word_tokenizer;
