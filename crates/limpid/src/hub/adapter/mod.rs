//! LoRA adapters in PEFT's format: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! An adapter changes what the linear layers of its base compute (Hu et al. 2021):
//!
//! ```text
//! y = x·Wᵀ + scale·(x·Aᵀ)·Bᵀ        A (r, in)  B (out, r)  scale = α/r, or α/√r
//! ```
//!
//! Modules have the names of the base's weight file. Where several of them are one matrix in
//! memory (q, k and v; gate and up), an adapter belongs to the rows of its module.

mod config;
mod merging;
mod tensors;

pub(super) use config::base_of;
pub use config::{AdapterConfig, ModulePattern};
pub use merging::{merge, merge_adapters};
pub(super) use tensors::AdapterFile;

use super::layout::{FileForm, FileTensor};
use super::{CONFIG, Warning, file_tensors};
use crate::error::{ModelError, Result};
use crate::files::{create_folder, write_atomic};
use crate::model::{Model, Stack};
use limpid_tensor::params::{AdapterSpec, ParamSpec, Role};
use std::path::Path;

/// The settings of an adapter, in PEFT's format.
pub(super) const ADAPTER_CONFIG: &str = "adapter_config.json";
/// The weights of an adapter, in PEFT's format.
pub(super) const ADAPTER_WEIGHTS: &str = "adapter_model.safetensors";
/// In front of the names of a base's modules.
pub(super) const PREFIX: &str = "base_model.model.";

/// The target that stands for every linear layer but the output layer.
pub const ALL_LINEAR: &str = "all-linear";

/// A module of the base: the rows of a weight matrix that one tensor of its file holds.
struct Module {
    /// Its path, without `.weight`.
    path: String,
    tensor: FileTensor,
}

/// Whether adapters can be put on a matrix: it is used by linear layers only.
fn is_linear(model: &Model, tensor: &FileTensor) -> bool {
    let spec = model.params.spec(tensor.param);
    let is_table = ["embedding", "relative_bias"].iter().any(|part| spec.name.contains(part));
    let is_output = spec.name == "output.weight";
    let is_recurrent = matches!(model.stack, Stack::Recurrent(_));
    spec.shape.rank() == 2 && !is_table && !is_output && !is_recurrent
}

/// The modules that have a matrix.
fn modules(model: &Model) -> Result<Vec<Module>> {
    let tensors = file_tensors(model)?.into_iter().filter_map(|tensor| {
        let is_matrix = model.params.shape(tensor.param).rank() == 2;
        let path = tensor.name.strip_suffix(".weight").filter(|_| is_matrix)?.to_string();
        Some(Module { path, tensor })
    });
    Ok(tensors.collect())
}

/// Whether a target names a module: its path, or the end of it after a dot.
fn is_target(target: &str, path: &str) -> bool {
    path == target || path.strip_suffix(target).is_some_and(|before| before.ends_with('.'))
}

