//! From text to tokens and back.

mod tokenizer;
mod words;

pub use tokenizer::Tokenizer;
pub use words::word_tokenizer;
