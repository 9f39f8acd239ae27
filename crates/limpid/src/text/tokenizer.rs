//! A tokenizer: Hugging Face's `tokenizers` library or SentencePiece, behind typed errors.

use super::formats::{PieceTokenizer, Side, Token};
use super::kind::TokenizerKind;
use super::languages::Languages;
use super::sentencepiece::Algorithm;
use crate::error::{Error, Result, TokenizerError};
use tokenizers::{
    DecoderWrapper, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer,
};

/// The byte range of the text that each token came from: start, and one past the end.
pub type Offsets = Vec<(usize, usize)>;

/// Turns text into token ids and back; stored as `tokenizer.json`, or in the files it came from.
///
/// Encoding and decoding return [`TokenizerError::Encode`] and [`TokenizerError::Decode`] where the
/// library cannot process a text or ids.
pub struct Tokenizer {
    pub(super) backend: Backend,
    /// Whether models are told which text of a pair a token belongs to; if not, all types are 0.
    pub(super) has_types: bool,
    /// Those that were set.
    pub(super) languages: Languages,
    /// Files of its folder that say more of it, by name: settings, special tokens, a chat template.
    pub(super) beside: Vec<(String, Vec<u8>)>,
}

/// What does the work.
pub(super) enum Backend {
    /// Hugging Face's library.
    Library(Box<tokenizers::Tokenizer>),
    /// SentencePiece, where `transformers` uses it itself: Marian, M2M-100, a bare model.
    Pieces(Box<PieceTokenizer>),
}

fn encode_error(error: impl std::fmt::Display) -> Error {
    TokenizerError::Encode { reason: error.to_string() }.into()
}

impl Tokenizer {
    pub(super) fn new(backend: Backend, has_types: bool) -> Self {
        Self { backend, has_types, languages: Languages::default(), beside: Vec::new() }
    }

