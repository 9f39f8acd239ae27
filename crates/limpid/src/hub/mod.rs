//! Model folders in Hugging Face's layout: `config.json`, `generation_config.json`,
//! `model.safetensors`, `tokenizer.json`.
//!
//! What is trained here opens in `transformers` with the same logits, and what `transformers` saves
//! opens here. Loading runs no code: the weights are numbers and a table of contents, the rest is
//! JSON. Each `model_type` is one file in `families`, found through one list.
//!
//! ```
//! use limpid::hub;
//! use limpid::model::Model;
//! use limpid::model::config::DecoderConfig;
//!
//! let folder = std::env::temp_dir().join("limpid-doc-hub");
//! let model = Model::new(DecoderConfig::gpt2(100, 16, 2, 4, 32), 0)?;
//! hub::save(&model, &folder)?;
//! let (same, warnings) = hub::load(&folder)?;
//! assert_eq!(same.params.flat(), model.params.flat());
//! assert!(warnings.is_empty());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod adapter;
mod config;
mod convert;
mod cross_encoder;
mod dense;
mod describe;
mod families;
mod folder;
mod generation;
mod gguf;
mod keys;
mod layout;
mod place;
mod pooling;
mod precision;
mod quantization;
mod sentence;
mod shards;
mod weight_file;
mod weights;

pub use crate::model::config::StackConfig;
pub use adapter::{
    ALL_LINEAR, AdapterConfig, ModulePattern, load_adapted, merge, merge_adapters, save_adapter,
};
use config::ConfigFile;
pub use config::{Warning, check_can_save, quantized_as, read_config, write_config};
pub use convert::{ConvertOptions, Converted, TokenizerForm, convert};
pub use cross_encoder::load_score_activation;
pub use dense::{Dense, DenseActivation};
pub use describe::{AdapterDescription, Description, ModelDescription, WeightSummary, describe};
pub(crate) use folder::check_no_adapter;
pub use generation::{EarlyStopping, GenerationConfig, SavedBy, load_generation_config};
pub use gguf::{GgufExport, GgufType, export_gguf};
pub(crate) use keys::read_object;
pub use layout::{FileForm, FileTensor};
pub use place::{FilePlace, file_place};
pub use pooling::{Pooling, TextCase};
pub use precision::Precision;
pub use sentence::{
    SentenceConfig, SentenceModule, SentenceOrigin, load_pooling, load_sentence_config,
    transformer_folder,
};
pub use weights::write_weights;

use crate::error::Result;
use crate::files::{create_folder, write_atomic};
use crate::model::{Model, Stack};
use crate::text::Tokenizer;
use adapter::AdapterFile;
use limpid_tensor::params::{ParamId, ParamSpec, Params, ParamsBuilder};
use quantization::Quantization;
use serde_json::Value;
use shards::WeightFiles;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use weights::Weights;

/// In a run folder: where the run that is to be replaced waits.
pub(crate) const REPLACED: &str = ".replaced";

const CONFIG: &str = "config.json";
const GENERATION_CONFIG: &str = "generation_config.json";
const WEIGHTS: &str = "model.safetensors";

/// The supported values of `model_type`.
pub fn model_types() -> Vec<&'static str> {
    families::model_types()
}

/// The tensors of a weight file that hold a model's parameters.
/// # Errors
/// If no family of files can hold the model.
pub fn file_tensors(model: &Model) -> Result<Vec<FileTensor>> {
    let layout = families::of_model(model)?.layout(&model.stack.config());
    Ok(layout.tensors(own_params(model)))
}

/// The parameters of the model itself, without those of its adapters.
fn own_params(model: &Model) -> impl Iterator<Item = (ParamId, &ParamSpec)> {
    let adapters = model.params.all_adapters().map(|(_, adapter)| adapter.a.index()).min();
    // Adapters were added last.
    model.params.iter().take(adapters.unwrap_or(usize::MAX))
}

