//! `adapter_config.json`: every key that changes the result is honoured, or refused by its name.

use super::super::keys::{Keys, read_object, short};
use super::super::layout::FileForm;
use super::{ADAPTER_CONFIG, is_target, modules};
use crate::error::{KeyScope, ModelError, Result};
use crate::model::config::EncoderHead;
use crate::model::{Model, Stack};
use serde_json::{Value, json};
use std::path::{self, Path, PathBuf};

/// A value for some modules only: of `rank_pattern` or `alpha_pattern`.
#[derive(Clone, Debug, PartialEq)]
pub struct ModulePattern<T> {
    /// The end of the paths of the modules.
    pub module: String,
    /// Their value.
    pub value: T,
}

/// What an adapter is, under the names of PEFT's `LoraConfig`.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterConfig {
    /// r: rank of the update.
    pub r: usize,
    /// α: the update is scaled by α/r.
    pub lora_alpha: f32,
    /// Probability that an element of the input of an adapter is dropped in training.
    pub lora_dropout: f32,
    /// Whether the update is scaled by α/√r (Kalajdzievski 2023).
    pub use_rslora: bool,
    /// Modules that have an adapter: ends of their paths, or [`super::ALL_LINEAR`].
    pub target_modules: Vec<String>,
    /// Modules that are trained and saved as a whole, such as a new head.
    pub modules_to_save: Vec<String>,
    /// Other ranks for some modules.
    pub rank_pattern: Vec<ModulePattern<usize>>,
    /// Other α for some modules.
    pub alpha_pattern: Vec<ModulePattern<f32>>,
    /// The base model, as a file says: a path, or a name on a model hub.
    pub base_model_name_or_path: Option<String>,
}

impl AdapterConfig {
    /// Rank and α on these modules, without dropout.
    pub fn new(r: usize, lora_alpha: f32, target_modules: Vec<String>) -> Self {
        Self {
            r,
            lora_alpha,
            lora_dropout: 0.0,
            use_rslora: false,
            target_modules,
            modules_to_save: Vec::new(),
            rank_pattern: Vec::new(),
            alpha_pattern: Vec::new(),
            base_model_name_or_path: None,
        }
    }

    /// Reads the `adapter_config.json` of a folder. Which modules have an adapter is told by the
    /// tensors beside it.
    /// # Errors
    /// If the file cannot be read, or describes what is not supported.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(ADAPTER_CONFIG);
        let mut keys = Keys { path: &path, map: read_object(&path)?, scope: KeyScope::Model };
        keys.must_be("peft_type", &json!("LORA"))?;
        refuse_others(&mut keys)?;
        let targets = match keys.map.get("target_modules") {
            // One text is a regular expression; the tensors say what it has matched.
            Some(Value::String(_)) => Vec::new(),
            _ => keys.texts("target_modules")?,
        };
        Ok(Self {
            r: keys.size("r")?,
            lora_alpha: keys.number("lora_alpha")?.unwrap_or(8.0),
            lora_dropout: keys.rate("lora_dropout")?.unwrap_or(0.0),
            use_rslora: keys.flag("use_rslora")?.unwrap_or(false),
            target_modules: targets,
            modules_to_save: keys.texts("modules_to_save")?,
            rank_pattern: patterns(&mut keys, "rank_pattern", |value| {
                value.as_u64().and_then(|rank| usize::try_from(rank).ok())
            })?,
            alpha_pattern: patterns(&mut keys, "alpha_pattern", |value| {
                value.as_f64().map(|alpha| alpha as f32)
            })?,
            base_model_name_or_path: keys.text("base_model_name_or_path")?,
        })
    }

    /// The rank of a module.
    pub(super) fn rank_of(&self, path: &str) -> usize {
        let own = self.rank_pattern.iter().find(|pattern| is_target(&pattern.module, path));
        own.map_or(self.r, |pattern| pattern.value)
    }

    /// The factor on the update of a module.
    pub(super) fn scale_of(&self, path: &str, rank: usize) -> f32 {
        let own = self.alpha_pattern.iter().find(|pattern| is_target(&pattern.module, path));
        let alpha = own.map_or(self.lora_alpha, |pattern| pattern.value);
        let by = if self.use_rslora { (rank as f32).sqrt() } else { rank as f32 };
        alpha / by
    }

    /// Whether a module is trained and saved as a whole.
    pub(super) fn saves(&self, path: &str) -> bool {
        self.modules_to_save.iter().any(|module| {
            let inside = format!("{module}.");
            is_target(module, path)
                || path.starts_with(&inside)
                || path.contains(&format!(".{inside}"))
        })
    }

    /// The file of an adapter with these modules saved as a whole.
    pub(super) fn to_json(&self, model: &Model, base: &Path, saved: &[String]) -> Result<String> {
        let adapted: Vec<_> = modules(model)?
            .into_iter()
            .filter(|module| {
                let adapters = model.params.adapters(module.tensor.param);
                adapters.iter().any(|adapter| adapter.rows == module.tensor.rows)
            })
            .collect();
        let is_conv = adapted.iter().any(|module| module.tensor.form == FileForm::Transposed);
        let targets: Vec<&String> = adapted.iter().map(|module| &module.path).collect();
        let modules_to_save = (!saved.is_empty()).then_some(saved);
        // It is found from any working directory.
        let base = path::absolute(base).unwrap_or(base.into());
        let value = json!({
            "peft_type": "LORA",
            "task_type": task_type(&model.stack),
            "base_model_name_or_path": base.display().to_string(),
            "r": self.r,
            "lora_alpha": short(self.lora_alpha),
            "lora_dropout": short(self.lora_dropout),
            "use_rslora": self.use_rslora,
            "target_modules": targets,
            "modules_to_save": modules_to_save,
            "rank_pattern": map_of(&self.rank_pattern, |rank| json!(rank)),
            "alpha_pattern": map_of(&self.alpha_pattern, |alpha| short(*alpha)),
            "fan_in_fan_out": is_conv,
            "bias": "none",
            "init_lora_weights": true,
            "inference_mode": true,
            "auto_mapping": null,
        });
        Ok(format!("{value:#}\n"))
    }
}

