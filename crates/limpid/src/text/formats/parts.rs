//! Parts of a `tokenizer.json`, and how they become a tokenizer.

use super::settings::{ROLES, Settings, invalid, special};
use crate::error::{Result, TokenizerError};
use serde_json::{Value, json};
use std::path::Path;
use tokenizers::{AddedToken, PostProcessorWrapper, Tokenizer};

/// The normalizer, pre-tokenizer, model and decoder of a `tokenizer.json`.
pub(super) struct Parts {
    pub normalizer: Value,
    pub pre_tokenizer: Value,
    pub decoder: Value,
    pub model: Value,
}

/// What stands around a text: texts `A` and `B`, and special tokens.
pub(super) enum Around {
    /// These tokens before and behind a text, the second text following with its type.
    Template {
        /// Of one text.
        single: Vec<Item>,
        /// Of two.
        pair: Vec<Item>,
    },
    /// RoBERTa's own.
    Roberta { cls: String, sep: String, trim_offsets: bool, add_prefix_space: bool },
}

/// An item of a template and its token type id.
pub(super) enum Item {
    /// The first or second text.
    Text(char, u32),
    /// A special token.
    Token(String, u32),
}

/// A template in short: `$A` and `$B` are texts, the rest tokens.
pub(super) fn items(parts: &[&str]) -> Vec<Item> {
    let item = |part: &&str| match *part {
        "$A" => Item::Text('A', 0),
        "$B" => Item::Text('B', 0),
        token => Item::Token(token.to_string(), 0),
    };
    parts.iter().map(item).collect()
}

pub(super) fn metaspace(prepend_scheme: &str, split: bool) -> Value {
    json!({
        "type": "Metaspace", "replacement": "▁", "prepend_scheme": prepend_scheme, "split": split,
    })
}

pub(super) fn words_then(metaspace: &Value) -> Value {
    json!({ "type": "Sequence", "pretokenizers": [{ "type": "WhitespaceSplit" }, metaspace] })
}

pub(super) fn sequence(normalizers: Vec<Value>) -> Value {
    match normalizers.is_empty() {
        true => Value::Null,
        false => json!({ "type": "Sequence", "normalizers": normalizers }),
    }
}

pub(super) fn replace(pattern: &Value, content: &str) -> Value {
    json!({ "type": "Replace", "pattern": pattern, "content": content })
}

/// The compiled rules of a SentencePiece normalizer, if there are any.
pub(super) fn precompiled(charsmap: &[u8]) -> Option<Value> {
    let rules = json!({ "type": "Precompiled", "precompiled_charsmap": base64(charsmap) });
    (!charsmap.is_empty()).then_some(rules)
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|i| u32::from(chunk.get(i).copied().unwrap_or(0)));
        let bits = a << 16 | b << 8 | c;
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The tokens that `transformers` adds: those of `added_tokens_decoder`, then those of the roles,
/// then the extra ones.
pub(super) fn tokens_to_add(
    settings: &Settings,
    defaults: &[(&str, AddedToken)],
    extra: Vec<AddedToken>,
) -> Vec<AddedToken> {
    let mut tokens: Vec<AddedToken> = settings.added.values().cloned().collect();
    let known = |content: &str| settings.added.values().any(|token| token.content == content);
    for role in ROLES {
        let default = || defaults.iter().find(|(name, _)| *name == role).map(|(_, t)| t.clone());
        let token = settings.role(role).or_else(|| default().filter(|_| !settings.is_null(role)));
        if let Some(mut token) = token.filter(|token| !known(&token.content)) {
            // A token with a role is special, whatever else was said of it.
            token.special = true;
            tokens.push(token);
        }
    }
    tokens.extend(extra.into_iter().filter(|token| !known(&token.content)));
    tokens.retain(|token| !token.content.is_empty());
    tokens
}

