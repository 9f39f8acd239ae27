//! A tokenizer: Hugging Face's library behind our errors.

use super::kind::TokenizerKind;
use crate::error::{Error, Result};
use crate::files::{create_folder, write_aside};
use std::path::Path;
use tokenizers::{
    DecoderWrapper, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer,
};

/// The bytes of a text that each of its tokens came from: first, and one beyond the last.
pub type Offsets = Vec<(usize, usize)>;

/// Turns text into token ids and back; stored as `tokenizer.json`.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

/// The roles `transformers` knows, and the tokens that play them.
const ROLES: [(&str, &[&str]); 7] = [
    ("pad_token", &["<pad>", "[PAD]"]),
    ("bos_token", &["<|endoftext|>"]),
    ("eos_token", &["</s>", "<|endoftext|>"]),
    ("unk_token", &["<unk>", "[UNK]"]),
    ("cls_token", &["[CLS]"]),
    ("sep_token", &["[SEP]"]),
    ("mask_token", &["[MASK]"]),
];

fn untokenizable(error: impl std::fmt::Display) -> Error {
    Error::data(format!("this text cannot be tokenized: {error}"))
}

/// Calls what may panic over a damaged file; its message is for the makers of the crate, not for somebody who has such a file.
fn quietly<T>(work: impl FnOnce() -> T + std::panic::UnwindSafe) -> std::thread::Result<T> {
    thread_local! {
        static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    }
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = std::panic::catch_unwind(work);
    QUIET.set(false);
    done
}

impl Tokenizer {
    /// Reads the text of a `tokenizer.json`.
    pub fn from_json(path: &Path, json: &str) -> Result<Self> {
        let bad = |e: &dyn std::fmt::Display| {
            Error::format(path, format!("not a tokenizer: {e}")).hint("is it complete? copy it again")
        };
        // The crate expects JSON in some places and panics where it finds something else: a damaged file is found here.
        let value: serde_json::Value = serde_json::from_str(json).map_err(|e| bad(&e))?;
        // What it still trips over (a part of the wrong type, deep inside) is the file's fault as well.
        let parsed = quietly(|| {
            let parsed = serde_json::from_value::<tokenizers::Tokenizer>(value);
            // A template that puts an unknown token around a text is noticed when it is used.
            let _ = parsed.as_ref().map(|tokenizer| {
                (tokenizer.encode_fast("a", true), tokenizer.encode_fast(("a", "b"), true)).0.is_ok()
            });
            parsed
        });
        let parsed = parsed.map_err(|_| bad(&"a part of it is not what it should be"))?;
        let mut inner = parsed.map_err(|e| bad(&e))?;
        // A file may ask for texts to be cut or filled up to a length. Here a text that is too long is an error that says so.
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| Error::format(path, e))?;
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

    /// The text of its `tokenizer.json`: the same for the same tokenizer.
    pub fn to_json(&self) -> Result<String> {
        self.inner.to_string(true).map_err(|e| Error::format(Path::new("tokenizer.json"), e))
    }

