//! A text as tokens to take windows from: a part to learn from, and what is kept back.

use super::config::RunConfig;
use super::examples::{Part, USUAL_SHARE};
use crate::data::split::split_text;
use crate::data::tokens::TokenFile;
use crate::error::Result;
use crate::text::Tokenizer;
use std::ops::Range;
use std::path::Path;

/// Tokens that `each` gives at a time.
const CHUNK: usize = 1 << 16;

/// A text that windows are taken from.
pub(super) struct Windows {
    /// All of it.
    pub(super) tokens: TokenFile,
    /// The part to learn from.
    pub(super) train: Range<usize>,
    /// A part of a file of its own, or of `tokens`.
    kept: (Option<TokenFile>, Range<usize>),
}

impl Windows {
    /// Reads a configuration's text; `end` is put between files.
    pub(super) fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        end: Option<u32>,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        let data = &config.data;
        let (tokens, _) =
            TokenFile::build(&cache.join("train.tokens"), tokenizer, &data.text, end, progress)?;
        if data.validation_text.is_empty() {
            let (train, kept) = split_text(tokens.len(), data.validation_share.unwrap_or(USUAL_SHARE))?;
            return Ok(Self { tokens, train, kept: (None, kept) });
        }
        let path = cache.join("validation.tokens");
        let (kept, _) = TokenFile::build(&path, tokenizer, &data.validation_text, end, progress)?;
        let (train, range) = (0..tokens.len(), 0..kept.len());
        Ok(Self { tokens, train, kept: (Some(kept), range) })
    }

    /// What is kept back: the file, and which part of it.
    pub(super) fn kept(&self) -> (&TokenFile, &Range<usize>) {
        (self.kept.0.as_ref().unwrap_or(&self.tokens), &self.kept.1)
    }

    /// All tokens of a part, some thousand at a time.
    pub(super) fn each(&self, part: Part, on: &mut dyn FnMut(&[u32])) {
        let (tokens, range) = match part {
            Part::Learnt => (&self.tokens, &self.train),
            Part::Kept => self.kept(),
        };
        for start in range.clone().step_by(CHUNK) {
            on(&tokens.slice(start..range.end.min(start + CHUNK)));
        }
    }
}
