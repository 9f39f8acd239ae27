//! Text to token ids and back.
//!
//! [`Tokenizer`] reads and writes Hugging Face's `tokenizer.json`; [`train`] learns one from text;
//! [`TextReader`] and [`Blocks`] read files line by line or in blocks larger than memory allows.
//!
//! ```
//! use limpid::text::word_tokenizer;
//!
//! let tokenizer = word_tokenizer(["The cat sat.", "The dog sat."])?;
//! let ids = tokenizer.encode("The cat sat.")?;
//! assert_eq!(tokenizer.decode(&ids)?, "The cat sat.");
//! assert_eq!(tokenizer.unknown_words("The bird sat.")?, ["bird"]);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod blocks;
mod formats;
mod kind;
mod languages;
mod layout;
mod lines;
mod nearest;
mod numbers;
pub mod sentencepiece;
mod slots;
mod spans;
mod storage;
mod tokenizer;
pub mod train;
mod words;

pub use blocks::{BLOCK, Blocks, map_in_order};
pub use kind::{Casing, Purpose, TokenizerKind};
pub use languages::Languages;
pub use lines::{Lines, TextReader, each_line, is_blank, nonblank_lines, one_line, text_size};
pub(crate) use lines::{decode_utf8, until_error};
pub(crate) use nearest::nearest;
pub use numbers::number_tokenizer;
pub use slots::Slot;
pub use spans::{TokenSpans, TruncationStrategy};
pub use tokenizer::{Offsets, Tokenizer};
pub use words::{word_tokenizer, word_tokenizer_for};
