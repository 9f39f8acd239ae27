//! Model folders in Hugging Face's layout: `config.json`, `generation_config.json`, `model.safetensors`, `tokenizer.json`.
//!
//! What is trained here opens in `transformers` with the same logits, and what `transformers` saves opens here. Loading
//! runs no code: the weights are numbers and a table of contents, the rest is JSON.

mod bert;
mod config;
mod generation;
mod gpt;
mod keys;
mod pooling;
mod rnn;
mod seq2seq;
mod variant;
mod weights;

pub use config::{Warning, read_config, write_config};
pub use generation::{Generation, load_generation};
pub(crate) use gpt::check_file as check_gpt_file;
pub(crate) use keys::read_object;
pub use pooling::{Letters, SentenceSettings, load_pooling, load_sentence_settings};
use weights::{check_positions, check_weights, holds};
pub use weights::{read_weights, write_weights};

use crate::config::{BertConfig, BertHead, GptConfig, RnnConfig, Seq2SeqConfig};
use crate::error::{Error, Result};
use crate::files::{create_folder, write_aside};
use crate::model::{Architecture, Bert, Gpt, Model, Rnn, Seq2Seq};
use crate::nn::Builder;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The configuration of any family we know.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyConfig {
    /// GPT-1 or GPT-2.
    Gpt(GptConfig),
    /// Marian, or its pre-norm relative Pegasus.
    Seq2Seq(Seq2SeqConfig),
    /// BERT.
    Bert(BertConfig),
    /// Recurrent.
    Rnn(RnnConfig),
}

/// In the folder of a run: where one that is to be replaced waits.
pub(crate) const REPLACED: &str = ".replaced";

/// Opens a model folder. Returns the model, and what in its `config.json` we did not know.
pub fn load(folder: &Path) -> Result<(Model, Vec<Warning>)> {
    if !folder.is_dir() {
        let what = if folder.exists() { "it is a file" } else { "there is no such folder" };
        return Err(Error::config(format!("{} is not a model folder: {what}", folder.display()))
            .hint("a model folder has config.json and model.safetensors; `limpid demo` makes one"));
    }
    if folder.join("config.toml").is_file() && !folder.join("config.json").is_file() {
        let hint = match folder.join(REPLACED).is_dir() {
            false => "one is kept at the first validation: `limpid train … --resume` goes on",
            true => {
                "the run that it was to replace waits in .replaced; the next `limpid train` with this folder puts it back first"
            }
        };
        return Err(
            Error::config(format!("the run in {} has kept no model yet", folder.display())).hint(hint)
        );
    }
    let (mut config, mut warnings) = read_config(&folder.join("config.json"))?;
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).map_err(|e| {
        Error::io("read", &path, &e).hint("a model folder needs config.json and model.safetensors")
    })?;
    if let AnyConfig::Bert(config) = &mut config
        && config.head == BertHead::Pooler
        && !holds(&path, &bytes, "pooler.dense.weight")?
    {
        config.head = BertHead::Bare;
    }
    let mut builder = Builder::default();
    let architecture = match &config {
        AnyConfig::Gpt(config) => Architecture::Gpt(Gpt::new(config, &mut builder)?),
        AnyConfig::Seq2Seq(config) => Architecture::Seq2Seq(Seq2Seq::new(config, &mut builder)?),
        AnyConfig::Bert(config) => Architecture::Bert(Bert::new(config, &mut builder)?),
        AnyConfig::Rnn(config) => Architecture::Rnn(Rnn::new(config, &mut builder)?),
    };
    // Before memory is taken for a model that the file does not hold.
    warnings.extend(check_weights(&path, &bytes, &builder)?.into_iter().map(Warning::UnusedTensor));
    let (mut params, files) = builder.build_zeroed();
    read_weights(&path, &bytes, &mut params, &files)?;
    if let Architecture::Seq2Seq(seq2seq) = &architecture {
        check_positions(&path, &bytes, seq2seq)?;
    }
    Ok((Model { architecture, params, files }, warnings))
}

/// Writes a model folder. Each file is written aside, flushed and renamed: a reader never sees half of one.
pub fn save(model: &Model, folder: &Path) -> Result<()> {
    save_writer(model, folder, None)
}

/// The same, with a `generation_config.json` of the caller's: how a language model begins and ends is not in its configuration.
pub fn save_writer(model: &Model, folder: &Path, generation: Option<&Value>) -> Result<()> {
    create_folder(folder)?;
    write_aside(&folder.join("model.safetensors"), &write_weights(model)?)?;
    save_config(&model.architecture, folder, generation)
}

/// The same without the weights.
pub fn save_config(architecture: &Architecture, folder: &Path, generation: Option<&Value>) -> Result<()> {
    let (config, usual) = write_config(architecture)?;
    let generation = generation.map_or(usual, |given| format!("{given:#}\n"));
    // An encoder does not write.
    if !matches!(architecture, Architecture::Bert(_)) {
        write_aside(&folder.join("generation_config.json"), generation.as_bytes())?;
    }
    // Last: a folder with a config.json is complete.
    write_aside(&folder.join("config.json"), config.as_bytes())
}
