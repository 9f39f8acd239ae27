//! From text to tokens and back.

mod blocks;
mod kind;
mod layout;
mod lines;
mod tokenizer;
pub mod train;
mod words;

pub use blocks::{BLOCK, Blocks, in_order};
pub use kind::{Case, Purpose, TokenizerKind};
pub(crate) use lines::checked;
pub use lines::{Lines, Text, each_line, is_blank, lines_of, one_line, text_size};
pub use tokenizer::{Offsets, Tokenizer};
pub use words::{word_tokenizer, word_tokenizer_for};
