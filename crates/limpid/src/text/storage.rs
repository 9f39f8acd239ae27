//! Tokenizers as files: `tokenizer.json`, or what other folders have instead.

use super::formats::{self, Loaded, PROBES};
use super::tokenizer::{Backend, Tokenizer};
use crate::error::{FileError, Result, TokenizerError};
use crate::files::{create_folder, is_lfs_pointer, write_atomic};
use crate::hash::hash_bytes;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

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

/// What `transformers` reads beside a tokenizer.
const BESIDE: [&str; 5] = [
    SETTINGS,
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
];
const SETTINGS: &str = "tokenizer_config.json";

impl Tokenizer {
    /// Parses the text of a `tokenizer.json`; `path` is what errors call it.
    ///
    /// Truncation and padding that the file asks for are switched off: a text that is too long is
    /// the caller's decision.
    ///
    /// # Errors
    /// [`TokenizerError::Invalid`] if it is not a tokenizer.
    pub fn from_json(path: &Path, json: &str) -> Result<Self> {
        let invalid = |reason: String| TokenizerError::Invalid { path: path.into(), reason };
        let value = serde_json::from_str(json).map_err(|e| invalid(e.to_string()))?;
        let inner = Box::new(Self::library(path, value)?);
        Ok(Self::new(Backend::Library(inner), true))
    }

    /// The library's tokenizer of a `tokenizer.json`.
    pub(super) fn library(path: &Path, json: serde_json::Value) -> Result<tokenizers::Tokenizer> {
        let invalid = |reason: &dyn std::fmt::Display| TokenizerError::Invalid {
            path: path.to_path_buf(),
            reason: reason.to_string(),
        };
        // The library panics on some files instead of refusing them: parsing the JSON first finds
        // most of those, and catching the panic the rest (a field of the wrong type, deep inside).
        let parsed = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let parsed = serde_json::from_value::<tokenizers::Tokenizer>(json);
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
        Ok(inner)
    }

    /// Opens the tokenizer of a model folder: `tokenizer.json`, or else a SentencePiece model,
    /// `vocab.txt`, or `vocab.json` with `merges.txt`.
    ///
    /// The tokenizer class of a model folder that names none depends on the family of its model,
    /// which `load_tokenizer` of the hub knows; such a folder is refused here.
    ///
    /// # Errors
    /// [`TokenizerError::Unreadable`] or [`TokenizerError::Invalid`] for a file that cannot be
    /// read, [`TokenizerError::NotFound`], [`TokenizerError::UnknownClass`] or
    /// [`TokenizerError::Incomplete`] for a folder without a tokenizer that we know.
    pub fn load(folder: &Path) -> Result<Self> {
        Self::load_as(folder, None)
    }

