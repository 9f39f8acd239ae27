//! How sentence-transformers makes one embedding of the embeddings of a text's tokens:
//! `1_Pooling/config.json`.

use super::keys::read_object;
use crate::error::{Error, KeyScope, ModelError, Result};
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

/// The case of the text that a tokenizer is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextCase {
    /// Unchanged.
    #[default]
    Preserved,
    /// Lowercased first (`do_lower_case`).
    Lowercase,
}

pub(super) fn read_pooling(path: &Path) -> Result<Pooling> {
    let map = read_object(path)?;
    // Pooling without the tokens of the prompt: Instructor's.
    if map.get("include_prompt") == Some(&Value::Bool(false)) {
        let (key, found, supported) = ("include_prompt".into(), "false".into(), "true".into());
        let scope = KeyScope::Model;
        let error = ModelError::UnsupportedValue { key, found, supported, scope };
        return Err(Error::from(error).in_file(path));
    }
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
    use crate::hub::{SentenceConfig, SentenceOrigin, load_pooling, load_sentence_config};

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
        let lowercase = SentenceConfig {
            max_seq_length: Some(256),
            case: TextCase::Lowercase,
            origin: SentenceOrigin::SentenceTransformers,
            ..SentenceConfig::default()
        };
        assert_eq!(load_sentence_config(&folder).unwrap(), lowercase);
        // Before the pooling, and unknown.
        for kind in ["sentence_transformers.models.Dense", "sentence_transformers.models.LSTM"] {
            write("modules.json", &format!(r#"[{{"type": "{kind}"}}]"#));
            assert!(load_pooling(&folder).unwrap_err().to_string().contains(kind));
            assert!(load_sentence_config(&folder).unwrap_err().to_string().contains(kind));
        }
        write("modules.json", r#"[{"type": "a.Transformer", "path": "../other"}]"#);
        assert!(load_pooling(&folder).unwrap_err().to_string().contains("../other"));
        write("modules.json", "[]");
        let settings = r#"{"prompts": {"query": "q: "}, "default_prompt_name": "passage"}"#;
        write("config_sentence_transformers.json", settings);
        let error = load_sentence_config(&folder).unwrap_err().to_string();
        assert!(error.contains("default_prompt_name is \"passage\""), "{error}");
        let error = pooling(r#"{"pooling_mode": "mean", "include_prompt": false}"#).unwrap_err();
        assert!(error.to_string().contains("include_prompt = false"), "{error}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
