//! A tokenizer: Hugging Face's `tokenizers` library behind typed errors.

use super::kind::TokenizerKind;
use crate::error::{Error, FileError, Result, TokenizerError};
use crate::files::{create_folder, is_lfs_pointer, write_atomic};
use std::io::ErrorKind;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use tokenizers::{
    DecoderWrapper, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer,
};

/// The byte range of the text that each token came from: start, and one past the end.
pub type Offsets = Vec<(usize, usize)>;

/// Turns text into token ids and back; stored as `tokenizer.json`.
///
/// Encoding and decoding return [`TokenizerError::Encode`] and [`TokenizerError::Decode`] where the
/// library cannot process a text or ids.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

/// The special-token roles of `transformers`, and the tokens that play them.
const ROLES: [(&str, &[&str]); 7] = [
    ("pad_token", &["<pad>", "[PAD]"]),
    ("bos_token", &["<|endoftext|>"]),
    ("eos_token", &["</s>", "<|endoftext|>"]),
    ("unk_token", &["<unk>", "[UNK]"]),
    ("cls_token", &["[CLS]"]),
    ("sep_token", &["[SEP]"]),
    ("mask_token", &["[MASK]"]),
];

/// Files of tokenizers in other formats: what a folder without `tokenizer.json` may have.
const OTHER_FILES: [&str; 8] = [
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "tokenizer.model",
    "source.spm",
    "target.spm",
];

fn encode_error(error: impl std::fmt::Display) -> Error {
    TokenizerError::Encode { reason: error.to_string() }.into()
}