    /// The same; a folder that names no tokenizer class has this one, by its name in
    /// `transformers`.
    ///
    /// # Errors
    /// Those of [`Tokenizer::load`].
    pub fn load_as(folder: &Path, class: Option<&str>) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        match std::fs::read_to_string(&path) {
            Ok(json) if is_lfs_pointer(json.as_bytes()) => {
                Err(FileError::GitLfsPointer { path }.into())
            }
            Ok(json) => Ok(Self {
                has_types: formats::has_types(folder)?,
                beside: files_beside(folder)?,
                ..Self::from_json(&path, &json)?
            }),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound && folder.is_dir() => {
                let backend = match formats::load(folder, class)? {
                    Loaded::Library(inner) => Backend::Library(inner),
                    Loaded::Pieces(pieces) => Backend::Pieces(pieces),
                };
                let tokenizer = Self::new(backend, formats::has_types(folder)?);
                Ok(Self { beside: files_beside(folder)?, ..tokenizer })
            }
            Err(source) => Err(TokenizerError::Unreadable { path, source }.into()),
        }
    }

    /// Whether a folder has files of a tokenizer.
    pub fn exists_in(folder: &Path) -> bool {
        Self::main_file(folder).is_some()
    }

    /// The file that stands for a folder's tokenizer: `tokenizer.json`, or else the model or the
    /// vocabulary.
    pub fn main_file(folder: &Path) -> Option<PathBuf> {
        formats::main_file(folder)
    }

    /// The files of a folder's tokenizer: `tokenizer.json`, or else all others.
    pub fn files(folder: &Path) -> Vec<PathBuf> {
        formats::files(folder)
    }

    /// The text of its `tokenizer.json`: the same for the same tokenizer.
    ///
    /// # Errors
    /// [`TokenizerError::NotConvertible`] for a SentencePiece tokenizer that it cannot describe.
    pub fn to_json(&self) -> Result<String> {
        let invalid =
            |reason: String| TokenizerError::Invalid { path: "tokenizer.json".into(), reason };
        match &self.backend {
            Backend::Library(inner) => {
                inner.to_string(true).map_err(|e| invalid(e.to_string()).into())
            }
            Backend::Pieces(pieces) => {
                let json = pieces.to_library()?;
                let inner = Self::library(Path::new("tokenizer.json"), json)?;
                let made = Self::new(Backend::Library(Box::new(inner)), true);
                // Whole, within a word and beside another.
                let symbols = pieces.symbols();
                let texts = symbols.iter().map(|symbol| format!("a{symbol}b {symbol}{symbol} c"));
                self.check_same(&made, &texts.collect::<Vec<String>>())?;
                made.to_json()
            }
        }
    }

    /// Refuses a tokenizer made of this one that encodes one of [`PROBES`] or `texts` in another
    /// way.
    fn check_same(&self, made: &Self, texts: &[String]) -> Result<()> {
        for text in PROBES.into_iter().chain(texts.iter().map(String::as_str)) {
            if made.encode(text)? != self.encode(text)? {
                let reason = format!("the tokenizers library would tokenize {text:?} differently");
                return Err(TokenizerError::NotConvertible { reason }.into());
            }
        }
        Ok(())
    }

    /// What tells it from other tokenizers: its `tokenizer.json`, or the hashes of its files.
    ///
    /// # Errors
    /// If the library cannot serialize it.
    pub fn fingerprint(&self) -> Result<String> {
        match &self.backend {
            Backend::Library(_) => self.to_json(),
            Backend::Pieces(pieces) => Ok((pieces.files().iter())
                .map(|(name, bytes)| format!("{name} {:016x}\n", hash_bytes(bytes)))
                .collect()),
        }
    }

    /// Writes `tokenizer.json` into a model folder; of a SentencePiece tokenizer, the files that it
    /// came from. Beside it stand the files that its own folder had there, with the languages that
    /// were set, or else a `tokenizer_config.json` by which `transformers` opens it.
    ///
    /// # Errors
    /// If the folder or a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<()> {
        create_folder(folder)?;
        let write = |name: &str, bytes: &[u8]| write_atomic(&folder.join(name), bytes);
        let is_json = match &self.backend {
            Backend::Pieces(pieces) => {
                let is_beside = |name: &str| BESIDE.contains(&name);
                for (name, bytes) in pieces.files().iter().filter(|(name, _)| !is_beside(name)) {
                    write(name, bytes)?;
                }
                false
            }
            Backend::Library(_) => true,
        };
        for (name, bytes) in self.beside.iter().filter(|(name, _)| name != SETTINGS) {
            write(name, bytes)?;
        }
        let own = self.beside.iter().find(|(name, _)| name == SETTINGS);
        match own {
            Some((_, bytes)) => write(SETTINGS, &self.with_languages_in(bytes)?)?,
            None if is_json => write(SETTINGS, format!("{:#}\n", self.settings()).as_bytes())?,
            None => {}
        }
        if is_json { write("tokenizer.json", self.to_json()?.as_bytes()) } else { Ok(()) }
    }

    /// The text of a `tokenizer_config.json` with the languages that were set.
    fn with_languages_in(&self, text: &[u8]) -> Result<Vec<u8>> {
        let codes = self.language_codes();
        if codes.is_empty() {
            return Ok(text.to_vec());
        }
        let invalid = |reason: serde_json::Error| TokenizerError::Invalid {
            path: SETTINGS.into(),
            reason: reason.to_string(),
        };
        let mut settings: Map<String, Value> = serde_json::from_slice(text).map_err(invalid)?;
        settings.extend(codes.into_iter().map(|(key, code)| (key.into(), code.into())));
        Ok(format!("{:#}\n", Value::Object(settings)).into_bytes())
    }

    /// A `tokenizer_config.json` for a tokenizer that came without one.
    fn settings(&self) -> Value {
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
        if !self.has_types {
            config["model_input_names"] = serde_json::json!(["input_ids", "attention_mask"]);
        } else if self.id("[CLS]").is_some() {
            config["model_input_names"] =
                serde_json::json!(["input_ids", "token_type_ids", "attention_mask"]);
        }
        for (key, code) in self.language_codes() {
            config[key] = code.into();
        }
        config
    }
}

/// The files of a folder that are kept beside its tokenizer.
fn files_beside(folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for name in BESIDE {
        let path = folder.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => found.push((name.to_string(), bytes)),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => return Err(TokenizerError::Unreadable { path, source }.into()),
        }
    }
    Ok(found)
}
