//! `adapter_model.safetensors`: the matrices A and B of every adapted module, and modules that are
//! saved as a whole.
//!
//! ```text
//! base_model.model.MODULE.lora_A.weight   (r, in)
//! base_model.model.MODULE.lora_B.weight   (out, r)
//! base_model.model.MODULE.weight          a module to save
//! ```

use super::super::layout::FileTensor;
use super::super::weight_file::{StoredTensor, WeightFile};
use super::super::weights::{Tensors, serialize_tensors, tensor_bytes};
use super::{
    ADAPTER_WEIGHTS, AdapterConfig, Module, PREFIX, form_of_b, is_linear, module_path, modules,
};
use crate::error::{Error, ModelError, Result};
use crate::model::Model;
use limpid_tensor::params::{AdapterSpec, ParamId, Role};
use safetensors::tensor::Dtype;
use std::collections::BTreeSet;
use std::path::Path;

/// The weights of an adapter, mapped.
pub(in crate::hub) struct AdapterFile {
    file: WeightFile,
    config: AdapterConfig,
}

/// A name that ends like this belongs to A or B.
const LORA: [&str; 2] = [".lora_A.weight", ".lora_B.weight"];

impl AdapterFile {
    /// Opens the files of an adapter's folder.
    pub(in crate::hub) fn open(folder: &Path) -> Result<Self> {
        let config = AdapterConfig::read(folder)?;
        let path = folder.join(ADAPTER_WEIGHTS);
        if !path.exists() {
            let (folder, file) = (folder.to_path_buf(), ADAPTER_WEIGHTS);
            return Err(ModelError::MissingFile { folder, file }.into());
        }
        Ok(Self { file: WeightFile::open(&path)?, config })
    }

    /// The folder it was opened from.
    pub(in crate::hub) fn folder(&self) -> &Path {
        self.file.path().parent().expect("a file in a folder")
    }

    /// A tensor of a module that is saved as a whole, under its name in the base.
    pub(in crate::hub) fn whole(&self, name: &str) -> Option<StoredTensor<'_>> {
        self.file.tensor(&format!("{PREFIX}{name}"))
    }

    /// Puts the adapters on a model whose parameters are loaded. Every tensor must be used.
    pub(in crate::hub) fn attach(&self, model: &mut Model) -> Result<()> {
        let mut unused: BTreeSet<String> = self.file.names().into_iter().collect();
        let (mut specs, mut found) = (Vec::new(), Vec::new());
        for module in modules(model)? {
            let Some([a, b]) = self.matrices(&module, &mut unused)? else { continue };
            if !is_linear(model, &module.tensor) {
                let (module, available) = (module.path, Vec::new());
                return Err(ModelError::AdapterNotLinear { module, available }.into());
            }
            let rank = self.config.rank_of(&module.path);
            let spec = self.config.spec(model, &module, rank)?;
            let width = model.params.shape(module.tensor.param).dim(1);
            check_shape(&a, vec![rank, width])?;
            check_shape(&b, vec![module.tensor.rows.len(), rank])?;
            specs.push(spec);
            found.push((module, a, b));
        }
        for tensor in hub_names(model)? {
            unused.remove(&format!("{PREFIX}{tensor}"));
        }
        if let Some(tensor) = unused.into_iter().next() {
            let module = module_path(&tensor).trim_start_matches(PREFIX);
            let module = LORA.iter().find_map(|end| tensor.strip_suffix(end)).unwrap_or(module);
            let module = module.trim_start_matches(PREFIX).to_string();
            let error = ModelError::AdapterOfAnother { module };
            return Err(Error::from(error).in_file(self.file.path()));
        }
        if specs.is_empty() {
            let error = ModelError::AdapterEmpty;
            return Err(Error::from(error).in_file(self.file.path()));
        }
        model.params.add_adapters(&specs, 0);
        for (AdapterSpec { names, .. }, (module, a, b)) in specs.iter().zip(found) {
            let id = |name: &str| model.params.find(name).expect("it was just added");
            let [a_id, b_id] = [id(&names[0]), id(&names[1])];
            a.read(0, model.params.get_mut(a_id))?;
            let rows = FileTensor { form: form_of_b(&module.tensor), ..module.tensor };
            rows.fill(model.params.get_mut(b_id), |start, part| b.read(start, part))?;
        }
        Ok(())
    }

    /// A and B of a module, under any of its names.
    fn matrices(
        &self,
        module: &Module,
        unused: &mut BTreeSet<String>,
    ) -> Result<Option<[StoredTensor<'_>; 2]>> {
        let aliases = module.tensor.aliases.iter().filter_map(|name| name.strip_suffix(".weight"));
        for path in std::iter::once(module.path.as_str()).chain(aliases) {
            let names = LORA.map(|end| format!("{PREFIX}{path}{end}"));
            let [a, b] = names.each_ref().map(|name| self.file.tensor(name));
            match (a, b) {
                (None, None) => {}
                (Some(a), Some(b)) => {
                    unused.retain(|name| !names.contains(name));
                    return Ok(Some([a, b]));
                }
                (a, _) => {
                    let tensor = names[usize::from(a.is_some())].clone();
                    let error = ModelError::MissingTensor { tensor };
                    return Err(Error::from(error).in_file(self.file.path()));
                }
            }
        }
        Ok(None)
    }
}