impl Tokenizer {
    /// Parses the text of a `tokenizer.json`; `path` is what errors call it.
    ///
    /// Truncation and padding that the file asks for are switched off: a text that is too long is
    /// the caller's decision.
    /// # Errors
    /// [`TokenizerError::Invalid`] if it is not a tokenizer.
    pub fn from_json(path: &Path, json: &str) -> Result<Self> {
        let invalid = |reason: &dyn std::fmt::Display| TokenizerError::Invalid {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        };
        // The library panics on some files instead of refusing them: parsing the JSON first finds
        // most of those, and catching the panic the rest (a field of the wrong type, deep inside).
        let value: serde_json::Value = serde_json::from_str(json).map_err(|e| invalid(&e))?;
        let parsed = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let parsed = serde_json::from_value::<tokenizers::Tokenizer>(value);
            // A template with an unknown token is only noticed when it is used.
            if let Ok(tokenizer) = &parsed {
                let _ = tokenizer.encode_fast("a", true);
                let _ = tokenizer.encode_fast(("a", "b"), true);
            }
            parsed
        }));
        let parsed = parsed.map_err(|_| invalid(&"a field has the wrong type or value"))?;
        let mut inner = parsed.map_err(|e| invalid(&e))?;
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| invalid(&e))?;
        Ok(Self { inner })
    }

    /// Opens `tokenizer.json` in a model folder.
    /// # Errors
    /// [`TokenizerError::Missing`] if there is none, [`TokenizerError::Invalid`] if it is not a
    /// tokenizer.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        match std::fs::read_to_string(&path) {
            Ok(json) if is_lfs_pointer(json.as_bytes()) => {
                Err(FileError::GitLfsPointer { path }.into())
            }
            Ok(json) => Self::from_json(&path, &json),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let there = |name: &&&str| folder.join(name).is_file();
                let found = OTHER_FILES.iter().filter(there).copied().collect();
                Err(TokenizerError::Missing { folder: folder.to_path_buf(), found }.into())
            }
            Err(source) => Err(TokenizerError::Unreadable { path, source }.into()),
        }
    }

    /// The text of its `tokenizer.json`: the same for the same tokenizer.
    /// # Errors
    /// If the library cannot serialize it.
    pub fn to_json(&self) -> Result<String> {
        self.inner.to_string(true).map_err(|e| {
            TokenizerError::Invalid { path: "tokenizer.json".into(), reason: e.to_string() }.into()
        })
    }

    /// Writes `tokenizer.json` into a model folder, and the `tokenizer_config.json` by which
    /// `transformers` opens it.
    /// # Errors
    /// If the folder or a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let mut config = serde_json::json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": false,
        });
        for (role, tokens) in ROLES {
            if let Some(token) = tokens.iter().find(|token| self.id(token).is_some()) {
                config[role] = (*token).into();
            }
        }
        // Encoders take token type ids; `transformers` leaves them out unless they are listed.
        if self.id("[CLS]").is_some() {
            config["model_input_names"] =
                serde_json::json!(["input_ids", "token_type_ids", "attention_mask"]);
        }
        create_folder(folder)?;
        write_atomic(&folder.join("tokenizer_config.json"), format!("{config:#}\n").as_bytes())?;
        write_atomic(&folder.join("tokenizer.json"), self.to_json()?.as_bytes())
    }

    /// The token ids of a text, without special tokens.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.inner.encode_fast(text, false).map_err(encode_error)?.get_ids().to_vec())
    }

    /// The token ids of a text with the special tokens of the file's post-processor.
    pub fn encode_with_special(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.inner.encode_fast(text, true).map_err(encode_error)?.get_ids().to_vec())
    }

    /// Token ids and token type ids of a text or a pair of texts, with the special tokens of the
    /// file's post-processor.
    pub fn encode_with_types(
        &self,
        text: &str,
        second: Option<&str>,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let encoding = match second {
            None => self.inner.encode_fast(text, true),
            Some(second) => self.inner.encode_fast((text, second), true),
        };
        let encoding = encoding.map_err(encode_error)?;
        Ok((encoding.get_ids().to_vec(), encoding.get_type_ids().to_vec()))
    }

    /// The token ids of a text, without special tokens, and the byte range of each.
    pub fn encode_with_offsets(&self, text: &str) -> Result<(Vec<u32>, Offsets)> {
        let encoding = self.inner.encode(text, false).map_err(encode_error)?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// The words of a text that are out of vocabulary.
    pub fn unknown_words(&self, text: &str) -> Result<Vec<String>> {
        let Some(unknown) = self.unk_id() else { return Ok(Vec::new()) };
        let encoding = self.inner.encode(text, false).map_err(encode_error)?;
        let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
        Ok(tokens
            .filter(|(id, _)| **id == unknown)
            .filter_map(|(_, (from, to))| text.get(*from..*to))
            .map(|word| word.trim().to_string())
            // The marker of a space alone, before a mask token.
            .filter(|word| !word.is_empty())
            .collect())
    }

    /// The text of token ids, without special tokens.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.decoded(ids, true)
    }

    /// The text of token ids, special tokens included.
    pub fn decode_with_special(&self, ids: &[u32]) -> Result<String> {
        self.decoded(ids, false)
    }

    fn decoded(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        self.inner
            .decode(ids, skip_special)
            .map_err(|e| TokenizerError::Decode { reason: e.to_string() }.into())
    }

    /// The text after the normalizer (Unicode composition, lowercasing, …).
    pub(super) fn normalized(&self, text: &str) -> Result<String> {
        Ok(self.normal(text)?.get().to_string())
    }

    fn normal(&self, text: &str) -> Result<NormalizedString> {
        let mut text = NormalizedString::from(text);
        if let Some(normalizer) = self.inner.get_normalizer() {
            normalizer.normalize(&mut text).map_err(encode_error)?;
        }
        Ok(text)
    }

    /// Calls `word` with each word that the pre-tokenizer finds.
    pub(super) fn pre_tokenize(&self, text: &str, mut word: impl FnMut(&str)) -> Result<()> {
        let mut pieces = PreTokenizedString::from(self.normal(text)?);
        if let Some(splitter) = self.inner.get_pre_tokenizer() {
            splitter.pre_tokenize(&mut pieces).map_err(encode_error)?;
        }
        let pieces = pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
        let found = pieces.into_iter().map(|(piece, ..)| piece).filter(|piece| !piece.is_empty());
        found.for_each(&mut word);
        Ok(())
    }

    /// Its kind, if it is one of ours; `None` for BPE that is not byte-level.
    pub fn kind(&self) -> Option<TokenizerKind> {
        let byte_level = matches!(self.inner.get_decoder(), Some(DecoderWrapper::ByteLevel(_)));
        match self.inner.get_model() {
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
        let added = self.inner.get_added_tokens_decoder();
        let mut special: Vec<(u32, String)> = added
            .iter()
            .filter(|(_, token)| token.special)
            .map(|(id, token)| (*id, token.content.clone()))
            .collect();
        special.sort_unstable();
        special
    }

    /// The id of the unknown token.
    pub fn unk_id(&self) -> Option<u32> {
        self.id("<unk>").or_else(|| self.id("[UNK]"))
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
        self.inner.id_to_token(id).unwrap_or_else(|| format!("<{id}?>"))
    }

    /// Whether an id has a token: other tools' vocabularies may have gaps.
    pub fn has_id(&self, id: u32) -> bool {
        self.inner.id_to_token(id).is_some()
    }

    /// The id of a token, as the vocabulary spells it.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// The number of tokens, special ones included.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}
