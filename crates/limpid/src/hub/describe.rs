//! What a folder holds, by its configuration and the tables of contents of its weight files: no
//! weight is read.

use super::adapter::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, AdapterConfig, base_of};
use super::folder::{check, check_weights};
use super::keys::read_object;
use super::shards::WeightFiles;
use super::weight_file::WeightFile;
use super::{CONFIG, ConfigFile, Opened, Warning, config};
use crate::error::{Error, Result};
use crate::model::Stack;
use limpid_tensor::kernels::quantized::Format;
use limpid_tensor::params::{ParamSpec, Params};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The weight files of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeightSummary {
    /// Their names.
    pub files: Vec<String>,
    /// Tensors.
    pub tensors: usize,
    /// Numbers.
    pub parameters: u64,
    /// Bytes of numbers, by type.
    pub bytes_by_type: BTreeMap<String, u64>,
}

impl WeightSummary {
    /// Bytes of numbers.
    pub fn bytes(&self) -> u64 {
        self.bytes_by_type.values().sum()
    }

    fn of(files: &[WeightFile]) -> Self {
        let mut summary = Self::default();
        for file in files {
            let name = file.path().file_name().unwrap_or_default();
            summary.files.push(name.to_string_lossy().into_owned());
            for tensor in file.names().iter().filter_map(|name| file.tensor(name)) {
                summary.tensors += 1;
                summary.parameters += tensor.len() as u64;
                let dtype = format!("{:?}", tensor.dtype()).to_lowercase();
                *summary.bytes_by_type.entry(dtype).or_default() += tensor.bytes() as u64;
            }
        }
        summary
    }
}

/// A model folder.
pub struct ModelDescription {
    /// Its `model_type`.
    pub model_type: &'static str,
    /// Its structure.
    pub stack: Stack,
    /// Its parameters.
    pub params: Vec<ParamSpec>,
    /// How its quantized parameters are stored, by name.
    pub quantized: BTreeMap<String, Format>,
    /// The weights, or why they cannot be read.
    pub weights: Result<WeightSummary>,
    /// What is ignored.
    pub warnings: Vec<Warning>,
}

/// An adapter in PEFT's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterDescription {
    /// Its method, such as "LORA".
    pub method: String,
    /// The rank of its matrices.
    pub rank: Option<u64>,
    /// The modules that it changes.
    pub targets: Vec<String>,
    /// The model that it was trained on.
    pub base: Option<String>,
    /// Its folder, if it is there.
    pub base_folder: Option<PathBuf>,
    /// Its weights; `None` if they are not safetensors.
    pub weights: Option<WeightSummary>,
}

/// What a folder is.
pub enum Description {
    /// A model.
    Model(Box<ModelDescription>),
    /// An adapter, without the model it adapts.
    Adapter(AdapterDescription),
}

/// Describes a folder. Weights that are missing, or in a format that is not read, are part of the
/// description.
/// # Errors
/// [`crate::error::ModelError`], if it holds neither an adapter nor a `config.json` of a supported
/// model.
pub fn describe(folder: &Path) -> Result<Description> {
    let adapter = folder.join(ADAPTER_CONFIG);
    if adapter.is_file() && !WeightFiles::exist_in(folder) {
        return describe_adapter(folder, &adapter).map(Description::Adapter);
    }
    check(folder)?;
    let described = match check_weights(folder).and_then(|()| Opened::new(folder, None)) {
        Ok(opened) => {
            let weights = opened.check_shapes();
            let weights = weights.map(|()| WeightSummary::of(opened.file.files()));
            let Opened { family, stack, builder, quantization, warnings, .. } = opened;
            let params = builder.iter().map(|(_, spec)| spec.clone()).collect();
            let quantized = quantization.formats();
            let model_type = family.model_type();
            ModelDescription { model_type, stack, params, quantized, weights, warnings }
        }
        Err(problem) => without_weights(folder, problem)?,
    };
    Ok(Description::Model(Box::new(described)))
}

/// What the configuration alone says.
fn without_weights(folder: &Path, problem: Error) -> Result<ModelDescription> {
    let ConfigFile { family, config, quantization, warnings } =
        config::read_family(&folder.join(CONFIG))?;
    let mut builder = Params::builder();
    let stack = Stack::new(&config, &mut builder)?;
    Ok(ModelDescription {
        model_type: family.model_type(),
        stack,
        params: builder.iter().map(|(_, spec)| spec.clone()).collect(),
        quantized: quantization.formats(),
        weights: Err(problem),
        warnings,
    })
}

fn describe_adapter(folder: &Path, path: &Path) -> Result<AdapterDescription> {
    let config = read_object(path)?;
    let text = |key: &str| config.get(key).and_then(Value::as_str).map(str::to_string);
    let weights = folder.join(ADAPTER_WEIGHTS);
    let weights = match weights.is_file() {
        true => Some(WeightSummary::of(&[WeightFile::open(&weights)?])),
        false => None,
    };
    let targets = match config.get("target_modules") {
        Some(Value::String(pattern)) => vec![pattern.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_string)).collect()
        }
        _ => Vec::new(),
    };
    Ok(AdapterDescription {
        method: text("peft_type").unwrap_or_else(|| "unnamed".into()),
        rank: config.get("r").and_then(Value::as_u64),
        targets,
        base: text("base_model_name_or_path"),
        base_folder: AdapterConfig::read(folder).ok().and_then(|own| base_of(folder, &own)),
        weights,
    })
}
