//! A text as token ids from which windows are taken: a training range and a validation range.

use super::Split;
use crate::data::split::split_text;
use crate::data::tokens::TokenFile;
use crate::error::Result;
use crate::text::Tokenizer;
use crate::train::config::TextData;
use std::ops::Range;
use std::path::Path;

/// Tokens per call of `each`'s callback.
const CHUNK: usize = 1 << 16;

/// A text from which windows are taken.
pub(super) struct Windows {
    /// All of it.
    pub(super) tokens: TokenFile,
    /// The training range.
    pub(super) train: Range<usize>,
    /// The validation range, of a file of its own or of `tokens`.
    validation: (Option<TokenFile>, Range<usize>),
}

impl Windows {
    /// Reads the text; `end` separates files.
    pub(super) fn read(
        data: &TextData,
        tokenizer: &Tokenizer,
        end: Option<u32>,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let tokens =
            TokenFile::build(&cache.join("train.tokens"), tokenizer, &data.text, end, progress)?;
        if let Some(fraction) = data.validation_split {
            let (train, kept) = split_text(tokens.len(), fraction)?;
            return Ok(Self { tokens, train, validation: (None, kept) });
        }
        let path = cache.join("validation.tokens");
        let kept = TokenFile::build(&path, tokenizer, &data.validation_text, end, progress)?;
        let (train, range) = (0..tokens.len(), 0..kept.len());
        Ok(Self { tokens, train, validation: (Some(kept), range) })
    }

    /// The validation range, and the file it is of.
    pub(super) fn validation(&self) -> (&TokenFile, &Range<usize>) {
        (self.validation.0.as_ref().unwrap_or(&self.tokens), &self.validation.1)
    }

    /// All tokens of a split, in chunks.
    pub(super) fn each(&self, split: Split, on: &mut dyn FnMut(&[u32])) {
        let (tokens, range) = match split {
            Split::Train => (&self.tokens, &self.train),
            Split::Validation => self.validation(),
        };
        for start in range.clone().step_by(CHUNK) {
            on(&tokens.slice(start..range.end.min(start + CHUNK)));
        }
    }
}
