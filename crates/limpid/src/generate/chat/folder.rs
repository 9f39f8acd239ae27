//! The template and the special tokens in the files of a model folder.

use super::ChatTemplate;
use crate::error::{ChatError, Error, Result};
use crate::hub::{read_object, tokenizer_folder};
use serde_json::{Map, Value};
use std::path::Path;

/// The roles of special tokens that `transformers` hands to a template.
const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The template of a folder, with the special tokens beside it; of an adapter without a tokenizer,
/// that of its base.
pub(super) fn load(folder: &Path) -> Result<ChatTemplate> {
    let folder = &tokenizer_folder(folder);
    let config_path = folder.join("tokenizer_config.json");
    let config = optional_object(&config_path)?;
    let template_path = folder.join("chat_template.jinja");
    let source = match std::fs::read(&template_path) {
        Ok(bytes) => Some(
            String::from_utf8(bytes)
                .map_err(|_| malformed(&template_path, "the template", "UTF-8"))?,
        ),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            from_config(&config_path, config.get("chat_template"))?
        }
        Err(e) => return Err(Error::io("read", &template_path, e)),
    };
    let Some(source) = source else {
        return Err(ChatError::NoTemplate { folder: folder.clone() }.into());
    };
    let mut template = ChatTemplate::new(source);
    // The newer file has precedence.
    let map_path = folder.join("special_tokens_map.json");
    for (path, tokens) in [(&map_path, &optional_object(&map_path)?), (&config_path, &config)] {
        for role in ROLES {
            if let Some(token) = special_token(path, role, tokens.get(role))? {
                template = template.with_special_token(role, token);
            }
        }
    }
    Ok(template)
}

/// The object in a file; empty if there is no file.
fn optional_object(path: &Path) -> Result<Map<String, Value>> {
    if path.exists() { read_object(path) } else { Ok(Map::new()) }
}

/// The key `chat_template`: a template, or several with names, of which `default` counts.
fn from_config(path: &Path, found: Option<&Value>) -> Result<Option<String>> {
    let expected = "a template, or a list of objects with name and template";
    let wrong = || malformed(path, "chat_template", expected);
    match found {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(source)) => Ok(Some(source.clone())),
        Some(Value::Array(list)) => {
            let mut names = Vec::new();
            for entry in list {
                let name = entry.get("name").and_then(Value::as_str).ok_or_else(wrong)?;
                let source = entry.get("template").and_then(Value::as_str).ok_or_else(wrong)?;
                if name == "default" {
                    return Ok(Some(source.into()));
                }
                names.push(name.to_string());
            }
            Err(ChatError::NoDefault { path: path.into(), names }.into())
        }
        Some(_) => Err(wrong()),
    }
}

/// A special token: its text, or an object with its text as `content`.
fn special_token(path: &Path, role: &str, found: Option<&Value>) -> Result<Option<String>> {
    let text = match found {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(token)) => token.get("content").and_then(Value::as_str),
        Some(token) => token.as_str(),
    };
    let text = text.map(|text| Some(text.to_string()));
    text.ok_or_else(|| malformed(path, role, "a token, or an object with its content"))
}

fn malformed(path: &Path, what: &str, expected: &'static str) -> Error {
    ChatError::Malformed { path: path.into(), what: what.into(), expected }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The template of a folder with these files.
    fn load_files(name: &str, files: &[(&str, &str)]) -> Result<ChatTemplate> {
        let folder =
            std::env::temp_dir().join(format!("limpid-chat-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (file, content) in files {
            std::fs::write(folder.join(file), content).unwrap();
        }
        let loaded = load(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        loaded
    }

    #[test]
    fn a_file_of_its_own_has_precedence_over_the_key_and_a_list_gives_its_default() {
        let key = r#"{"chat_template": "key", "eos_token": {"content": "</s>", "lstrip": false},
            "bos_token": "<s>", "pad_token": null}"#;
        let map = r#"{"eos_token": "<old>", "unk_token": {"content": "<unk>"}}"#;
        let files = [("tokenizer_config.json", key), ("special_tokens_map.json", map)];
        let template = load_files("key", &files).unwrap();
        let want = ChatTemplate::new("key")
            .with_special_token("unk_token", "<unk>")
            .with_special_token("bos_token", "<s>")
            .with_special_token("eos_token", "</s>");
        assert_eq!(template, want);
        let files = [("tokenizer_config.json", key), ("chat_template.jinja", "file")];
        assert_eq!(load_files("file", &files).unwrap().source(), "file");
        let list = r#"{"chat_template": [{"name": "rag", "template": "r"},
            {"name": "default", "template": "d"}]}"#;
        let template = load_files("list", &[("tokenizer_config.json", list)]).unwrap();
        assert_eq!(template.source(), "d");
    }

    #[test]
    fn what_is_missing_or_malformed_is_named() {
        let error = load_files("none", &[]).unwrap_err();
        assert!(matches!(error, Error::Chat(ChatError::NoTemplate { .. })), "{error}");
        for (config, words) in [
            (r#"{"chat_template": [{"name": "rag", "template": "r"}]}"#, "it has rag"),
            (r#"{"chat_template": 3}"#, "chat_template is not a template"),
            (r#"{"chat_template": [{"name": "default"}]}"#, "chat_template is not a template"),
            (r#"{"chat_template": "x", "eos_token": 2}"#, "eos_token is not a token"),
            ("[]", "tokenizer_config.json"),
            ("{", "tokenizer_config.json"),
        ] {
            let error = load_files("bad", &[("tokenizer_config.json", config)]).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