/// Loads a model folder. Returns the model, and what in the folder was ignored.
/// # Errors
/// [`crate::error::ModelError`], if the folder holds no model, a model that is not supported, or
/// damaged files.
pub fn load(folder: &Path) -> Result<(Model, Vec<Warning>)> {
    load_into(folder, Memory::Owned)
}

/// Loads a model folder for inference: weights that can be used as they lie in the file are not
/// copied, and processes that use one file share its memory. The file must not be written in place
/// as long as the model is used. The model cannot be trained before its parameters are moved into
/// memory ([`Params::set_roles`]).
/// # Errors
/// Those of [`load`].
pub fn load_mapped(folder: &Path) -> Result<(Model, Vec<Warning>)> {
    load_into(folder, Memory::Mapped)
}

/// The folder that has the tokenizer of a model folder: that of its base, if it holds an adapter
/// without one.
pub fn tokenizer_folder(folder: &Path) -> PathBuf {
    own_or_base(folder, |folder| Tokenizer::main_file(folder).is_some())
}

/// A file of a model folder: that of its base, if it holds an adapter without one.
pub(crate) fn own_or_base_file(folder: &Path, name: &str) -> PathBuf {
    own_or_base(folder, |folder| folder.join(name).is_file()).join(name)
}

/// A folder itself, if it has something; else, if it holds an adapter, that of its base.
fn own_or_base(folder: &Path, has: impl Fn(&Path) -> bool) -> PathBuf {
    match has(folder) {
        true => folder.to_path_buf(),
        false => match folder::base_and_adapter(folder) {
            Ok((base, Some(_))) if has(&base) => base,
            _ => folder.to_path_buf(),
        },
    }
}

/// The files that the weights of a model folder are in: shards, and those of an adapter and its
/// base, are several.
/// # Errors
/// If the folder holds no weights that can be read.
pub fn weight_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let (base, adapter) = folder::base_and_adapter(folder)?;
    folder::check_weights(&base)?;
    let files = WeightFiles::open(&base)?;
    let own = files.files().iter().map(|file| file.path().to_path_buf());
    Ok(own.chain(adapter.map(|folder| folder.join(adapter::ADAPTER_WEIGHTS))).collect())
}

/// Where weights are loaded to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// All of them to memory of the process.
    Owned,
    /// Those that can be used as they are stay in the file.
    Mapped,
}

fn load_into(folder: &Path, memory: Memory) -> Result<(Model, Vec<Warning>)> {
    let (base, adapter) = folder::base_and_adapter(folder)?;
    load_from(&base, adapter, memory)
}

/// Loads the model in `base`, with the adapter in another folder, or in the same.
fn load_from(base: &Path, adapter: Option<&Path>, memory: Memory) -> Result<(Model, Vec<Warning>)> {
    let adapter = adapter.map(AdapterFile::open).transpose()?;
    // Before memory is allocated for a model that the file does not hold.
    let opened = Opened::new(base, adapter.as_ref())?;
    let mut warnings = opened.warnings.clone();
    let unused = opened.check()?;
    warnings.extend(unused.into_iter().map(Warning::UnusedTensor));
    let Opened { family, stack, builder, tensors, file, quantization, .. } = opened;
    let mut stored = match memory {
        Memory::Owned => HashMap::new(),
        Memory::Mapped => file.in_place(&tensors)?,
    };
    stored.extend(file.read_packed(&quantization, &builder)?);
    let mut params = builder.build_stored(|id| stored.remove(&id));
    file.read(&tensors, &mut params)?;
    let mut model = Model { stack, params, model_type: Some(family.model_type()) };
    if let Some(adapter) = &adapter {
        adapter.attach(&mut model)?;
    }
    Ok((model, warnings))
}

/// The `generation_config.json` of a folder, as it is.
fn generation_of(folder: &Path) -> Result<Option<Value>> {
    let path = own_or_base_file(folder, GENERATION_CONFIG);
    path.is_file().then(|| read_object(&path).map(Value::Object)).transpose()
}

