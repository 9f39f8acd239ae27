//! Where a tokenizer's post-processor puts texts and special tokens.

use super::tokenizer::{Backend, Tokenizer};
use crate::error::{Result, TokenizerError};
use tokenizers::{Encoding, Token};

/// A place in a tokenized text or pair of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A special token.
    Special {
        /// Its id.
        id: u32,
        /// Its token type.
        type_id: u32,
    },
    /// All tokens of a text.
    Text {
        /// 0 for the first text, 1 for the second.
        sequence: usize,
        /// The token type of its tokens.
        type_id: u32,
    },
}

impl Tokenizer {
    /// Texts and special tokens of a single text, or of a pair, in order.
    /// # Errors
    /// [`TokenizerError::Encode`] if the library cannot apply the post-processor.
    pub fn slots(&self, texts: usize) -> Result<Vec<Slot>> {
        let inner = match &self.backend {
            Backend::Library(inner) => inner,
            Backend::Pieces(pieces) => {
                let special = |id: &u32| Slot::Special { id: *id, type_id: 0 };
                let text = |sequence| Slot::Text { sequence, type_id: 0 };
                // No id of a vocabulary: it stands for the texts.
                let around = pieces.surround(&[u32::MAX]);
                let mut parts = around.split(|id| *id == u32::MAX);
                let [before, after] = [parts.next(), parts.next()].map(Option::unwrap_or_default);
                let before = before.iter().map(special);
                let texts = (0..texts).map(text);
                return Ok(before.chain(texts).chain(after.iter().map(special)).collect());
            }
        };
        // One token stands for all tokens of a text.
        let text = || Encoding::from_tokens(vec![Token::new(0, "a".into(), (0, 1))], 0);
        let second = (texts == 2).then(text);
        let encoding = inner
            .post_process(text(), second, true)
            .map_err(|e| TokenizerError::Encode { reason: e.to_string() })?;
        let (ids, types) = (encoding.get_ids(), self.types_of(&encoding));
        let slot = |(i, sequence): (usize, Option<usize>)| match sequence {
            Some(sequence) => Slot::Text { sequence, type_id: types[i] },
            None => Slot::Special { id: ids[i], type_id: types[i] },
        };
        Ok(encoding.get_sequence_ids().into_iter().enumerate().map(slot).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn slots_are_those_of_a_tokenized_text() {
        for purpose in [Purpose::Encoder, Purpose::LanguageModel, Purpose::Translation] {
            let tokenizer = word_tokenizer_for(["a b"], purpose).unwrap();
            for second in [None, Some("b")] {
                let (ids, types) = tokenizer.encode_with_types("a", second).unwrap();
                let slots = tokenizer.slots(1 + usize::from(second.is_some())).unwrap();
                let texts = ["a", "b"].map(|text| tokenizer.encode(text).unwrap());
                let (mut again, mut again_types) = (Vec::new(), Vec::new());
                for slot in slots {
                    let (part, type_id) = match slot {
                        Slot::Special { id, type_id } => (vec![id], type_id),
                        Slot::Text { sequence, type_id } => (texts[sequence].clone(), type_id),
                    };
                    again_types.extend(vec![type_id; part.len()]);
                    again.extend(part);
                }
                assert_eq!((again, again_types), (ids, types), "{purpose:?} {second:?}");
            }
        }
    }
}