fn check_shape(stored: &StoredTensor, expected: Vec<usize>) -> Result<()> {
    match stored.shape() == expected {
        true => Ok(()),
        false => {
            let (tensor, found) = (stored.name().to_string(), stored.shape().to_vec());
            Err(stored.error(ModelError::WrongShape { tensor, found, expected }))
        }
    }
}

/// The names of all tensors of the base, aliases included.
fn hub_names(model: &Model) -> Result<Vec<String>> {
    let names = |tensor: FileTensor| std::iter::once(tensor.name).chain(tensor.aliases);
    Ok(super::file_tensors(model)?.into_iter().flat_map(names).collect())
}

/// The bytes of the file, and the modules that it holds as a whole.
pub(super) fn write(model: &Model) -> Result<(Vec<u8>, Vec<String>)> {
    let params = &model.params;
    let mut all = Tensors::new();
    let mut put = |name: String, shape: Vec<usize>, values: &[f32]| {
        all.insert(name, (Dtype::F32, shape, tensor_bytes(values)));
    };
    for module in modules(model)? {
        let adapters = params.adapters(module.tensor.param).iter();
        for adapter in adapters.filter(|adapter| adapter.rows == module.tensor.rows) {
            let shape = |id: ParamId| params.shape(id).dims().collect::<Vec<usize>>();
            let name = |id: ParamId| params.spec(id).name.clone();
            put(name(adapter.a), shape(adapter.a), params.get(adapter.a));
            let values = params.get(adapter.b);
            let mut ordered = vec![0.0; values.len()];
            let rows = FileTensor { form: form_of_b(&module.tensor), ..module.tensor.clone() };
            rows.to_file(&mut ordered, values);
            put(name(adapter.b), shape(adapter.b), &ordered);
        }
    }
    let mut saved = BTreeSet::new();
    for tensor in super::file_tensors(model)? {
        let spec = params.spec(tensor.param);
        if spec.role == Role::Fixed {
            continue;
        }
        let row: usize = spec.shape.dims().skip(1).product();
        let values = &params.get(tensor.param)[tensor.rows.start * row..tensor.rows.end * row];
        let mut ordered = vec![0.0; values.len()];
        tensor.to_file(&mut ordered, values);
        put(format!("{PREFIX}{}", tensor.name), tensor.shape(spec), &ordered);
        saved.insert(module_path(&tensor.name).to_string());
    }
    Ok((serialize_tensors(&all)?, saved.into_iter().collect()))
}
