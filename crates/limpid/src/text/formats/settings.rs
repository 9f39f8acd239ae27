//! What a folder says of its tokenizer: `tokenizer_config.json`, `special_tokens_map.json`,
//! `added_tokens.json`, and the `model_type` of `config.json`.

use crate::error::{Result, TokenizerError};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tokenizers::AddedToken;

/// The roles of special tokens, in the order in which `transformers` adds them.
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The settings of a tokenizer.
pub(super) struct Settings {
    pub folder: PathBuf,
    values: Map<String, Value>,
    /// Tokens beside the vocabulary's, by id.
    pub added: BTreeMap<u32, AddedToken>,
    model_type: Option<String>,
}

/// The text of a file, or `None` if there is none.
pub(super) fn read_optional(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(TokenizerError::Unreadable { path: path.to_path_buf(), source }.into()),
    }
}

/// A refusal of a file.
pub(super) fn invalid(path: &Path, reason: impl std::fmt::Display) -> TokenizerError {
    TokenizerError::Invalid { path: path.to_path_buf(), reason: reason.to_string() }
}

fn object(path: &Path) -> Result<Map<String, Value>> {
    match read_optional(path)? {
        Some(text) => Ok(serde_json::from_str(&text).map_err(|e| invalid(path, e))?),
        None => Ok(Map::new()),
    }
}

/// Whether the tokenizer of a folder gives token types: `model_input_names` says so, or else the
/// class. `TokenizersBackend`, which version 5 of `transformers` writes, gives none; version 4 gave
/// them with every class of which the models see them.
pub(in crate::text) fn has_types(folder: &Path) -> Result<bool> {
    let values = object(&folder.join("tokenizer_config.json"))?;
    Ok(match values.get("model_input_names").and_then(Value::as_array) {
        Some(names) => names.iter().any(|name| name == "token_type_ids"),
        None => values.get("tokenizer_class").is_none_or(|class| class != "TokenizersBackend"),
    })
}

/// A special token: nothing that normalization changes.
pub(super) fn special(content: &str) -> AddedToken {
    AddedToken::from(content.to_string(), true)
}

/// A token as the files write it: its text, or an object.
fn token(value: &Value, is_special: bool) -> Option<AddedToken> {
    if let Some(content) = value.as_str() {
        return Some(AddedToken::from(content.to_string(), is_special));
    }
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    let is_special = flag("special").unwrap_or(is_special);
    let token = AddedToken::from(value.get("content")?.as_str()?.to_string(), is_special);
    Some(
        token
            .single_word(flag("single_word").unwrap_or(false))
            .lstrip(flag("lstrip").unwrap_or(false))
            .rstrip(flag("rstrip").unwrap_or(false))
            .normalized(flag("normalized").unwrap_or(!is_special)),
    )
}

impl Settings {
    /// Reads the files of a folder; all of them may be missing.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("tokenizer_config.json");
        let mut values = object(&path)?;
        let mut added = BTreeMap::new();
        if let Some(list) = values.remove("added_tokens_decoder") {
            for (id, value) in list.as_object().into_iter().flatten() {
                let id = id.parse().ok().zip(token(value, false));
                let (id, token) = id.ok_or_else(|| invalid(&path, "added_tokens_decoder"))?;
                added.insert(id, token);
            }
        } else {
            let special = object(&folder.join("special_tokens_map.json"))?;
            values.extend(special.into_iter().filter(|(_, value)| !value.is_null()));
            let path = folder.join("added_tokens.json");
            let named: Vec<String> = (ROLES.iter())
                .filter_map(|role| values.get(*role))
                .chain(extra(&values))
                .filter_map(|value| Some(token(value, true)?.content))
                .collect();
            for (content, id) in object(&path)? {
                let id = id.as_u64().and_then(|id| u32::try_from(id).ok());
                let id = id.ok_or_else(|| invalid(&path, format!("'{content}' has no id")))?;
                let is_special = named.contains(&content);
                added.insert(id, AddedToken::from(content, is_special));
            }
        }
        let model_type = object(&folder.join("config.json")).unwrap_or_default();
        let model_type = model_type.get("model_type").and_then(Value::as_str).map(str::to_string);
        Ok(Self { folder: folder.to_path_buf(), values, added, model_type })
    }

    /// `tokenizer_class` without `Fast`.
    pub fn class(&self) -> Option<&str> {
        let name = self.values.get("tokenizer_class")?.as_str()?;
        Some(name.strip_suffix("Fast").unwrap_or(name))
    }

    /// `model_type` of `config.json`.
    pub fn model_type(&self) -> Option<&str> {
        self.model_type.as_deref()
    }

    /// A boolean setting.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.values.get(key)?.as_bool()
    }

    /// A setting that is a text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.as_str()
    }

    /// A setting that is a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.values.get(key)?.as_u64()
    }

    /// The token of a role, as the files define it.
    pub fn role(&self, role: &str) -> Option<AddedToken> {
        let token = token(self.values.get(role)?, true)?;
        Some(
            self.added
                .values()
                .find(|added| added.content == token.content)
                .cloned()
                .unwrap_or(token),
        )
    }

    /// Whether a role is explicitly without a token.
    pub fn is_null(&self, role: &str) -> bool {
        self.values.get(role).is_some_and(Value::is_null)
    }

    /// The special tokens without a role.
    pub fn extra(&self) -> Vec<AddedToken> {
        extra(&self.values).filter_map(|value| token(value, true)).collect()
    }
}

fn extra(values: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    ["extra_special_tokens", "additional_special_tokens"]
        .iter()
        .filter_map(|key| values.get(*key)?.as_array().filter(|list| !list.is_empty()))
        .take(1)
        .flatten()
}
