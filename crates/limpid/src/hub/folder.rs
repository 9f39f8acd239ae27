//! What a folder is: refused by what it has, if it is not a model folder in our formats.

use super::adapter::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, AdapterConfig, base_of};
use super::shards::WeightFiles;
use super::{CONFIG, REPLACED, WEIGHTS};
use crate::error::{Error, ModelError, Result, WeightFormat};
use std::path::{Path, PathBuf};

/// The formats that are never read.
const FORMATS: [WeightFormat; 5] = [
    WeightFormat::Pickle,
    WeightFormat::Gguf,
    WeightFormat::Onnx,
    WeightFormat::TensorFlow,
    WeightFormat::Flax,
];

fn missing(folder: &Path, file: &'static str) -> Error {
    ModelError::MissingFile { folder: folder.to_path_buf(), file }.into()
}

/// Refuses what is not a model folder.
pub(super) fn check(folder: &Path) -> Result<()> {
    let path = folder.to_path_buf();
    if !folder.exists() {
        return Err(ModelError::NoSuchFolder { path }.into());
    }
    if !folder.is_dir() {
        return Err(ModelError::NotAFolder { path }.into());
    }
    if folder.join(CONFIG).is_file() {
        return Ok(());
    }
    if folder.join("config.toml").is_file() {
        let folder = path;
        return Err(match folder.join(REPLACED).is_dir() {
            false => ModelError::NoModelYet { folder }.into(),
            true => ModelError::ReplacedRunWaits { folder }.into(),
        });
    }
    check_other_weights(folder)?;
    Err(missing(folder, CONFIG))
}

/// Refuses a folder with a `config.json` whose weights we do not read, or not alone.
pub(super) fn check_weights(folder: &Path) -> Result<()> {
    if WeightFiles::exist_in(folder) {
        return Ok(());
    }
    check_other_weights(folder)?;
    Err(missing(folder, WEIGHTS))
}

/// The folders of the base and of the adapter that a folder stands for: a model without an
/// adapter, an adapter beside the weights of its base, or one that names its base.
pub(super) fn base_and_adapter(folder: &Path) -> Result<(PathBuf, Option<&Path>)> {
    let old = "adapter_model.bin";
    if folder.join(old).is_file() && !folder.join(ADAPTER_WEIGHTS).is_file() {
        let (folder, file) = (folder.to_path_buf(), old.into());
        return Err(ModelError::AdapterPickle { folder, file }.into());
    }
    if !folder.join(ADAPTER_CONFIG).is_file() {
        return match folder.join(ADAPTER_WEIGHTS).is_file() {
            // It changes what its base computes, so it is not ignored.
            true => Err(missing(folder, ADAPTER_CONFIG)),
            false => Ok((folder.to_path_buf(), None)),
        };
    }
    if WeightFiles::exist_in(folder) {
        return Ok((folder.to_path_buf(), Some(folder)));
    }
    let config = AdapterConfig::read(folder)?;
    match base_of(folder, &config) {
        Some(base) => Ok((base, Some(folder))),
        None => {
            let base = config.base_model_name_or_path.unwrap_or_else(|| "not named".into());
            Err(ModelError::AdapterOnly { folder: folder.to_path_buf(), base }.into())
        }
    }
}

/// Refuses a folder with an adapter, where only the weights of its base would be used.
pub(crate) fn check_no_adapter(folder: &Path) -> Result<()> {
    match base_and_adapter(folder)? {
        (_, Some(_)) => Err(ModelError::AdapterBeside { folder: folder.to_path_buf() }.into()),
        (_, None) => Ok(()),
    }
}

/// Names the first file of weights in a format that is not read.
fn check_other_weights(folder: &Path) -> Result<()> {
    // As a download leaves them: ONNX files also in a folder of their own.
    let mut names = names_in(folder);
    names.extend(names_in(&folder.join("onnx")).iter().map(|name| format!("onnx/{name}")));
    for format in FORMATS {
        if let Some(file) = names.iter().find(|name| is_of(name, format)) {
            let (folder, file) = (folder.to_path_buf(), file.clone());
            return Err(ModelError::OtherWeights { folder, file, format }.into());
        }
    }
    Ok(())
}

/// Whether a file holds weights, of whatever format, or is the index of such files.
pub(super) fn is_weight_file(name: &str) -> bool {
    let is_safetensors =
        name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
    is_safetensors || FORMATS.iter().any(|format| is_of(name, *format)) || name.ends_with(".bin")
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

fn is_of(name: &str, format: WeightFormat) -> bool {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    match format {
        WeightFormat::Pickle => {
            ends(&[".pt", ".pth", ".ckpt"])
                || (name.starts_with("pytorch_model") && ends(&[".bin", ".bin.index.json"]))
        }
        WeightFormat::Gguf => ends(&[".gguf"]),
        WeightFormat::Onnx => ends(&[".onnx"]),
        WeightFormat::TensorFlow => ends(&[".h5"]),
        WeightFormat::Flax => ends(&[".msgpack"]),
    }
}
