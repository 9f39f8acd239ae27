//! What an encoder is used for: words for gaps, vectors of texts, labels.
//!
//! Nothing is written token by token here, so there is no session and no cache: texts go through the model once, packed, some thousand tokens
//! at a time.

mod classify;
mod embed;
mod fill_mask;
mod npy;

pub use classify::{Labelled, classify};
pub use embed::{Length, Pooling, cosine, embed};
pub use fill_mask::{Filled, Gap, fill_mask};
pub use npy::npy;

use crate::data::batch::Typed;
use crate::error::{Error, Result};
use crate::model::Bert;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// Tokens that go through the model together.
const AT_A_TIME: usize = 4_096;

/// An encoder with its numbers and its tokenizer.
#[derive(Clone, Copy)]
pub struct Encoder<'a> {
    /// How it computes.
    pub bert: &'a Bert,
    /// Its numbers.
    pub params: &'a Params,
    /// From text to its tokens.
    pub tokenizer: &'a Tokenizer,
    /// What becomes of a text that is too long.
    pub overlong: Overlong,
}

/// What becomes of a text that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlong {
    /// It is an error that says so.
    Refuse,
    /// Its beginning is read, so many tokens with the special ones; fewer if the model has no more positions.
    Cut(usize),
}

/// A text for an encoder: tokens, and which of two texts each belongs to.
pub type Read = (Vec<u32>, Vec<u32>);

impl Encoder<'_> {
    /// The tokens of a text, or of two, with the special ones around them. `name` is what an error calls it.
    fn read(&self, text: &str, second: Option<&str>, name: &str) -> Result<Read> {
        let config = self.bert.config();
        let (mut ids, mut types) = self.tokenizer.encode_typed(text, second)?;
        if ids.is_empty() {
            return Err(Error::data(format!("{name} has no tokens, and the tokenizer puts none around it"))
                .hint("BERT's tokenizer.json puts [CLS] before a text: is it the right one?"));
        }
        if let Some(id) = ids.iter().find(|id| **id as usize >= config.vocab_size) {
            let known = config.vocab_size;
            return Err(Error::data(format!("the tokenizer gives token {id}, the model knows {known}"))
                .hint("the tokenizer and the model do not belong together"));
        }
        if types.iter().any(|kind| *kind as usize >= config.type_vocab_size) {
            return Err(
                Error::data(format!("{name} is two texts, the model was made for one")).hint("give one text")
            );
        }
        let positions = config.max_position_embeddings;
        let longest = match self.overlong {
            Overlong::Refuse => positions,
            Overlong::Cut(longest) => longest.min(positions),
        };
        if ids.len() > longest {
            if self.overlong == Overlong::Refuse || second.is_some() || longest < 2 {
                return Err(Error::data(format!(
                    "{name} has {} tokens, the model has positions for {longest}",
                    ids.len()
                ))
                .hint("shorten it; embed and classify (not fill-mask) read the beginning of a single text with --truncate"));
            }
            // The last token is [SEP], where there is one.
            let last = ids[ids.len() - 1];
            ids.truncate(longest - 1);
            ids.push(last);
            types.truncate(longest);
        }
        Ok((ids, types))
    }

    /// Reads texts in groups that fit through the model together, and calls `work` with each packed group and the numbers of its texts.
    fn in_groups(&self, reads: &[Read], mut work: impl FnMut(&Typed, usize) -> Result<()>) -> Result<()> {
        let (mut first, mut tokens) = (0, 0);
        for i in 0..=reads.len() {
            let next = reads.get(i).map_or(usize::MAX, |(ids, _)| ids.len());
            if i > first && next > AT_A_TIME.saturating_sub(tokens) {
                work(&Typed::new(&reads[first..i]), first)?;
                (first, tokens) = (i, 0);
            }
            tokens += if i < reads.len() { next } else { 0 };
        }
        Ok(())
    }
}
