//! Folders of sentence-transformers: `modules.json` lists what turns a text into an embedding, each
//! module with its folder.
//!
//! ```text
//! [{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
//!  {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
//!  {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]
//! ```

use super::dense::Dense;
use super::keys::{Keys, read_json, read_object};
use super::pooling::{Pooling, TextCase, read_pooling};
use super::shards::is_file_name;
use crate::error::{Error, KeyScope, ModelError, Result};
use crate::files::{create_folder, write_atomic};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MODULES: &str = "modules.json";
const PROMPTS: &str = "config_sentence_transformers.json";
/// Where the pooling is, unless `modules.json` says otherwise.
const POOLING: &str = "1_Pooling";

/// The names under which versions of sentence-transformers wrote the settings of the Transformer.
const TRANSFORMER_CONFIGS: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// `model_max_length` that `transformers` writes where there is no maximum: 10³⁰ in a float.
const NO_MAXIMUM: u64 = 1 << 31;

/// A step after the pooling, applied to each embedding.
#[derive(Clone, Debug, PartialEq)]
pub enum SentenceModule {
    /// Scales to unit length.
    Normalize,
    /// A linear layer.
    Dense(Dense),
    /// Keeps the first components (`truncate_dim`).
    Truncate(usize),
}

/// How a folder turns a text into one embedding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SentenceConfig {
    /// The maximum length of a text, in tokens.
    pub max_seq_length: Option<usize>,
    /// What happens to a text that is longer than that.
    pub origin: SentenceOrigin,
    /// The case of the text that the tokenizer is given.
    pub case: TextCase,
    /// Steps after the pooling, in order.
    pub modules: Vec<SentenceModule>,
    /// Texts that may be put before every text, by name.
    pub prompts: BTreeMap<String, String>,
    /// The name of the prompt that is used if none is chosen.
    pub default_prompt_name: Option<String>,
}

/// Who wrote a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SentenceOrigin {
    /// Somebody else: how long texts are treated is the caller's decision.
    #[default]
    Other,
    /// sentence-transformers, which truncates long texts.
    SentenceTransformers,
}

/// Reads what sentence-transformers leaves in a folder; the defaults where there is nothing.
/// # Errors
/// If a module is not supported, by its name, or if a file is not what it should be.
pub fn load_sentence_config(folder: &Path) -> Result<SentenceConfig> {
    let mut config = SentenceConfig::default();
    let transformer = transformer_folder(folder);
    let own = TRANSFORMER_CONFIGS.iter().map(|name| transformer.join(name));
    if let Some(path) = own.into_iter().find(|path| path.is_file()) {
        let mut keys = Keys { path: &path, map: read_object(&path)?, scope: KeyScope::Model };
        config.origin = SentenceOrigin::SentenceTransformers;
        config.max_seq_length = keys.optional_size("max_seq_length")?;
        if keys.flag("do_lower_case")? == Some(true) {
            config.case = TextCase::Lowercase;
        }
    }
    if config.max_seq_length.is_none() {
        config.max_seq_length = model_max_length(&transformer.join("tokenizer_config.json"))?;
    }
    for (kind, module) in modules(folder)? {
        config.origin = SentenceOrigin::SentenceTransformers;
        match &kind[..] {
            "Normalize" => config.modules.push(SentenceModule::Normalize),
            "Dense" => config.modules.push(SentenceModule::Dense(Dense::load(&module)?)),
            _ => {}
        }
    }
    read_prompts(folder, &mut config)?;
    Ok(config)
}

/// The pooling of a sentence-transformers folder; `None` where the folder has none.
/// # Errors
/// If a module or a pooling mode is not supported, by its name, or if a file is not JSON.
pub fn load_pooling(folder: &Path) -> Result<Option<Pooling>> {
    let listed = modules(folder)?.into_iter().find(|(kind, _)| kind == "Pooling");
    let module = listed.map_or_else(|| folder.join(POOLING), |(_, module)| module);
    let path = module.join("config.json");
    if path.is_file() { read_pooling(&path).map(Some) } else { Ok(None) }
}

/// The folder of the Transformer module: the folder itself, or `0_Transformer` in it.
pub fn transformer_folder(folder: &Path) -> PathBuf {
    // An error in modules.json is reported where its modules are used.
    let listed = modules(folder).unwrap_or_default();
    let transformer = listed.into_iter().find(|(kind, _)| kind == "Transformer");
    transformer.map_or_else(|| folder.to_path_buf(), |(_, module)| module)
}