fn map_of<T>(patterns: &[ModulePattern<T>], value: impl Fn(&T) -> Value) -> Value {
    Value::Object(patterns.iter().map(|p| (p.module.clone(), value(&p.value))).collect())
}

/// As PEFT names the kinds of models.
fn task_type(stack: &Stack) -> &'static str {
    match stack {
        Stack::Decoder(_) => "CAUSAL_LM",
        Stack::EncoderDecoder(_) | Stack::Recurrent(_) => "SEQ_2_SEQ_LM",
        Stack::Encoder(encoder) => match encoder.config().head {
            EncoderHead::Classifier(_) => "SEQ_CLS",
            _ => "FEATURE_EXTRACTION",
        },
    }
}

/// Keys of PEFT that change what an adapter computes, with the values that leave it as it is.
fn refuse_others(keys: &mut Keys) -> Result<()> {
    let (off, empty, none) = (json!(false), json!([]), Value::Null);
    let switches = ["use_dora", "use_qalora", "lora_bias", "use_bdlora"];
    for key in switches {
        keys.must_be_one_of(key, &[off.clone(), none.clone()])?;
    }
    keys.must_be("bias", &json!("none"))?;
    for key in [
        "layer_replication",
        "megatron_config",
        "trainable_token_indices",
        "target_parameters",
        "alora_invocation_tokens",
        "arrow_config",
        "velora_config",
        "kasa_config",
        "monteclora_config",
    ] {
        keys.must_be_one_of(key, &[none.clone(), empty.clone()])?;
    }
    Ok(())
}

/// Values by module; a regular expression is refused.
fn patterns<T>(
    keys: &mut Keys,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Vec<ModulePattern<T>>> {
    let map = match keys.map.remove(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(map)) => map,
        Some(other) => return Err(keys.wrong(key, &other, "an object of modules and values")),
    };
    let mut all = Vec::new();
    for (module, value) in map {
        let is_plain = module.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let Some(value) = read(&value).filter(|_| is_plain) else {
            let found = format!("{module}: {value}");
            return Err(keys.error(ModelError::UnsupportedValue {
                key: key.into(),
                found,
                supported: "names of modules with numbers".into(),
                scope: KeyScope::Model,
            }));
        };
        all.push(ModulePattern { module, value });
    }
    Ok(all)
}

/// The folder of an adapter's base: as its file says, relative to the adapter's folder or to the
/// working directory.
pub(in crate::hub) fn base_of(folder: &Path, config: &AdapterConfig) -> Option<PathBuf> {
    let named = config.base_model_name_or_path.as_ref().filter(|name| !name.is_empty())?;
    [folder.join(named), PathBuf::from(named)].into_iter().find(|path| path.is_dir())
}