/// The last parts of the paths of modules, each once: what can be a target.
fn short_names<'a>(modules: impl Iterator<Item = &'a Module>) -> Vec<String> {
    let mut names: Vec<String> =
        modules.map(|m| m.path.rsplit('.').next().unwrap_or_default().to_string()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

impl AdapterConfig {
    /// Puts new adapters on a model: all its parameters are frozen, but for those that
    /// `is_trained` names and the modules to save, which are trained as a whole.
    /// # Errors
    /// If a target matches no linear layer, or the rank is larger than a matrix.
    pub fn attach(
        &self,
        model: &mut Model,
        seed: u64,
        is_trained: impl Fn(&ParamSpec) -> bool,
    ) -> Result<()> {
        let modules = modules(model)?;
        let is_whole = |module: &Module| {
            self.saves(&module.path) || is_trained(model.params.spec(module.tensor.param))
        };
        let mut chosen: Vec<&Module> = Vec::new();
        for target in &self.target_modules {
            let matches = |module: &&Module| match target == ALL_LINEAR {
                true => is_linear(model, &module.tensor) && !is_whole(module),
                false => is_target(target, &module.path),
            };
            let found: Vec<&Module> = modules.iter().filter(matches).collect();
            let usable = || modules.iter().filter(|module| is_linear(model, &module.tensor));
            if found.is_empty() {
                let (target, available) = (target.clone(), short_names(usable()));
                return Err(ModelError::AdapterTarget { target, available }.into());
            }
            if let Some(module) = found.iter().find(|m| !is_linear(model, &m.tensor)) {
                let (module, available) = (module.path.clone(), short_names(usable()));
                return Err(ModelError::AdapterNotLinear { module, available }.into());
            }
            let is_new = |m: &&Module| chosen.iter().all(|c| c.path != m.path);
            let new: Vec<&Module> = found.into_iter().filter(is_new).collect();
            chosen.extend(new);
        }
        let specs =
            chosen.iter().map(|module| self.spec(model, module, self.rank_of(&module.path)));
        let specs = specs.collect::<Result<Vec<AdapterSpec>>>()?;
        let saved: Vec<_> = file_tensors(model)?
            .into_iter()
            .filter(|tensor| self.saves(module_path(&tensor.name)))
            .map(|tensor| model.params.spec(tensor.param).name.clone())
            .collect();
        model.params.set_roles(|spec| match is_trained(spec) || saved.contains(&spec.name) {
            true => spec.role,
            false => Role::Fixed,
        });
        model.params.add_adapters(&specs, seed);
        Ok(())
    }

    /// The adapter of a module.
    fn spec(&self, model: &Model, module: &Module, rank: usize) -> Result<AdapterSpec> {
        let FileTensor { param, rows, .. } = &module.tensor;
        let width = model.params.shape(*param).dim(1);
        let largest = rows.len().min(width);
        if rank == 0 || rank > largest {
            let module = module.path.clone();
            return Err(ModelError::AdapterRank { rank, module, largest }.into());
        }
        let name = |part: &str| format!("{PREFIX}{}.lora_{part}.weight", module.path);
        Ok(AdapterSpec {
            weight: *param,
            rows: rows.clone(),
            names: ["A", "B"].map(name),
            rank,
            scale: self.scale_of(&module.path, rank),
            dropout: self.lora_dropout,
        })
    }
}

/// The module of a tensor: its name without the last part.
fn module_path(tensor: &str) -> &str {
    tensor.rsplit_once('.').map_or(tensor, |(path, _)| path)
}

/// How the rows of an adapter's B are ordered in its file: as those of the module, whose matrix
/// may be stored transposed, while B never is.
fn form_of_b(tensor: &FileTensor) -> FileForm {
    match tensor.form {
        FileForm::Transposed => FileForm::Same,
        form => form,
    }
}

/// Writes the adapters of a model into a folder, with the parameters that are trained beside them,
/// and with the `config.json` of the adapted model: its head may be new. `base` is the folder of
/// the base model.
/// # Errors
/// If no family of files can hold the model, or a file cannot be written.
pub fn save_adapter(
    model: &Model,
    config: &AdapterConfig,
    base: &Path,
    folder: &Path,
) -> Result<()> {
    create_folder(folder)?;
    let (bytes, saved) = tensors::write(model)?;
    write_atomic(&folder.join(ADAPTER_WEIGHTS), &bytes)?;
    let text = config.to_json(model, base, &saved)?;
    write_atomic(&folder.join(ADAPTER_CONFIG), text.as_bytes())?;
    let (text, _) = super::write_config(model)?;
    write_atomic(&folder.join(CONFIG), text.as_bytes())
}

/// Loads the model in `base` with the adapter in `adapter`, for inference. Returns the model, and
/// what was ignored.
/// # Errors
/// Those of [`load`](super::load) for the base; if the adapter cannot be read, uses what is not
/// supported, or belongs to another base.
pub fn load_adapted(base: &Path, adapter: &Path) -> Result<(Model, Vec<Warning>)> {
    super::load_from(base, Some(adapter), super::Memory::Mapped)
}
