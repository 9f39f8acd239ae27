//! The input template of a model that reads texts or pairs of texts, as its tokenizer's
//! post-processor has it: of BERT `[CLS] a [SEP]` and `[CLS] a [SEP] b [SEP]`, of RoBERTa
//! `<s> a </s></s> b </s>`.
//!
//! ```
//! use limpid::data::template::EncoderTemplate;
//! use limpid::text::{Purpose, word_tokenizer_for};
//!
//! let tokenizer = word_tokenizer_for(["a cat", "a dog"], Purpose::Encoder)?;
//! let template = EncoderTemplate::new(&tokenizer)?;
//! let [cat, dog] = ["a cat", "a dog"].map(|text| tokenizer.encode(text).unwrap());
//! let (ids, token_types) = template.pair(&cat, &dog);
//! assert_eq!(tokenizer.decode_with_special(&ids)?, "[CLS] a cat[SEP] a dog[SEP]");
//! assert_eq!(token_types, [0, 0, 0, 0, 1, 1, 1]);
//! # Ok::<(), limpid::error::Error>(())
//! ```

use crate::data::batch::EncodedText;
use crate::error::{Result, TokenPurpose, TokenizerError};
use crate::text::{Slot, Tokenizer};

/// Texts and special tokens in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncoderTemplate {
    single: Vec<Slot>,
    pair: Vec<Slot>,
}

impl EncoderTemplate {
    /// The template of an encoder's tokenizer: the first token of a sequence is a special one.
    /// # Errors
    /// [`TokenizerError::MissingToken`] if it has none.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let template = Self::any(tokenizer)?;
        if matches!(template.single[0], Slot::Special { .. }) {
            return Ok(template);
        }
        // A file without a post-processor.
        let id = |token| {
            let purpose = TokenPurpose::EncoderInput;
            tokenizer.id(token).ok_or(TokenizerError::MissingToken { token, purpose })
        };
        Ok(Self::bert(id("[CLS]")?, id("[SEP]")?))
    }

    /// The template of any tokenizer: that of a decoder may have no special tokens.
    /// # Errors
    /// [`TokenizerError::Encode`] if its post-processor fails.
    pub fn any(tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self { single: tokenizer.slots(1)?, pair: tokenizer.slots(2)? })
    }

    fn bert(cls: u32, sep: u32) -> Self {
        let special = |id, type_id| Slot::Special { id, type_id };
        let text = |sequence| Slot::Text { sequence, type_id: sequence as u32 };
        let single = vec![special(cls, 0), text(0), special(sep, 0)];
        let pair = [&single[..], &[text(1), special(sep, 1)]].concat();
        Self { single, pair }
    }

    /// Special tokens of a text, or of a pair.
    pub fn added(&self, texts: usize) -> usize {
        self.slots(texts).iter().filter(|slot| matches!(slot, Slot::Special { .. })).count()
    }

    /// Special tokens before a text of a pair, or before the only one.
    pub(crate) fn before(&self, texts: usize, text: usize) -> usize {
        let is_text =
            |slot: &&Slot| !matches!(slot, Slot::Text { sequence, .. } if *sequence == text);
        let before = self.slots(texts).iter().take_while(is_text);
        before.filter(|slot| matches!(slot, Slot::Special { .. })).count()
    }

    /// Whether a model with so many token types can read pairs; `None`: it does not see types.
    pub(crate) fn fits_types(&self, texts: usize, type_vocab_size: Option<usize>) -> bool {
        let type_of = |slot: &Slot| match slot {
            Slot::Special { type_id, .. } | Slot::Text { type_id, .. } => *type_id as usize,
        };
        type_vocab_size
            .is_none_or(|types| self.slots(texts).iter().all(|slot| type_of(slot) < types))
    }

    fn slots(&self, texts: usize) -> &[Slot] {
        if texts == 2 { &self.pair } else { &self.single }
    }

    /// Token ids and token type ids of one text.
    pub fn single(&self, text: &[u32]) -> EncodedText {
        filled(&self.single, &[text])
    }

    /// Token ids and token type ids of a pair of texts.
    pub fn pair(&self, first: &[u32], second: &[u32]) -> EncodedText {
        filled(&self.pair, &[first, second])
    }

    /// The same, truncated to `max_length` tokens: tokens are removed from the end of the longer
    /// text first. Also returns how many were removed.
    pub fn truncated(
        &self,
        first: &[u32],
        second: Option<&[u32]>,
        max_length: usize,
    ) -> (EncodedText, usize) {
        let room = max_length.saturating_sub(self.added(1 + usize::from(second.is_some())));
        let (mut a, mut b) = (first.len(), second.map_or(0, <[u32]>::len));
        let removed = (a + b).saturating_sub(room);
        for _ in 0..removed {
            if a >= b { a -= 1 } else { b -= 1 }
        }
        match second {
            None => (self.single(&first[..a]), removed),
            Some(second) => (self.pair(&first[..a], &second[..b]), removed),
        }
    }
}

/// The slots with the tokens of the texts.
fn filled(slots: &[Slot], texts: &[&[u32]]) -> EncodedText {
    let (mut ids, mut types) = (Vec::new(), Vec::new());
    for slot in slots {
        let type_id = match slot {
            Slot::Special { id, type_id } => {
                ids.push(*id);
                *type_id
            }
            Slot::Text { sequence, type_id } => {
                ids.extend(texts[*sequence]);
                *type_id
            }
        };
        types.resize(ids.len(), type_id);
    }
    (ids, types)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_surround_the_texts_and_the_longer_text_is_truncated_first() {
        let template = EncoderTemplate::bert(2, 3);
        assert_eq!((template.added(1), template.added(2), template.before(2, 1)), (2, 3, 2));
        assert_eq!(template.single(&[7, 8]), (vec![2, 7, 8, 3], vec![0; 4]));
        assert_eq!(template.pair(&[7, 8], &[9]), (vec![2, 7, 8, 3, 9, 3], vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(template.truncated(&[7, 8, 9], None, 4), (template.single(&[7, 8]), 1));
        assert_eq!(
            template.truncated(&[7], Some(&[8, 9, 10, 11]), 6),
            (template.pair(&[7], &[8, 9]), 2)
        );
        assert_eq!(
            template.truncated(&[7, 8, 9, 10], Some(&[11]), 6),
            (template.pair(&[7, 8], &[11]), 2)
        );
        assert_eq!(template.truncated(&[7], Some(&[8]), 6).1, 0);
    }
}
