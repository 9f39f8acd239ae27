//! A tokenizer: Hugging Face's library behind our errors.

use crate::error::{Error, Result};
use crate::files::write_aside;
use std::path::Path;

/// The bytes of a text that each of its tokens came from: first, and one beyond the last.
pub type Offsets = Vec<(usize, usize)>;

/// Turns text into token ids and back; stored as `tokenizer.json`.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

impl Tokenizer {
    /// Reads the text of a `tokenizer.json`.
    pub fn from_json(path: &Path, json: &str) -> Result<Self> {
        let inner = json.parse().map_err(|e| {
            Error::format(path, format!("not a tokenizer: {e}")).hint("is it complete? copy it again")
        })?;
        Ok(Self { inner })
    }

    /// Opens `tokenizer.json` in a model folder.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let json = std::fs::read_to_string(&path).map_err(|e| {
            Error::io("read", &path, &e)
                .hint("text needs a tokenizer: a tokenizer.json as Hugging Face's library writes it")
        })?;
        Self::from_json(&path, &json)
    }

    /// Writes `tokenizer.json` into a model folder, and the `tokenizer_config.json` by which `transformers` opens it.
    pub fn save(&self, folder: &Path) -> Result<()> {
        let mut config = serde_json::json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": false,
        });
        for (key, token) in [("pad_token", "<pad>"), ("eos_token", "</s>"), ("unk_token", "<unk>")] {
            if self.id(token).is_some() {
                config[key] = token.into();
            }
        }
        write_aside(&folder.join("tokenizer_config.json"), format!("{config:#}\n").as_bytes())?;
        let path = folder.join("tokenizer.json");
        let json = self.inner.to_string(true).map_err(|e| Error::format(&path, e))?;
        write_aside(&path, json.as_bytes())
    }

    /// The ids of a text, without special tokens.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        let encoding = self.inner.encode_fast(text, false);
        let encoding = encoding.map_err(|e| Error::data(format!("this text cannot be tokenized: {e}")))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The ids of a text, without special tokens, and the bytes of the text that each came from.
    pub fn encode_with_offsets(&self, text: &str) -> Result<(Vec<u32>, Offsets)> {
        let encoding = self.inner.encode(text, false);
        let encoding = encoding.map_err(|e| Error::data(format!("this text cannot be tokenized: {e}")))?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// The words of a text that are not in the vocabulary.
    pub fn unknown_words(&self, text: &str) -> Result<Vec<String>> {
        let Some(unknown) = self.id("<unk>") else { return Ok(Vec::new()) };
        let encoding = self.inner.encode(text, false);
        let encoding = encoding.map_err(|e| Error::data(format!("this text cannot be tokenized: {e}")))?;
        let places = encoding.get_ids().iter().zip(encoding.get_offsets()).filter(|(id, _)| **id == unknown);
        Ok(places
            .filter_map(|(_, (from, to))| text.get(*from..*to))
            .map(|word| word.trim().to_string())
            .collect())
    }

    /// The text of some ids; special tokens are left out.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.inner.decode(ids, true).map_err(|e| Error::data(format!("these tokens have no text: {e}")))
    }

    /// The pieces a text falls into before the vocabulary is asked.
    pub(super) fn split(&self, text: &str) -> Result<Vec<String>> {
        use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer};
        let mut pieces = PreTokenizedString::from(text);
        if let Some(splitter) = self.inner.get_pre_tokenizer() {
            splitter
                .pre_tokenize(&mut pieces)
                .map_err(|e| Error::data(format!("this text cannot be tokenized: {e}")))?;
        }
        let pieces = pieces.get_splits(OffsetReferential::Original, OffsetType::Byte);
        Ok(pieces.into_iter().map(|(piece, _, _)| piece.to_string()).collect())
    }

    /// The token of an id, as the vocabulary writes it.
    pub fn token(&self, id: u32) -> String {
        self.inner.id_to_token(id).unwrap_or_else(|| format!("<{id}?>"))
    }

    /// The id of a token, as the vocabulary writes it.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// How many tokens there are.
    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}
