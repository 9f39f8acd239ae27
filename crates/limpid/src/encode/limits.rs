//! What a model can read, and texts as it reads them.

use super::Truncation;
use crate::data::batch::EncodedText;
use crate::error::{EncodeError, InputProblem, Result};
use crate::text::{Tokenizer, TruncationStrategy};

/// What a model can read.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) vocab_size: usize,
    /// Positions of the model.
    pub(super) max_tokens: usize,
    /// Number of token types; `None`: the model does not see them.
    pub(super) type_vocab_size: Option<usize>,
}

impl Limits {
    /// Checks the ids of text `index`, of any length.
    pub(super) fn check(&self, index: usize, ids: &[u32], types: &[u32]) -> Result<()> {
        let input = |problem| EncodeError::Input { index, problem }.into();
        if ids.is_empty() {
            return Err(input(InputProblem::Empty));
        }
        let vocab_size = self.vocab_size;
        if let Some(id) = ids.iter().copied().find(|id| *id as usize >= vocab_size) {
            return Err(EncodeError::TokenizerMismatch { id, vocab_size }.into());
        }
        let has_type = |id: &u32| self.type_vocab_size.is_none_or(|types| (*id as usize) < types);
        match types.iter().all(has_type) {
            true => Ok(()),
            false => Err(input(InputProblem::Pair)),
        }
    }

    /// The token ids and token type ids of text `index`, or of a pair, with special tokens.
    pub(super) fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        truncation: Truncation,
        index: usize,
        text: &str,
        second: Option<&str>,
    ) -> Result<EncodedText> {
        let (mut ids, mut types) = tokenizer.encode_with_types(text, second)?;
        self.check(index, &ids, &types)?;
        let max_tokens = match truncation {
            Truncation::Error => self.max_tokens,
            Truncation::MaxLength(length) => length.min(self.max_tokens),
        };
        if ids.len() <= max_tokens {
            return Ok((ids, types));
        }
        if truncation == Truncation::Error || max_tokens < 2 {
            let problem = InputProblem::TooLong { tokens: ids.len(), max_tokens };
            return Err(EncodeError::Input { index, problem }.into());
        }
        if second.is_some() {
            let strategy = TruncationStrategy::LongestFirst;
            let cut = tokenizer.with_windows(max_tokens, 0, strategy)?;
            let first = cut.encode_spans(text, second)?.swap_remove(0);
            return Ok((first.ids, first.type_ids));
        }
        // The last token is [SEP], where the tokenizer adds one.
        let last = ids[ids.len() - 1];
        let (special, _) = tokenizer.encode_with_types("", None)?;
        ids.truncate(max_tokens);
        if special.last() == Some(&last) {
            ids[max_tokens - 1] = last;
        }
        types.truncate(max_tokens);
        Ok((ids, types))
    }
}
