//! A model folder written anew: with weights of another precision, in shards of a given size, with
//! a `tokenizer.json`. The tensors keep their names, so that `transformers` opens the result as it
//! opened the original.
//!
//! Tensors are read and written one part at a time: a folder of any size is converted in a few
//! megabytes of memory. The new folder appears when it is complete.

mod shards;

use super::folder::{check, check_no_adapter, check_weights, is_weight_file};
use super::keys::{read_object, write_object};
use super::precision::Precision;
use super::quantization::{self, PackedParam, Quantization};
use super::sentence::module_folders;
use super::shards::WeightFiles;
use super::{CONFIG, transformer_folder};
use crate::error::{Error, FileError, ModelError, Result};
use crate::files::{create_folder, temporary_path, write_atomic};
use crate::text::Tokenizer;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The files of the tokenizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenizerForm {
    /// As they are.
    #[default]
    Keep,
    /// With a `tokenizer.json`, made of the others where there is none.
    Json,
}

/// What changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvertOptions {
    /// The precision of the weights; `None`: as they are stored.
    pub precision: Option<Precision>,
    /// The most bytes of a weight file; a larger tensor has a file of its own. `None`: one file.
    pub max_shard_size: Option<u64>,
    /// The files of the tokenizer.
    pub tokenizer: TokenizerForm,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Tensors.
    pub tensors: usize,
    /// Bytes of numbers.
    pub bytes: u64,
    /// Weight files.
    pub files: usize,
}

/// Writes a model folder anew. The folder may be one of sentence-transformers, with a folder for
/// each module.
/// # Errors
/// [`FileError::NotEmpty`] if there is something at `to`, [`crate::error::ModelError::Overflow`]
/// if a number is too large for the precision, [`crate::error::ModelError::AdapterBeside`] if there
/// is an adapter that would be lost, [`crate::error::TokenizerError::NotConvertible`]
/// for a tokenizer that `tokenizer.json` cannot describe, and those of reading and writing files.
/// Nothing is left at `to` then.
pub fn convert(from: &Path, to: &Path, options: &ConvertOptions) -> Result<Converted> {
    check_free(to)?;
    let transformer = transformer_folder(from);
    check_no_adapter(&transformer)?;
    check(&transformer)?;
    check_weights(&transformer)?;
    check_quantization(&transformer)?;
    if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_folder(parent)?;
    }
    let unfinished = temporary_path(to);
    let written = write(from, &unfinished, options).and_then(|converted| {
        // An empty folder is replaced; rename does that on some systems only.
        let _ = fs::remove_dir(to);
        fs::rename(&unfinished, to).map_err(|e| Error::io("write", to, e))?;
        Ok(converted)
    });
    if written.is_err() {
        // If it cannot be removed either, the first error is the one to report.
        let _ = fs::remove_dir_all(&unfinished);
    }
    written
}

/// Refuses a path that is taken.
fn check_free(to: &Path) -> Result<()> {
    let path = to.to_path_buf();
    if to.is_file() {
        return Err(FileError::IsFile { path }.into());
    }
    match fs::read_dir(to).is_ok_and(|mut entries| entries.next().is_some()) {
        true => Err(FileError::NotEmpty { path }.into()),
        false => Ok(()),
    }
}

fn write(from: &Path, to: &Path, options: &ConvertOptions) -> Result<Converted> {
    let mut converted = Converted::default();
    write_part(from, to, options, &mut converted)?;
    for module in module_folders(from)? {
        let source = from.join(&module);
        if source.is_dir() {
            write_part(&source, &to.join(&module), options, &mut converted)?;
        }
    }
    Ok(converted)
}

/// Refuses quantized weights: another type would lose what their method keeps.
pub(super) fn check_quantization(folder: &Path) -> Result<()> {
    let path = &folder.join(CONFIG);
    let stored = Quantization::read(path, read_object(path)?.remove(quantization::KEY))?;
    let first = stored.parameters.into_values().next();
    first.map_or(Ok(()), |PackedParam { format, .. }| {
        let refused = "it cannot be converted";
        Err(Error::from(ModelError::AlreadyQuantized { format, refused }).in_file(path))
    })
}

/// One folder: the model's, or that of a module.
fn write_part(
    from: &Path,
    to: &Path,
    options: &ConvertOptions,
    converted: &mut Converted,
) -> Result<()> {
    create_folder(to)?;
    copy_files(from, to)?;
    let templates = "additional_chat_templates";
    if from.join(templates).is_dir() {
        create_folder(&to.join(templates))?;
        copy_files(&from.join(templates), &to.join(templates))?;
    }
    if WeightFiles::exist_in(from) {
        let weights = WeightFiles::open(from)?;
        let written = shards::write(&weights, to, options)?;
        converted.tensors += written.tensors;
        converted.bytes += written.bytes;
        converted.files += written.files;
    }
    if let Some(precision) = options.precision {
        write_precision(&to.join(CONFIG), precision)?;
    }
    if options.tokenizer == TokenizerForm::Json && Tokenizer::exists_in(from) {
        let path = to.join("tokenizer.json");
        if !path.is_file() {
            write_atomic(&path, super::load_tokenizer(from)?.to_json()?.as_bytes())?;
        }
    }
    Ok(())
}

/// Copies the files of a folder that are no weights and not hidden.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).map_err(|e| Error::io("read", from, e))?;
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("read", from, e))?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_text = |name: &str| !name.starts_with('.') && !is_weight_file(name);
        if path.is_file() && is_text(&name.to_string_lossy()) {
            let bytes = fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
            write_atomic(&to.join(name), &bytes)?;
        }
    }
    Ok(())
}

/// Names the precision in the `config.json` of a Transformer: `transformers` computes in it.
fn write_precision(path: &Path, precision: Precision) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let mut config = read_object(path)?;
    if !config.contains_key("model_type") {
        return Ok(());
    }
    // Newer files have another name for it.
    let key = if config.contains_key("dtype") { "dtype" } else { "torch_dtype" };
    config.insert(key.into(), Value::from(precision.torch_name()));
    write_object(path, config)
}
