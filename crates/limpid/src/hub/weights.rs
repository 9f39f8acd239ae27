//! `model.safetensors`: tensors with a table of contents, and nothing that could run.

use super::adapter::AdapterFile;
use super::layout::{Constant, FileForm, FileTensor, Layout, Presence, TiedCopy};
use super::quantization::{PACKED, Quantization, SCALES};
use super::shards::WeightFiles;
use super::weight_file::{StoredTensor, WeightFile};
use super::{families, own_params};
use crate::error::{Error, ModelError, Result};
use crate::model::Model;
use limpid_tensor::kernels::quantized::{Format, GROUP, PANEL, QuantizedMatrix};
use limpid_tensor::params::{ParamId, Params, ParamsBuilder, Role, Stored};
use safetensors::tensor::{Dtype, SafeTensorError, TensorView};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// The weights of a folder, to be read into the parameters of a model.
pub(super) struct Weights<'a> {
    files: WeightFiles,
    /// What it holds as a whole takes the place of the base's tensors.
    adapter: Option<&'a AdapterFile>,
}

impl<'a> Weights<'a> {
    /// Maps the weight files of a folder.
    pub(super) fn open(folder: &Path, adapter: Option<&'a AdapterFile>) -> Result<Self> {
        Ok(Self { files: WeightFiles::open(folder)?, adapter })
    }

    /// The weight files.
    pub(super) fn files(&self) -> &[WeightFile] {
        self.files.files()
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.tensor(name).is_some()
    }

