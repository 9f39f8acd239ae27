//! A text as token ids from which windows are taken.

use super::Split;
use super::reader::Reader;
use crate::data::split::split_text;
use crate::data::tokens::TokenFile;
use crate::error::Result;
use crate::train::config::TextData;
use std::ops::Range;
use std::sync::Arc;

/// Tokens of a chunk.
const CHUNK: usize = 1 << 16;

/// The part of a text that is one split.
pub(in crate::train) struct Windows {
    tokens: Arc<TokenFile>,
    range: Range<usize>,
}

impl Windows {
    /// Reads both splits; `end` separates files.
    pub(super) fn read(
        reader: &mut Reader,
        data: &TextData,
        end: Option<u32>,
    ) -> Result<[Self; 2]> {
        let mut build = |name: &str, files| -> Result<Arc<TokenFile>> {
            let path = reader.cache.join(name);
            let tokens = TokenFile::build(&path, reader.tokenizer, files, end, reader.progress)?;
            Ok(Arc::new(tokens))
        };
        let tokens = build("train.tokens", &data.text)?;
        if let Some(fraction) = data.validation_split {
            let (train, validation) = split_text(tokens.len(), fraction)?;
            let of = |range| Self { tokens: tokens.clone(), range };
            return Ok([of(train), of(validation)]);
        }
        let validation = build("validation.tokens", &data.validation_text)?;
        Ok([tokens, validation].map(|tokens| Self { range: 0..tokens.len(), tokens }))
    }

    /// Its number of tokens.
    pub(in crate::train) fn len(&self) -> usize {
        self.range.len()
    }

    /// The number of tokens of the file that it is a part of.
    pub(super) fn file_len(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens of a range of it, as far as it reaches.
    pub(in crate::train) fn slice(&self, range: Range<usize>) -> Vec<u32> {
        let start = self.range.start;
        self.tokens.slice(start + range.start..self.range.end.min(start + range.end))
    }

    /// All of its tokens, in chunks.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        (0..self.len()).step_by(CHUNK).map(|at| self.slice(at..at + CHUNK))
    }
}

impl Split for Windows {
    fn each(&self, on: &mut dyn FnMut(&[u32])) {
        self.chunks().for_each(|ids| on(&ids));
    }
}