impl Parts {
    /// The tokenizer of these parts with added tokens; `path` is what errors call its vocabulary.
    pub fn build(self, path: &Path, tokens: &[AddedToken]) -> Result<Tokenizer> {
        let json = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": self.normalizer, "pre_tokenizer": self.pre_tokenizer,
            "post_processor": null, "decoder": self.decoder, "model": self.model,
        });
        let mut tokenizer = crate::text::Tokenizer::library(path, json)?;
        tokenizer.add_tokens(tokens);
        Ok(tokenizer)
    }
}

/// Added tokens must have got the ids that the files give them: the model was trained with those.
pub(super) fn check_added(settings: &Settings, tokenizer: &Tokenizer) -> Result<()> {
    for (id, token) in &settings.added {
        let found = tokenizer.token_to_id(&token.content);
        if found != Some(*id) {
            let (folder, token) = (settings.folder.clone(), token.content.clone());
            return Err(TokenizerError::AddedTokenId { folder, token, id: *id, found }.into());
        }
    }
    Ok(())
}

/// Gives a tokenizer its post-processor.
pub(super) fn surround(tokenizer: &mut Tokenizer, around: &Around, path: &Path) -> Result<()> {
    let id = |token: &str| {
        let missing = || invalid(path, format!("the vocabulary has no {token}"));
        tokenizer.token_to_id(token).ok_or_else(missing)
    };
    let json = match around {
        Around::Roberta { cls, sep, trim_offsets, add_prefix_space } => json!({
            "type": "RobertaProcessing", "sep": [sep, id(sep)?], "cls": [cls, id(cls)?],
            "trim_offsets": trim_offsets, "add_prefix_space": add_prefix_space,
        }),
        Around::Template { single, pair } => {
            let mut tokens = serde_json::Map::new();
            for item in single.iter().chain(pair) {
                if let Item::Token(token, _) = item {
                    let known = json!({ "id": token, "ids": [id(token)?], "tokens": [token] });
                    tokens.insert(token.clone(), known);
                }
            }
            let items = |items: &[Item]| -> Vec<Value> {
                let item = |item: &Item| match item {
                    Item::Text(name, kind) => {
                        json!({ "Sequence": { "id": name, "type_id": kind } })
                    }
                    Item::Token(token, kind) => {
                        json!({ "SpecialToken": { "id": token, "type_id": kind } })
                    }
                };
                items.iter().map(item).collect()
            };
            json!({
                "type": "TemplateProcessing", "single": items(single), "pair": items(pair),
                "special_tokens": tokens,
            })
        }
    };
    let processor: PostProcessorWrapper =
        serde_json::from_value(json).map_err(|e| invalid(path, e))?;
    tokenizer.with_post_processor(Some(processor));
    Ok(())
}

/// `bos_token` before and `eos_token` behind a text, if `add_bos_token` and `add_eos_token` ask for
/// them.
pub(super) fn bos_and_eos(settings: &Settings, bos: &str, eos: &str) -> Around {
    let token = |role: &str, default: &str| {
        settings.role(role).map_or(default.to_string(), |token| token.content)
    };
    let one = |text: char, kind: u32| {
        let wants = |key: &str| settings.flag(key).unwrap_or(false);
        let bos = wants("add_bos_token").then(|| Item::Token(token("bos_token", bos), kind));
        let eos = wants("add_eos_token").then(|| Item::Token(token("eos_token", eos), kind));
        bos.into_iter().chain([Item::Text(text, kind)]).chain(eos).collect::<Vec<_>>()
    };
    let pair = one('A', 0).into_iter().chain(one('B', 1)).collect();
    Around::Template { single: one('A', 0), pair }
}

/// Special tokens by role.
pub(super) fn roles<'a>(list: &[(&'a str, &str)]) -> Vec<(&'a str, AddedToken)> {
    list.iter().map(|(role, token)| (*role, special(token))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_gives_the_test_vectors_of_rfc_4648() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