    /// The token ids of a text, without special tokens.
    ///
    /// # Errors
    /// If the library cannot tokenize the text.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        match &self.backend {
            Backend::Library(inner) => {
                Ok(inner.encode_fast(text, false).map_err(encode_error)?.get_ids().to_vec())
            }
            Backend::Pieces(pieces) => Ok(ids(&pieces.encode(text, Side::Source))),
        }
    }

    /// The token ids of a text of the target language, without special tokens: the same as
    /// [`Tokenizer::encode`] but for translators with a tokenizer per side.
    ///
    /// # Errors
    /// If the library cannot tokenize the text.
    pub fn encode_target(&self, text: &str) -> Result<Vec<u32>> {
        match &self.backend {
            Backend::Library(_) => self.encode(text),
            Backend::Pieces(pieces) => Ok(ids(&pieces.encode(text, Side::Target))),
        }
    }

    /// The token ids of a text with the special tokens of the file's post-processor.
    ///
    /// # Errors
    /// If the library cannot tokenize the text.
    pub fn encode_with_special(&self, text: &str) -> Result<Vec<u32>> {
        match &self.backend {
            Backend::Library(inner) => {
                Ok(inner.encode_fast(text, true).map_err(encode_error)?.get_ids().to_vec())
            }
            Backend::Pieces(pieces) => Ok(pieces.surround(&self.encode(text)?)),
        }
    }

    /// Token ids and token type ids of a text or a pair of texts, with the special tokens of the
    /// file's post-processor.
    ///
    /// # Errors
    /// If the library cannot tokenize the text.
    pub fn encode_with_types(
        &self,
        text: &str,
        second: Option<&str>,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let inner = match &self.backend {
            Backend::Library(inner) => inner,
            Backend::Pieces(pieces) => {
                let mut ids = self.encode(text)?;
                ids.extend(second.map(|text| self.encode(text)).transpose()?.unwrap_or_default());
                let ids = pieces.surround(&ids);
                let types = vec![0; ids.len()];
                return Ok((ids, types));
            }
        };
        let encoding = match second {
            None => inner.encode_fast(text, true),
            Some(second) => inner.encode_fast((text, second), true),
        };
        let encoding = encoding.map_err(encode_error)?;
        Ok((encoding.get_ids().to_vec(), self.types_of(&encoding)))
    }

    /// The token ids of a text, without special tokens, and the byte range of each.
    ///
    /// # Errors
    /// If the library cannot tokenize the text.
    pub fn encode_with_offsets(&self, text: &str) -> Result<(Vec<u32>, Offsets)> {
        match &self.backend {
            Backend::Library(inner) => {
                let encoding = inner.encode(text, false).map_err(encode_error)?;
                Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
            }
            Backend::Pieces(pieces) => {
                let tokens = pieces.encode(text, Side::Source);
                Ok(tokens.into_iter().map(|(id, range)| (id, (range.start, range.end))).unzip())
            }
        }
    }

    /// The words of a text that are out of vocabulary.
    ///
    /// # Errors
    /// If the library cannot tokenize the text.
    pub fn unknown_words(&self, text: &str) -> Result<Vec<String>> {
        let Some(unknown) = self.unk_id() else { return Ok(Vec::new()) };
        let (ids, offsets) = self.encode_with_offsets(text)?;
        Ok((ids.iter().zip(offsets))
            .filter(|(id, _)| **id == unknown)
            .filter_map(|(_, (from, to))| text.get(from..to))
            .map(|word| word.trim().to_string())
            // The marker of a space alone, before a mask token.
            .filter(|word| !word.is_empty())
            .collect())
    }

    /// The text of token ids, without special tokens.
    ///
    /// # Errors
    /// If the library cannot decode them.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.decoded(ids, true)
    }

    /// The text of token ids, special tokens included.
    ///
    /// # Errors
    /// If the library cannot decode them.
    pub fn decode_with_special(&self, ids: &[u32]) -> Result<String> {
        self.decoded(ids, false)
    }

    fn decoded(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        match &self.backend {
            // GPT-1's decoder of the library counts the tokens down from one less than none.
            Backend::Library(inner)
                if matches!(inner.get_decoder(), Some(DecoderWrapper::BPE(_)))
                    && (ids.iter().filter_map(|id| inner.id_to_token(*id))).all(|token| {
                        skip_special && inner.get_added_vocabulary().is_special_token(&token)
                    }) =>
            {
                Ok(String::new())
            }
            Backend::Library(inner) => inner
                .decode(ids, skip_special)
                .map_err(|e| TokenizerError::Decode { reason: e.to_string() }.into()),
            Backend::Pieces(pieces) => pieces.decode(ids, skip_special),
        }
    }

    /// The text after the normalizer (Unicode composition, lowercasing, …).
    pub(super) fn normalized(&self, text: &str) -> Result<String> {
        Ok(self.normal(text)?.get().to_string())
    }

    fn normal(&self, text: &str) -> Result<NormalizedString> {
        let inner = match &self.backend {
            Backend::Library(inner) => inner,
            Backend::Pieces(pieces) => return Ok(pieces.normalized(text).into()),
        };
        let mut text = NormalizedString::from(text);
        if let Some(normalizer) = inner.get_normalizer() {
            normalizer.normalize(&mut text).map_err(encode_error)?;
        }
        Ok(text)
    }

    /// Calls `word` with each word that the pre-tokenizer finds.
    pub(super) fn pre_tokenize(&self, text: &str, mut word: impl FnMut(&str)) -> Result<()> {
        let mut pieces = PreTokenizedString::from(self.normal(text)?);
        if let Backend::Library(inner) = &self.backend
            && let Some(splitter) = inner.get_pre_tokenizer()
        {
            splitter.pre_tokenize(&mut pieces).map_err(encode_error)?;
        }
        let pieces = pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
        let found = pieces.into_iter().map(|(piece, ..)| piece).filter(|piece| !piece.is_empty());
        found.for_each(&mut word);
        Ok(())
    }

    /// Its kind, if it is one of ours; `None` for BPE that is not byte-level.
    pub fn kind(&self) -> Option<TokenizerKind> {
        let inner = match &self.backend {
            Backend::Library(inner) => inner,
            Backend::Pieces(pieces) => {
                return match pieces.algorithm() {
                    Algorithm::Unigram => Some(TokenizerKind::Unigram),
                    Algorithm::Word => Some(TokenizerKind::Word),
                    Algorithm::Char => Some(TokenizerKind::Character),
                    Algorithm::Bpe => None,
                };
            }
        };
        let byte_level = matches!(inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)));
        match inner.get_model() {
            ModelWrapper::WordPiece(_) => Some(TokenizerKind::WordPiece),
            ModelWrapper::WordLevel(_) => Some(TokenizerKind::Word),
            ModelWrapper::Unigram(_) => Some(TokenizerKind::Unigram),
            ModelWrapper::BPE(bpe) => {
                let merges = serde_json::to_value(bpe)
                    .is_ok_and(|bpe| bpe["merges"].as_array().is_some_and(|m| !m.is_empty()));
                match (byte_level, merges) {
                    (true, true) => Some(TokenizerKind::Bpe),
                    (true, false) => Some(TokenizerKind::Byte),
                    (false, false) => Some(TokenizerKind::Character),
                    (false, true) => None,
                }
            }
        }
    }

    /// The special tokens and their ids, in the order of the ids.
    pub fn special_tokens(&self) -> Vec<(u32, String)> {
        let inner = match &self.backend {
            Backend::Library(inner) => inner,
            Backend::Pieces(pieces) => return pieces.special_tokens(),
        };
        let added = inner.get_added_tokens_decoder();
        let mut special: Vec<(u32, String)> = added
            .iter()
            .filter(|(_, token)| token.special)
            .map(|(id, token)| (*id, token.content.clone()))
            .collect();
        special.sort_unstable();
        special
    }

    /// The tokens among which those of languages are: the special ones, and of M2M-100 all, whose
    /// languages are not special.
    pub(super) fn language_tokens(&self) -> Vec<(u32, String)> {
        match &self.backend {
            Backend::Pieces(pieces) => pieces.language_tokens(),
            Backend::Library(_) => self.special_tokens(),
        }
    }

    /// The id of the unknown token.
    pub fn unk_id(&self) -> Option<u32> {
        match &self.backend {
            Backend::Library(_) => self.id("<unk>").or_else(|| self.id("[UNK]")),
            Backend::Pieces(pieces) => Some(pieces.unknown()),
        }
    }

    /// The id of the end-of-sequence token.
    pub fn eos_id(&self) -> Option<u32> {
        ["</s>", "<|endoftext|>", "[SEP]"].iter().find_map(|token| self.id(token))
    }

    /// The id of the padding token; our encoder-decoders also start decoding with it.
    pub fn pad_id(&self) -> Option<u32> {
        ["<pad>", "[PAD]"].iter().find_map(|token| self.id(token))
    }

    /// The mask token: its id and its text.
    pub fn mask_token(&self) -> Option<(u32, &'static str)> {
        ["[MASK]", "<mask>"].into_iter().find_map(|token| Some((self.id(token)?, token)))
    }

    /// The token of an id, as the vocabulary spells it.
    pub fn token(&self, id: u32) -> String {
        self.find_token(id).unwrap_or_else(|| format!("<{id}?>"))
    }

    /// Whether an id has a token: other tools' vocabularies may have gaps.
    pub fn has_id(&self, id: u32) -> bool {
        self.find_token(id).is_some()
    }

    fn find_token(&self, id: u32) -> Option<String> {
        match &self.backend {
            Backend::Library(inner) => inner.id_to_token(id),
            Backend::Pieces(pieces) => pieces.token(id).map(str::to_string),
        }
    }

    /// The id of a token, as the vocabulary spells it.
    pub fn id(&self, token: &str) -> Option<u32> {
        match &self.backend {
            Backend::Library(inner) => inner.token_to_id(token),
            Backend::Pieces(pieces) => pieces.id(token),
        }
    }

    /// The number of tokens, special ones included.
    pub fn vocab_size(&self) -> usize {
        match &self.backend {
            Backend::Library(inner) => inner.get_vocab_size(true),
            Backend::Pieces(pieces) => pieces.vocab_size(Side::Source),
        }
    }

    /// The number of tokens of the target language: another than [`Tokenizer::vocab_size`] where
    /// the sides of a translator have vocabularies of their own.
    pub fn target_vocab_size(&self) -> usize {
        match &self.backend {
            Backend::Library(_) => self.vocab_size(),
            Backend::Pieces(pieces) => pieces.vocab_size(Side::Target),
        }
    }
}

fn ids(tokens: &[Token]) -> Vec<u32> {
    tokens.iter().map(|(id, _)| *id).collect()
}