    /// A tensor, under any of its names.
    fn find(&self, tensor: &FileTensor) -> Option<StoredTensor<'_>> {
        let names = || std::iter::once(&tensor.name).chain(&tensor.aliases);
        let adapted = self.adapter.and_then(|file| names().find_map(|name| file.whole(name)));
        adapted.or_else(|| names().find_map(|name| self.files.tensor(name)))
    }

    /// Checks that every tensor of the model is there with its shape, that tied copies are copies,
    /// and that constants have their values. Returns the names of tensors that nothing uses.
    pub(super) fn check(
        &self,
        layout: &Layout,
        tensors: &[FileTensor],
        constants: &[Constant],
        params: &ParamsBuilder,
    ) -> Result<Vec<String>> {
        for tensor in tensors {
            self.check_shape(tensor, params)?;
        }
        let names = |tensor: &FileTensor| [vec![tensor.name.clone()], tensor.aliases.clone()];
        let used: BTreeSet<String> = tensors.iter().flat_map(names).flatten().collect();
        let mut unused = Vec::new();
        for name in self.files.names().filter(|name| !used.contains(*name)) {
            let copy = layout.copies.iter().find(|copy| name.ends_with(copy.suffix));
            let constant = constants.iter().find(|constant| constant.name == *name);
            match (copy, constant) {
                (Some(copy), _) => self.check_copy(name, copy, tensors, params)?,
                (None, Some(constant)) => self.check_constant(constant)?,
                (None, None) if layout.ignored.iter().any(|end| name.ends_with(end)) => {}
                (None, None) => unused.push(name.clone()),
            }
        }
        Ok(unused)
    }

    pub(super) fn check_shape(&self, tensor: &FileTensor, params: &ParamsBuilder) -> Result<()> {
        let (spec, name) = (params.spec(tensor.param), || tensor.name.clone());
        let Some(stored) = self.find(tensor) else {
            // A fixed bias that a file does not hold is zero.
            let missing = || Error::from(ModelError::MissingTensor { tensor: name() });
            return match spec.role {
                Role::Fixed => Ok(()),
                _ => Err(missing().in_file(self.files.list())),
            };
        };
        let expected = tensor.shape(spec);
        if stored.shape() != expected {
            let (tensor, found) = (name(), stored.shape().to_vec());
            return Err(stored.error(ModelError::WrongShape { tensor, found, expected }));
        }
        Ok(())
    }

    /// A copy that differs from what it is tied to would be lost without a word.
    fn check_copy(
        &self,
        name: &str,
        copy: &TiedCopy,
        tensors: &[FileTensor],
        params: &ParamsBuilder,
    ) -> Result<()> {
        let of = |name: &&str| tensors.iter().find(|t| params.spec(t.param).name == **name);
        let original = copy.of.iter().find_map(|name| of(name).map(|t| (t, self.find(t))));
        let Some((original, Some(expected))) = original else { return Ok(()) };
        let Some(found) = self.files.tensor(name) else { return Ok(()) };
        if found.same_numbers(&expected)? {
            return Ok(());
        }
        Err(found.error(ModelError::NotTied {
            tensor: name.into(),
            original: original.name.clone(),
            tying: copy.tying,
        }))
    }

    fn check_constant(&self, constant: &Constant) -> Result<()> {
        let tensor = constant.name.clone();
        let Some(stored) = self.files.tensor(&tensor) else { return Ok(()) };
        match stored.is_near(constant.value.data(), stored.rounding())? {
            true => Ok(()),
            false => Err(stored.error(ModelError::NotSinusoidal { tensor })),
        }
    }

    /// The packed parameters of a file.
    pub(super) fn read_packed(
        &self,
        quantization: &Quantization,
        params: &ParamsBuilder,
    ) -> Result<HashMap<ParamId, Stored>> {
        let mut found = HashMap::new();
        for (id, spec) in params.iter() {
            let Some(packed) = quantization.parameters.get(&spec.name) else { continue };
            let tensor = |end: &str| {
                let tensor = format!("{}{end}", spec.name);
                self.files.tensor(&tensor).ok_or_else(|| {
                    Error::from(ModelError::MissingTensor { tensor }).in_file(self.files.list())
                })
            };
            let (weights, scales) = dtypes(packed.format);
            let stored = tensor(PACKED)?;
            stored.check_dtype(weights)?;
            let scales = match scales {
                Some(dtype) => tensor(SCALES)?.bytes_of(dtype)?,
                None => Vec::new(),
            };
            let shape = (spec.shape.dim(0), spec.shape.dim(1));
            let weights = (stored.bytes(), |to: &mut [u8]| stored.take_bytes(to));
            let matrix = QuantizedMatrix::from_reader(packed.format, shape, weights, &scales);
            let matrix = matrix.map_err(|source| {
                let tensor = spec.name.clone();
                stored.error(ModelError::NotPacked { tensor, source })
            })?;
            found.insert(id, Stored::Quantized(matrix.into()));
        }
        Ok(found)
    }

    /// The parameters that can be used as they lie in a file that [`Weights::check`] has passed:
    /// in the same order, aligned, f32. Every number must be finite.
    pub(super) fn in_place(&self, tensors: &[FileTensor]) -> Result<HashMap<ParamId, Stored>> {
        let mut found = HashMap::new();
        for parts in tensors.chunk_by(|a, b| a.param == b.param) {
            let stored: Vec<StoredTensor> = parts.iter().filter_map(|t| self.find(t)).collect();
            let is_plain = parts.iter().all(|part| part.form == FileForm::Same);
            let Some((first, following)) = stored.split_first() else { continue };
            if !is_plain || stored.len() < parts.len() {
                continue;
            }
            if let Some(floats) = first.in_place(following)? {
                found.insert(parts[0].param, Stored::Mapped(floats));
            }
        }
        self.files.expect_use();
        Ok(found)
    }

    /// Fills the parameters that are not in place from a file that [`Weights::check`] has passed.
    /// Every number must be finite.
    pub(super) fn read(&self, tensors: &[FileTensor], params: &mut Params) -> Result<()> {
        for tensor in tensors {
            if params.is_mapped(tensor.param) {
                continue;
            }
            let row: usize = params.shape(tensor.param).dims().skip(1).product();
            let rows = tensor.rows.start * row..tensor.rows.end * row;
            self.read_rows(tensor, &mut params.get_mut(tensor.param)[rows])?;
        }
        Ok(())
    }

    /// Fills the rows of a parameter that one tensor holds; leaves them if the file has none.
    pub(super) fn read_rows(&self, tensor: &FileTensor, to: &mut [f32]) -> Result<()> {
        let Some(stored) = self.find(tensor) else { return Ok(()) };
        tensor.fill(to, |start, part| stored.read(start, part))
    }
}

