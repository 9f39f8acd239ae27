//! Tokens with their place in the text, for heads that point at words.

use super::tokenizer::{Backend, Tokenizer};
use crate::error::{Error, Result, TokenizerError};
use tokenizers::utils::truncation::TruncationDirection;
use tokenizers::{
    Decoder, Encoding, ModelWrapper, TruncationParams, TruncationStrategy as LibraryStrategy,
};

/// The tokens of a text or a pair of texts, special ones included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenSpans {
    /// Token ids.
    pub ids: Vec<u32>,
    /// 0 for tokens of the first text, 1 for those of the second, where the tokenizer tells them
    /// apart.
    pub type_ids: Vec<u32>,
    /// The characters of its text that each token came from: start, and one past the end.
    pub offsets: Vec<(usize, usize)>,
    /// Whether the post-processor added the token.
    pub is_special: Vec<bool>,
    /// The text that each token came from: 0 or 1; `None` for special tokens.
    pub sequence: Vec<Option<usize>>,
    /// The word of its text that each token is part of, as the pre-tokenizer finds them.
    pub words: Vec<Option<u32>>,
}

/// How texts that are too long are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationStrategy {
    /// Token by token from the longer of two texts.
    LongestFirst,
    /// From the second text.
    OnlySecond,
}

impl Tokenizer {
    /// A copy that cuts what has more than `max_length` tokens into windows, each beginning with
    /// the last `stride` tokens of the one before.
    /// # Errors
    /// [`TokenizerError::Encode`] if the special tokens leave no place for more than `stride`
    /// tokens, or the tokenizer has no offsets.
    pub fn with_windows(
        &self,
        max_length: usize,
        stride: usize,
        strategy: TruncationStrategy,
    ) -> Result<Self> {
        let mut inner = self.library_with_offsets()?.clone();
        // The library subtracts without looking.
        let added = inner.encode_fast(("", ""), true).map_err(encode_error)?.len();
        if max_length <= added + stride {
            let reason = format!(
                "{max_length} tokens with {added} special ones leave no place for a stride of \
                 {stride}"
            );
            return Err(encode_error(reason));
        }
        let strategy = match strategy {
            TruncationStrategy::LongestFirst => LibraryStrategy::LongestFirst,
            TruncationStrategy::OnlySecond => LibraryStrategy::OnlySecond,
        };
        let direction = TruncationDirection::Right;
        let params = TruncationParams { direction, max_length, strategy, stride };
        inner.with_truncation(Some(params)).map_err(encode_error)?;
        Ok(Self::new(Backend::Library(Box::new(inner)), self.has_types))
    }

    /// The tokens of a text or a pair, with special ones and offsets in characters: one window, or
    /// for [`Tokenizer::with_windows`] as many as cover the text.
    /// # Errors
    /// [`TokenizerError::Encode`] if the library cannot tokenize the text, or has no offsets.
    pub fn encode_spans(&self, text: &str, second: Option<&str>) -> Result<Vec<TokenSpans>> {
        let inner = self.library_with_offsets()?;
        let encoding = match second {
            None => inner.encode_char_offsets(text, true),
            Some(second) => inner.encode_char_offsets((text, second), true),
        };
        let encoding = encoding.map_err(encode_error)?;
        let windows = std::iter::once(&encoding).chain(encoding.get_overflowing());
        let spans = |window| TokenSpans { type_ids: self.types_of(window), ..window.into() };
        Ok(windows.map(spans).collect())
    }

    /// The token types that models see.
    pub(super) fn types_of(&self, encoding: &Encoding) -> Vec<u32> {
        match self.has_types {
            true => encoding.get_type_ids().to_vec(),
            false => vec![0; encoding.len()],
        }
    }

    /// The text of tokens as the vocabulary spells them, without a space before the first.
    /// # Errors
    /// [`TokenizerError::Decode`] if the library cannot join them.
    pub fn join_tokens(&self, tokens: Vec<String>) -> Result<String> {
        match &self.backend {
            Backend::Library(inner) => match inner.get_decoder() {
                Some(decoder) => decoder
                    .decode(tokens)
                    .map_err(|e| TokenizerError::Decode { reason: e.to_string() }.into()),
                None => Ok(tokens.join(" ")),
            },
            Backend::Pieces(_) => Ok(tokens.concat()),
        }
    }