/// The tokenizer of a model folder: of a folder that names no tokenizer class, that of its family;
/// of an adapter without one, that of its base.
/// # Errors
/// Those of [`Tokenizer::load`].
pub fn load_tokenizer(folder: &Path) -> Result<Tokenizer> {
    let folder = &tokenizer_folder(folder);
    // An error in config.json is reported where the model is loaded.
    let config = read_object(&folder.join(CONFIG)).unwrap_or_default();
    let model_type = config.get("model_type").and_then(Value::as_str);
    let family = model_type.and_then(families::find);
    Tokenizer::load_as(folder, family.and_then(|family| family.tokenizer_class()))
}

/// A model folder of which the configuration and the tables of contents were read, and no weight.
struct Opened<'a> {
    family: &'static dyn families::Family,
    stack: Stack,
    builder: ParamsBuilder,
    tensors: Vec<FileTensor>,
    file: Weights<'a>,
    quantization: Quantization,
    warnings: Vec<Warning>,
}

impl<'a> Opened<'a> {
    /// The model in `folder`, with an adapter: its own configuration, if it has one, has its head.
    fn new(folder: &Path, adapter: Option<&'a AdapterFile>) -> Result<Self> {
        folder::check(folder)?;
        let own = adapter.map(|adapter| adapter.folder().join(CONFIG));
        let path = own.filter(|path| path.is_file()).unwrap_or_else(|| folder.join(CONFIG));
        let ConfigFile { family, config, quantization, warnings } = config::read_family(&path)?;
        folder::check_weights(folder)?;
        let file = Weights::open(folder, adapter)?;
        let has = |name: &str| file.has(name) || quantization.stands_for(name);
        let config = family.complete(config, &has);
        let mut builder = Params::builder();
        let stack = Stack::new(&config, &mut builder)?;
        let mut tensors = family.layout(&config).tensors(builder.iter());
        quantization.check(&path, &builder, &tensors)?;
        // Those of packed parameters are not in the file.
        tensors.retain(|t| !quantization.parameters.contains_key(&builder.spec(t.param).name));
        Ok(Self { family, stack, builder, tensors, file, quantization, warnings })
    }

    /// Checks that every parameter has a tensor of its shape.
    fn check_shapes(&self) -> Result<()> {
        self.tensors.iter().try_for_each(|tensor| self.file.check_shape(tensor, &self.builder))
    }

    /// Checks that the files hold the model. Returns the names of tensors that nothing uses.
    fn check(&self) -> Result<Vec<String>> {
        let layout = self.family.layout(&self.stack.config());
        let constants = self.family.constants(&self.stack);
        let mut unused = self.file.check(&layout, &self.tensors, &constants, &self.builder)?;
        unused.retain(|name| !self.quantization.packs(name));
        Ok(unused)
    }
}

/// Writes a model folder, each file atomically, with the default `generation_config.json`.
/// # Errors
/// If no family of files can hold the model, or a file cannot be written.
pub fn save(model: &Model, folder: &Path) -> Result<()> {
    save_with_generation(model, folder, None)
}

/// The same with this `generation_config.json`: the start and end tokens of a language model are
/// not in its configuration.
/// # Errors
/// Those of [`save`].
pub fn save_with_generation(
    model: &Model,
    folder: &Path,
    generation: Option<&Value>,
) -> Result<()> {
    create_folder(folder)?;
    write_atomic(&folder.join(WEIGHTS), &write_weights(model)?)?;
    save_config(model, folder, generation)
}

/// The same without the weights.
/// # Errors
/// Those of [`save`].
pub fn save_config(model: &Model, folder: &Path, generation: Option<&Value>) -> Result<()> {
    let (config, default) = write_config(model)?;
    // An encoder does not generate.
    if let Some(default) = default {
        let generation = generation.map_or(default, |given| format!("{given:#}\n"));
        write_atomic(&folder.join(GENERATION_CONFIG), generation.as_bytes())?;
    }
    // Last: a folder with a config.json is complete.
    write_atomic(&folder.join(CONFIG), config.as_bytes())
}
