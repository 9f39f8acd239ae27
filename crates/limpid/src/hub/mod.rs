//! Model folders in Hugging Face's layout: `config.json`, `generation_config.json`, `model.safetensors`, `tokenizer.json`.
//!
//! What is trained here opens in `transformers` with the same logits, and what `transformers` saves opens here. Loading
//! runs no code: the weights are numbers and a table of contents, the rest is JSON.

mod config;
mod weights;

pub use config::{ConfigWarning, read_config, write_config};
pub use weights::{read_weights, write_weights};

use crate::config::{GptConfig, Seq2SeqConfig};
use crate::error::{Error, Result};
use crate::model::{Architecture, Gpt, Model, Seq2Seq};
use crate::nn::Builder;
use std::fs;
use std::io::Write;
use std::path::Path;

/// The configuration of any family we know.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyConfig {
    /// GPT-1 or GPT-2.
    Gpt(GptConfig),
    /// Marian, or its pre-norm relative Pegasus.
    Seq2Seq(Seq2SeqConfig),
}

/// Opens a model folder. Returns the model, and what in its `config.json` we did not know.
pub fn load(folder: &Path) -> Result<(Model, Vec<ConfigWarning>)> {
    if !folder.is_dir() {
        return Err(Error::config(format!(
            "{} is not a model folder: there is no such folder",
            folder.display()
        ))
        .hint("a model folder has config.json and model.safetensors; `limpid demo` makes one"));
    }
    let (config, warnings) = read_config(&folder.join("config.json"))?;
    let mut builder = Builder::default();
    let architecture = match &config {
        AnyConfig::Gpt(config) => Architecture::Gpt(Gpt::new(config, &mut builder)?),
        AnyConfig::Seq2Seq(config) => Architecture::Seq2Seq(Seq2Seq::new(config, &mut builder)?),
    };
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).map_err(|e| Error::io("read", &path, &e))?;
    let (mut params, files) = builder.build_zeroed();
    read_weights(&path, &bytes, &mut params, &files)?;
    Ok((Model { architecture, params, files }, warnings))
}

/// Writes a model folder. Each file is written aside, flushed and renamed: a reader never sees half of one.
pub fn save(model: &Model, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))?;
    write_aside(&folder.join("model.safetensors"), &write_weights(model)?)?;
    let (config, generation) = write_config(&model.architecture)?;
    write_aside(&folder.join("generation_config.json"), generation.as_bytes())?;
    // Last: a folder with a config.json is complete.
    write_aside(&folder.join("config.json"), config.as_bytes())
}

/// Writes a file so that it is either there as a whole or not at all.
pub fn write_aside(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}.tmp", std::process::id()));
    let aside = Path::new(&aside);
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(aside, path)
    };
    write().map_err(|e| {
        // Nothing half-written stays behind; that it cannot be removed changes nothing about the error.
        let _ = fs::remove_file(aside);
        Error::io("write", path, &e)
    })
}
