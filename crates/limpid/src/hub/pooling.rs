//! How sentence-transformers makes one vector of a text: `modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`.

use super::keys::read_object;
use crate::encode::Pooling;
use crate::error::{Error, Result};
use serde_json::Value;
use std::path::Path;

/// What a folder says about how texts are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentenceSettings {
    /// The longest text that is read, in tokens.
    pub max_seq_length: Option<usize>,
    /// In which letters, before the tokenizer sees it.
    pub letters: Letters,
}

/// In which letters a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Letters {
    /// As it is written.
    #[default]
    AsWritten,
    /// In small ones (`do_lower_case`).
    Small,
}

/// Reads what sentence-transformers left in a model folder about texts, if anything.
pub fn load_sentence_settings(folder: &Path) -> Result<SentenceSettings> {
    let path = folder.join("sentence_bert_config.json");
    if !path.is_file() {
        return Ok(SentenceSettings::default());
    }
    let map = read_object(&path)?;
    Ok(SentenceSettings {
        max_seq_length: map.get("max_seq_length").and_then(Value::as_u64).map(|n| n as usize),
        letters: match map.get("do_lower_case") {
            Some(Value::Bool(true)) => Letters::Small,
            _ => Letters::AsWritten,
        },
    })
}

/// How a folder of sentence-transformers makes one vector of the tokens', if it says. What it asks for and we do not have is refused by name.
pub fn load_pooling(folder: &Path) -> Result<Option<Pooling>> {
    check_modules(&folder.join("modules.json"))?;
    let pooling = folder.join("1_Pooling").join("config.json");
    if pooling.is_file() { read_pooling(&pooling).map(Some) } else { Ok(None) }
}

/// A list of {"type": "sentence_transformers.models.Pooling", …}: a layer after the pooling would change the vectors.
fn check_modules(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    let modules: Value = serde_json::from_str(&text)
        .map_err(|e| Error::format(path, format!("not JSON: {e}")).hint("is it complete? copy it again"))?;
    for module in modules.as_array().into_iter().flatten() {
        let kind = module["type"].as_str().unwrap_or_default();
        let last = kind.rsplit('.').next().unwrap_or_default();
        if !["Transformer", "Pooling", "Normalize"].contains(&last) {
            return Err(Error::format(
                path,
                format!("a module of type {kind} is not supported: it would change the result"),
            )
            .hint("remove modules.json to have the vectors without it"));
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
            let found = if others.is_empty() { "no way at all".to_string() } else { others.join(" and ") };
            Err(Error::format(path, format!("pooling by {found} is not supported (only cls or mean is)"))
                .hint("--pool mean or --pool cls takes another way"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_of_a_folder_is_honoured_and_what_we_do_not_have_is_refused() {
        let folder = std::env::temp_dir().join(format!("limpid-pooling-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("1_Pooling")).unwrap();
        assert_eq!(load_pooling(&folder).unwrap(), None);
        assert_eq!(load_sentence_settings(&folder).unwrap(), SentenceSettings::default());
        let say = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
        let pooling = |text: &str| {
            say("1_Pooling/config.json", text);
            load_pooling(&folder)
        };
        let old = r#"{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true, "word_embedding_dimension": 4}"#;
        assert_eq!(pooling(old).unwrap(), Some(Pooling::Mean));
        assert_eq!(pooling(r#"{"pooling_mode": "cls"}"#).unwrap(), Some(Pooling::Cls));
        let error = pooling(r#"{"pooling_mode_max_tokens": true}"#).unwrap_err();
        assert!(error.to_string().contains("max_tokens"), "{error}");
        say("1_Pooling/config.json", old);
        say("sentence_bert_config.json", r#"{"max_seq_length": 256, "do_lower_case": true}"#);
        let small = SentenceSettings { max_seq_length: Some(256), letters: Letters::Small };
        assert_eq!(load_sentence_settings(&folder).unwrap(), small);
        say("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#);
        assert!(load_pooling(&folder).unwrap_err().to_string().contains("Dense"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