    /// Writes `tokenizer.json` into a model folder, and the `tokenizer_config.json` by which `transformers` opens it.
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
        // An encoder wants to know which of two texts a token belongs to; `transformers` leaves that out unless it is asked.
        if self.id("[CLS]").is_some() {
            config["model_input_names"] =
                serde_json::json!(["input_ids", "token_type_ids", "attention_mask"]);
        }
        create_folder(folder)?;
        write_aside(&folder.join("tokenizer_config.json"), format!("{config:#}\n").as_bytes())?;
        write_aside(&folder.join("tokenizer.json"), self.to_json()?.as_bytes())
    }

    /// The ids of a text, without special tokens.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.inner.encode_fast(text, false).map_err(untokenizable)?.get_ids().to_vec())
    }

    /// The ids of a text with the special tokens that its file puts around it.
    pub fn encode_with_special(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.inner.encode_fast(text, true).map_err(untokenizable)?.get_ids().to_vec())
    }

    /// The ids of a text, or of two, with the special tokens that its file puts around them, and for each which of the two it belongs to.
    pub fn encode_typed(&self, text: &str, second: Option<&str>) -> Result<(Vec<u32>, Vec<u32>)> {
        let encoding = match second {
            None => self.inner.encode_fast(text, true),
            Some(second) => self.inner.encode_fast((text, second), true),
        };
        let encoding = encoding.map_err(untokenizable)?;
        Ok((encoding.get_ids().to_vec(), encoding.get_type_ids().to_vec()))
    }

    /// The ids of a text, without special tokens, and the bytes of the text that each came from.
    pub fn encode_with_offsets(&self, text: &str) -> Result<(Vec<u32>, Offsets)> {
        let encoding = self.inner.encode(text, false);
        let encoding = encoding.map_err(|e| Error::data(format!("this text cannot be tokenized: {e}")))?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// The words of a text that are not in the vocabulary.
    pub fn unknown_words(&self, text: &str) -> Result<Vec<String>> {
        let Some(unknown) = self.unknown() else { return Ok(Vec::new()) };
        let encoding = self.inner.encode(text, false).map_err(untokenizable)?;
        let places = encoding.get_ids().iter().zip(encoding.get_offsets()).filter(|(id, _)| **id == unknown);
        Ok(places
            .filter_map(|(_, (from, to))| text.get(*from..*to))
            .map(|word| word.trim().to_string())
            // Only the sign of a space, before a mask.
            .filter(|word| !word.is_empty())
            .collect())
    }

    /// The text of some ids; special tokens are left out.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.decoded(ids, true)
    }

    /// The text of some ids, special tokens as they are written.
    pub fn decode_with_special(&self, ids: &[u32]) -> Result<String> {
        self.decoded(ids, false)
    }

    fn decoded(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        self.inner
            .decode(ids, skip_special)
            .map_err(|e| Error::data(format!("these tokens have no text: {e}")))
    }

    /// A text as the tokenizer sees it: composed, in small letters, or whatever its normalizer does.
    pub(super) fn normalized(&self, text: &str) -> Result<String> {
        Ok(self.normal(text)?.get().to_string())
    }

    fn normal(&self, text: &str) -> Result<NormalizedString> {
        let mut text = NormalizedString::from(text);
        if let Some(normalizer) = self.inner.get_normalizer() {
            normalizer.normalize(&mut text).map_err(untokenizable)?;
        }
        Ok(text)
    }

    /// Gives the words a text falls into before the vocabulary is asked.
    pub(super) fn split(&self, text: &str, mut word: impl FnMut(&str)) -> Result<()> {
        let mut pieces = PreTokenizedString::from(self.normal(text)?);
        if let Some(splitter) = self.inner.get_pre_tokenizer() {
            splitter.pre_tokenize(&mut pieces).map_err(untokenizable)?;
        }
        let pieces = pieces.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
        pieces.into_iter().filter(|(piece, _, _)| !piece.is_empty()).for_each(|(piece, _, _)| word(piece));
        Ok(())
    }

    /// Which kind it is, as far as it is one of ours; other people's BPE that is not byte-level counts as none.
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

    /// The id of the token for what is not in the vocabulary.
    pub fn unknown(&self) -> Option<u32> {
        self.id("<unk>").or_else(|| self.id("[UNK]"))
    }

    /// The id of the token that ends a document or a sentence.
    pub fn end(&self) -> Option<u32> {
        ["</s>", "<|endoftext|>", "[SEP]"].iter().find_map(|token| self.id(token))
    }

    /// The id of the token that fills a batch up; a decoder of ours is given it first.
    pub fn pad(&self) -> Option<u32> {
        ["<pad>", "[PAD]"].iter().find_map(|token| self.id(token))
    }

    /// The token for a gap, and how it is written.
    pub fn mask(&self) -> Option<(u32, &'static str)> {
        ["[MASK]", "<mask>"].into_iter().find_map(|token| Some((self.id(token)?, token)))
    }

    /// The token of an id, as the vocabulary writes it.
    pub fn token(&self, id: u32) -> String {
        self.inner.id_to_token(id).unwrap_or_else(|| format!("<{id}?>"))
    }

    /// Whether there is a token of this id: vocabularies of other makers may have gaps.
    pub fn has(&self, id: u32) -> bool {
        self.inner.id_to_token(id).is_some()
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