    /// Whether tokens inside a word are marked (`##ing`), so that the others begin one.
    pub fn marks_subwords(&self) -> bool {
        let Backend::Library(inner) = &self.backend else { return false };
        match inner.get_model() {
            ModelWrapper::WordPiece(model) => !model.continuing_subword_prefix.is_empty(),
            ModelWrapper::BPE(model) => {
                model.continuing_subword_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty())
            }
            ModelWrapper::WordLevel(_) | ModelWrapper::Unigram(_) => false,
        }
    }

    fn library_with_offsets(&self) -> Result<&tokenizers::Tokenizer> {
        match &self.backend {
            Backend::Library(inner) => Ok(inner),
            Backend::Pieces(_) => Err(encode_error("this tokenizer has no offsets of characters")),
        }
    }
}

fn encode_error(error: impl std::fmt::Display) -> Error {
    TokenizerError::Encode { reason: error.to_string() }.into()
}

impl From<&Encoding> for TokenSpans {
    fn from(encoding: &Encoding) -> Self {
        Self {
            ids: encoding.get_ids().to_vec(),
            type_ids: encoding.get_type_ids().to_vec(),
            offsets: encoding.get_offsets().to_vec(),
            is_special: encoding.get_special_tokens_mask().iter().map(|mask| *mask == 1).collect(),
            sequence: encoding.get_sequence_ids(),
            words: encoding.get_word_ids().to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

    #[test]
    fn windows_overlap_by_the_stride_and_cover_the_second_text() {
        let words = "a b c d e f g";
        let tokenizer = word_tokenizer_for([words], Purpose::Encoder).unwrap();
        let whole = tokenizer.encode_spans("a", Some(words)).unwrap();
        assert_eq!(whole.len(), 1);
        // [CLS] a [SEP] and [SEP] leave room for four tokens: a b c d, then c d e f, then e f g.
        let cut = tokenizer.with_windows(8, 2, TruncationStrategy::OnlySecond).unwrap();
        let windows = cut.encode_spans("a", Some(words)).unwrap();
        let texts: Vec<Vec<(usize, usize)>> = windows
            .iter()
            .map(|window| {
                let inside = window.offsets.iter().zip(&window.sequence);
                inside.filter(|(_, sequence)| **sequence == Some(1)).map(|(at, _)| *at).collect()
            })
            .collect();
        assert!(texts[0].len() == 4 && texts.len() == 3, "{texts:?}");
        assert_eq!(texts[0][2..], texts[1][..2]);
        assert_eq!(texts[2].last().unwrap().1, words.len());
        assert!(tokenizer.with_windows(4, 8, TruncationStrategy::OnlySecond).is_err());
    }

    #[test]
    fn offsets_count_characters_and_special_tokens_have_no_text() {
        let tokenizer = word_tokenizer_for(["é b"], Purpose::Encoder).unwrap();
        let spans = tokenizer.encode_spans("é b", None).unwrap().remove(0);
        let text: Vec<_> = spans.offsets.iter().zip(&spans.is_special).collect();
        let inside: Vec<usize> =
            text.iter().filter(|(_, special)| !**special).map(|(at, _)| at.1).collect();
        assert_eq!(inside.last(), Some(&3));
        assert_eq!(spans.sequence[0], None);
    }

    #[test]
    fn token_types_follow_the_input_names_of_the_folder_also_when_saved_again() {
        let folder = std::env::temp_dir().join(format!("limpid-types-{}", std::process::id()));
        word_tokenizer_for(["a b"], Purpose::Encoder).unwrap().save(&folder).unwrap();
        for (config, sees_pairs) in [
            (r#"{"tokenizer_class": "BertTokenizer"}"#, true),
            (r#"{"tokenizer_class": "TokenizersBackend"}"#, false),
            (r#"{"model_input_names": ["input_ids", "attention_mask"]}"#, false),
            (
                r#"{"tokenizer_class": "TokenizersBackend",
                    "model_input_names": ["input_ids", "token_type_ids"]}"#,
                true,
            ),
        ] {
            std::fs::write(folder.join("tokenizer_config.json"), config).unwrap();
            let expected: &[u32] = if sees_pairs { &[0, 0, 0, 1, 1] } else { &[0; 5] };
            for _ in 0..2 {
                let tokenizer = Tokenizer::load(&folder).unwrap();
                assert_eq!(tokenizer.encode_with_types("a", Some("b")).unwrap().1, expected);
                let spans = tokenizer.encode_spans("a", Some("b")).unwrap();
                assert_eq!(spans[0].type_ids, expected, "{config}");
                tokenizer.save(&folder).unwrap();
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
