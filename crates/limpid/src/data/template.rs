//! The input template of encoders: `[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]`.
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
use crate::text::Tokenizer;

/// The special tokens of the template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncoderTemplate {
    cls: u32,
    sep: u32,
}

impl EncoderTemplate {
    /// The template with the ids of a tokenizer.
    /// # Errors
    /// [`TokenizerError::MissingToken`] if it has no `[CLS]` or `[SEP]`.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        let id = |token| {
            let purpose = TokenPurpose::EncoderInput;
            tokenizer.id(token).ok_or(TokenizerError::MissingToken { token, purpose })
        };
        Ok(Self { cls: id("[CLS]")?, sep: id("[SEP]")? })
    }

    /// Token ids and token type ids of one text.
    pub fn single(&self, text: &[u32]) -> EncodedText {
        let ids: Vec<u32> =
            [self.cls].into_iter().chain(text.iter().copied()).chain([self.sep]).collect();
        let types = vec![0; ids.len()];
        (ids, types)
    }

    /// Token ids and token type ids of a pair of texts.
    pub fn pair(&self, first: &[u32], second: &[u32]) -> EncodedText {
        let (mut ids, mut types) = self.single(first);
        ids.extend(second);
        ids.push(self.sep);
        types.resize(ids.len(), 1);
        (ids, types)
    }

    /// The same, truncated to `max_length` tokens: tokens are removed from the end of the longer
    /// text first. Also returns how many were removed.
    pub fn truncated(
        &self,
        first: &[u32],
        second: Option<&[u32]>,
        max_length: usize,
    ) -> (EncodedText, usize) {
        let room = max_length.saturating_sub(if second.is_some() { 3 } else { 2 });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_surround_the_texts_and_the_longer_text_is_truncated_first() {
        let template = EncoderTemplate { cls: 2, sep: 3 };
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
