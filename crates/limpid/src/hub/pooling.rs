//! How sentence-transformers computes one embedding per text: `modules.json`,
//! `1_Pooling/config.json`, `sentence_bert_config.json`.

use super::keys::{read_json, read_object};
use crate::error::{Error, ModelError, Result};
use serde_json::Value;
use std::path::Path;

/// How token embeddings become one text embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The embedding of `[CLS]`.
    Cls,
    /// The mean over all tokens, special tokens included, as in sentence-transformers.
    Mean,
}

/// `sentence_bert_config.json`: how texts are tokenized for a sentence embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentenceConfig {
    /// The maximum length of a text, in tokens.
    pub max_seq_length: Option<usize>,
    /// The case of the text that the tokenizer is given.
    pub case: TextCase,
}

/// The case of the text that a tokenizer is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextCase {
    /// Unchanged.
    #[default]
    Preserved,
    /// Lowercased first (`do_lower_case`).
    Lowercase,
}

/// Reads `sentence_bert_config.json` of a model folder; the default where there is none.
/// # Errors
/// If the file exists and is not a JSON object.
pub fn load_sentence_config(folder: &Path) -> Result<SentenceConfig> {
    let path = folder.join("sentence_bert_config.json");
    if !path.is_file() {
        return Ok(SentenceConfig::default());
    }
    let map = read_object(&path)?;
    Ok(SentenceConfig {
        max_seq_length: map.get("max_seq_length").and_then(Value::as_u64).map(|n| n as usize),
        case: match map.get("do_lower_case") {
            Some(Value::Bool(true)) => TextCase::Lowercase,
            _ => TextCase::Preserved,
        },
    })
}

/// The pooling of a sentence-transformers folder; `None` where the folder has none.
/// # Errors
/// If a module or a pooling mode is not supported, by its name, or if a file is not JSON.
pub fn load_pooling(folder: &Path) -> Result<Option<Pooling>> {
    check_modules(&folder.join("modules.json"))?;
    let pooling = folder.join("1_Pooling").join("config.json");
    if pooling.is_file() { read_pooling(&pooling).map(Some) } else { Ok(None) }
}

/// A list of {"type": "sentence_transformers.models.Pooling", …}: a layer after the pooling would
/// change the embeddings.
fn check_modules(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let modules = read_json(path)?;
    for module in modules.as_array().into_iter().flatten() {
        let kind = module["type"].as_str().unwrap_or_default();
        let last = kind.rsplit('.').next().unwrap_or_default();
        if !["Transformer", "Pooling", "Normalize"].contains(&last) {
            let error = ModelError::UnsupportedModule { found: kind.into() };
            return Err(Error::from(error).in_file(path));
        }
    }
    Ok(())
}

fn read_pooling(path: &Path) -> Result<Pooling> {
    let map = read_object(path)?;
    let is_on = |key: &&String| key.starts_with("pooling_mode_") && map[*key] == Value::Bool(true);
    let on: Vec<&str> = map.keys().filter(is_on).map(|key| &key["pooling_mode_".len()..]).collect();
    let named: Vec<&str> = map.get("pooling_mode").and_then(Value::as_str).into_iter().collect();
    match [on, named].concat()[..] {
        ["cls_token" | "cls"] => Ok(Pooling::Cls),
        ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ref others => {
            let found = if others.is_empty() { "none".into() } else { others.join(" and ") };
            Err(Error::from(ModelError::UnsupportedPooling { found }).in_file(path))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pooling_of_a_folder_is_honoured_and_an_unsupported_one_is_refused() {
        let folder = std::env::temp_dir().join(format!("limpid-pooling-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("1_Pooling")).unwrap();
        assert_eq!(load_pooling(&folder).unwrap(), None);
        assert_eq!(load_sentence_config(&folder).unwrap(), SentenceConfig::default());
        let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
        let pooling = |text: &str| {
            write("1_Pooling/config.json", text);
            load_pooling(&folder)
        };
        let old = r#"{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
            "word_embedding_dimension": 4}"#;
        assert_eq!(pooling(old).unwrap(), Some(Pooling::Mean));
        assert_eq!(pooling(r#"{"pooling_mode": "cls"}"#).unwrap(), Some(Pooling::Cls));
        let error = pooling(r#"{"pooling_mode_max_tokens": true}"#).unwrap_err();
        assert!(error.to_string().contains("max_tokens"), "{error}");
        write("1_Pooling/config.json", old);
        write("sentence_bert_config.json", r#"{"max_seq_length": 256, "do_lower_case": true}"#);
        let lowercase = SentenceConfig { max_seq_length: Some(256), case: TextCase::Lowercase };
        assert_eq!(load_sentence_config(&folder).unwrap(), lowercase);
        write("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#);
        assert!(load_pooling(&folder).unwrap_err().to_string().contains("Dense"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