/// The bytes of a model's `model.safetensors`.
/// # Errors
/// If no family of files can hold the model.
pub fn write_weights(model: &Model) -> Result<Vec<u8>> {
    let family = families::of_model(model)?;
    let mut tensors = Tensors::new();
    for file in family.layout(&model.stack.config()).tensors(own_params(model)) {
        let spec = model.params.spec(file.param);
        if model.params.quantized(file.param).is_some() {
            continue;
        }
        let row: usize = spec.shape.dims().skip(1).product();
        let values = &model.params.get(file.param)[file.rows.start * row..file.rows.end * row];
        let bytes = match file.form {
            FileForm::Same => tensor_bytes(values),
            _ => {
                let mut ordered = vec![0.0; values.len()];
                file.to_file(&mut ordered, values);
                tensor_bytes(&ordered)
            }
        };
        let shape = file.shape(spec);
        tensors.insert(file.name, (Dtype::F32, shape, bytes));
    }
    for (id, spec) in model.params.iter() {
        if let Some(matrix) = model.params.quantized(id) {
            add_packed(&mut tensors, &spec.name, matrix);
        }
    }
    for constant in family.constants(&model.stack) {
        if constant.presence == Presence::Written {
            let shape = constant.value.shape().dims().collect();
            let bytes = tensor_bytes(constant.value.data());
            tensors.insert(constant.name, (Dtype::F32, shape, bytes));
        }
    }
    serialize_tensors(&tensors)
}

/// The bytes of a file of these tensors.
pub(super) fn serialize_tensors(tensors: &Tensors) -> Result<Vec<u8>> {
    // `transformers` refuses files without it.
    let metadata = Some([("format".to_string(), "pt".to_string())].into());
    serialize(tensors, metadata)
        .map_err(|e| ModelError::NotWritable { reason: e.to_string() }.into())
}

/// Tensors to be written, by name: type, shape and bytes.
pub(super) type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// The types of packed weights and of their scales.
fn dtypes(format: Format) -> (Dtype, Option<Dtype>) {
    match format {
        Format::Int8 => (Dtype::I8, Some(Dtype::F16)),
        Format::Int4 => (Dtype::U8, Some(Dtype::F16)),
        Format::Bf16 => (Dtype::BF16, None),
    }
}

/// Adds the packed weights of a parameter and their scales.
fn add_packed(tensors: &mut Tensors, name: &str, matrix: &QuantizedMatrix) {
    let ((o, i), (weights, scales)) = (matrix.shape(), dtypes(matrix.format()));
    let panels = o.div_ceil(PANEL);
    let shape = match matrix.format() {
        Format::Int8 => vec![panels, i.div_ceil(4), PANEL, 4],
        Format::Int4 => vec![panels, i / GROUP, GROUP / 8, PANEL, 4],
        Format::Bf16 => vec![panels, i, PANEL],
    };
    let scale_shape = vec![panels, matrix.format().groups(i), PANEL];
    tensors.insert(format!("{name}{PACKED}"), (weights, shape, matrix.weights().to_vec()));
    if let Some(dtype) = scales {
        tensors.insert(format!("{name}{SCALES}"), (dtype, scale_shape, matrix.scales()));
    }
}

pub(super) fn tensor_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn serialize(
    tensors: &Tensors,
    metadata: Option<HashMap<String, String>>,
) -> Result<Vec<u8>, SafeTensorError> {
    let mut views = Vec::new();
    for (name, (dtype, shape, bytes)) in tensors {
        views.push((name, TensorView::new(*dtype, shape.clone(), bytes)?));
    }
    safetensors::serialize(views, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Tying;
    use crate::hub;
    use crate::model::config::DecoderConfig;
    use safetensors::tensor::SafeTensors;

    #[test]
    fn an_untied_second_table_is_refused_and_a_true_copy_changes_nothing() {
        let model = Model::new(DecoderConfig::gpt2(5, 4, 1, 1, 4), 1).unwrap();
        let folder = std::env::temp_dir().join(format!("limpid-tied-{}", std::process::id()));
        hub::save(&model, &folder).unwrap();
        let bytes = write_weights(&model).unwrap();
        let path = folder.join("model.safetensors");
        let load_with_head = |change: f32| {
            let mut all = Tensors::new();
            for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
                all.insert(name, (view.dtype(), view.shape().to_vec(), view.data().to_vec()));
            }
            let (dtype, shape, mut table) = all["transformer.wte.weight"].clone();
            let value = f32::from_le_bytes(table[12..16].try_into().unwrap());
            table[12..16].copy_from_slice(&(value + change).to_le_bytes());
            all.insert("lm_head.weight".into(), (dtype, shape, table));
            std::fs::write(&path, serialize(&all, None).unwrap()).unwrap();
            hub::load(&folder)
        };
        assert_eq!(load_with_head(0.0).unwrap().1, []);
        let error = load_with_head(0.5).err().unwrap();
        assert!(
            error.to_string().contains("lm_head.weight differs from transformer.wte.weight"),
            "{error}"
        );
        let Error::InFile { source, .. } = error else { panic!("in a file") };
        assert!(matches!(
            *source,
            Error::Model(ModelError::NotTied { tying: Tying::Optional, .. })
        ));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