/// The names of the folders of modules, of those that have their own.
pub(super) fn module_folders(folder: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for (_, place) in modules(folder)? {
        let name = place.file_name().filter(|_| place != folder);
        names.extend(name.map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Copies what sentence-transformers has beside a Transformer: the folder `to` has another one.
pub(super) fn copy_sentence_modules(from: &Path, to: &Path) -> Result<()> {
    if transformer_folder(from) != from {
        return Ok(());
    }
    let settings = [MODULES, PROMPTS].into_iter().chain(TRANSFORMER_CONFIGS).map(PathBuf::from);
    let mut files: Vec<PathBuf> = settings.collect();
    for module in module_folders(from)?.into_iter().chain([POOLING.to_string()]) {
        let folder = from.join(&module);
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        create_folder(&to.join(&module))?;
        for entry in entries {
            let entry = entry.map_err(|e| Error::io("read", &folder, e))?;
            files.push(Path::new(&module).join(entry.file_name()));
        }
    }
    for file in files.into_iter().filter(|file| from.join(file).is_file()) {
        let path = from.join(&file);
        let bytes = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
        write_atomic(&to.join(&file), &bytes)?;
    }
    Ok(())
}

/// The modules of a folder, in order: class and folder of each.
fn modules(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let path = folder.join(MODULES);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let error = |error: ModelError| Error::from(error).in_file(&path);
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    for module in read_json(&path)?.as_array().into_iter().flatten() {
        let found = module["type"].as_str().unwrap_or_default();
        let kind = found.rsplit('.').next().unwrap_or_default();
        // A layer that works on tokens comes before the pooling.
        let pooled = all.iter().any(|(kind, _)| kind == "Pooling");
        let supported = match kind {
            "Transformer" => all.is_empty(),
            "Pooling" => !pooled,
            "Normalize" | "Dense" => pooled,
            _ => false,
        };
        if !supported {
            return Err(error(ModelError::UnsupportedModule { found: found.into() }));
        }
        let place = match module["path"].as_str().unwrap_or_default() {
            "" => folder.to_path_buf(),
            name if is_file_name(name) => folder.join(name),
            name => {
                return Err(error(ModelError::WrongValue {
                    key: "path".into(),
                    found: name.into(),
                    expected: "the name of a folder beside modules.json".into(),
                }));
            }
        };
        all.push((kind.into(), place));
    }
    Ok(all)
}

/// `model_max_length` of `tokenizer_config.json`.
fn model_max_length(path: &Path) -> Result<Option<usize>> {
    if !path.is_file() {
        return Ok(None);
    }
    let length = read_object(path)?.get("model_max_length").and_then(Value::as_u64);
    Ok(length.filter(|length| *length < NO_MAXIMUM).map(|length| length as usize))
}

/// `prompts`, `default_prompt_name` and `truncate_dim` of `config_sentence_transformers.json`.
fn read_prompts(folder: &Path, config: &mut SentenceConfig) -> Result<()> {
    let path = folder.join(PROMPTS);
    if !path.is_file() {
        return Ok(());
    }
    let mut keys = Keys { path: &path, map: read_object(&path)?, scope: KeyScope::Model };
    match keys.map.remove("prompts") {
        None | Some(Value::Null) => {}
        Some(Value::Object(prompts)) => {
            for (name, prompt) in prompts {
                match prompt {
                    Value::String(prompt) => drop(config.prompts.insert(name, prompt)),
                    Value::Null => {}
                    other => return Err(keys.wrong(&format!("prompts.{name}"), &other, "a text")),
                }
            }
        }
        Some(other) => return Err(keys.wrong("prompts", &other, "an object of names and texts")),
    }
    config.default_prompt_name = keys.text("default_prompt_name")?;
    if let Some(name) = &config.default_prompt_name
        && !config.prompts.contains_key(name)
    {
        let found = Value::from(name.as_str());
        return Err(keys.wrong("default_prompt_name", &found, "a name in prompts"));
    }
    if let Some(length) = keys.optional_size("truncate_dim")? {
        config.modules.push(SentenceModule::Truncate(length));
    }
    Ok(())
}
