//! `model.safetensors`: tensors with a table of contents, and nothing that could run.

use super::families;
use super::layout::{Constant, FileForm, FileTensor, Layout, Presence, TiedCopy};
use crate::error::{Error, ModelError, Result};
use crate::model::Model;
use limpid_tensor::params::{Params, ParamsBuilder, Role};
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// A weight file that is being read.
pub(super) struct WeightFile<'a> {
    path: &'a Path,
    tensors: SafeTensors<'a>,
}

impl<'a> WeightFile<'a> {
    /// Parses the table of contents.
    pub(super) fn open(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| {
            let (bytes, reason) = (bytes.len(), e.to_string());
            Error::from(ModelError::NotSafetensors { bytes, reason }).in_file(path)
        })?;
        Ok(Self { path, tensors })
    }

    /// Whether there is a tensor of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    fn error(&self, error: ModelError) -> Error {
        Error::from(error).in_file(self.path)
    }

    /// A tensor, under any of its names.
    fn find(&self, tensor: &FileTensor) -> Option<TensorView<'a>> {
        let mut names = std::iter::once(&tensor.name).chain(&tensor.aliases);
        names.find_map(|name| self.tensors.tensor(name).ok())
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
        let others: Vec<&str> =
            self.tensors.names().into_iter().filter(|name| !used.contains(*name)).collect();
        let mut unused = Vec::new();
        for name in others {
            let copy = layout.copies.iter().find(|copy| name.ends_with(copy.suffix));
            let constant = constants.iter().find(|constant| constant.name == name);
            match (copy, constant) {
                (Some(copy), _) => self.check_copy(name, copy, tensors, params)?,
                (None, Some(constant)) => self.check_constant(constant)?,
                (None, None) if layout.ignored.iter().any(|end| name.ends_with(end)) => {}
                (None, None) => unused.push(name.to_string()),
            }
        }
        unused.sort_unstable();
        Ok(unused)
    }

    fn check_shape(&self, tensor: &FileTensor, params: &ParamsBuilder) -> Result<()> {
        let (spec, name) = (params.spec(tensor.param), || tensor.name.clone());
        let Some(view) = self.find(tensor) else {
            // A fixed bias that a file does not hold is zero.
            return match spec.role {
                Role::Fixed => Ok(()),
                _ => Err(self.error(ModelError::MissingTensor { tensor: name() })),
            };
        };
        let expected = tensor.shape(spec);
        if view.shape() != expected {
            let (tensor, found) = (name(), view.shape().to_vec());
            return Err(self.error(ModelError::WrongShape { tensor, found, expected }));
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
        let Ok(found) = self.tensors.tensor(name) else { return Ok(()) };
        let same_bytes = found.dtype() == expected.dtype() && found.data() == expected.data();
        if found.shape() == expected.shape()
            && (same_bytes
                || self.numbers(name, &found)? == self.numbers(&original.name, &expected)?)
        {
            return Ok(());
        }
        Err(self.error(ModelError::NotTied {
            tensor: name.into(),
            original: original.name.clone(),
            tying: copy.tying,
        }))
    }

    fn check_constant(&self, constant: &Constant) -> Result<()> {
        let name = &constant.name;
        let Ok(view) = self.tensors.tensor(name) else { return Ok(()) };
        let (stored, expected) = (self.numbers(name, &view)?, constant.value.data());
        // Values up to 1, rounded to the mantissa of the file; other programs may compute sines in
        // f32.
        let bound = match view.dtype() {
            Dtype::BF16 => 4e-3,
            _ => 1e-3,
        };
        let same = stored.len() == expected.len()
            && stored.iter().zip(expected).all(|(a, b)| (a - b).abs() < bound);
        match same {
            true => Ok(()),
            false => Err(self.error(ModelError::NotSinusoidal { tensor: name.clone() })),
        }
    }

    /// Fills the parameters from a file that [`WeightFile::check`] has passed. Every number must be
    /// finite.
    pub(super) fn read(&self, tensors: &[FileTensor], params: &mut Params) -> Result<()> {
        for tensor in tensors {
            let row: usize = params.shape(tensor.param).dims().skip(1).product();
            let Some(view) = self.find(tensor) else { continue };
            let values = self.numbers(&tensor.name, &view)?;
            if let Some(index) = values.iter().position(|x| !x.is_finite()) {
                let (tensor, value) = (tensor.name.clone(), values[index]);
                return Err(self.error(ModelError::NotFinite { tensor, index, value }));
            }
            let rows = tensor.rows.start * row..tensor.rows.end * row;
            let to = &mut params.get_mut(tensor.param)[rows];
            tensor.to_memory(to, &values);
        }
        Ok(())
    }

    fn numbers(&self, name: &str, view: &TensorView) -> Result<Vec<f32>> {
        let halves = || view.data().as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b));
        Ok(match view.dtype() {
            Dtype::F32 => {
                view.data().as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
            }
            Dtype::F16 => halves().map(|bits| half::f16::from_bits(bits).to_f32()).collect(),
            Dtype::BF16 => halves().map(|bits| half::bf16::from_bits(bits).to_f32()).collect(),
            other => {
                let (tensor, dtype) = (name.into(), format!("{other:?}"));
                return Err(self.error(ModelError::UnsupportedDtype { tensor, dtype }));
            }
        })
    }
}

/// The bytes of a model's `model.safetensors`.
/// # Errors
/// If no family of files can hold the model.
pub fn write_weights(model: &Model) -> Result<Vec<u8>> {
    let family = families::of_model(model)?;
    let mut tensors = Tensors::new();
    for file in family.layout(&model.stack.config()).tensors(model.params.iter()) {
        let spec = model.params.spec(file.param);
        let row: usize = spec.shape.dims().skip(1).product();
        let values = &model.params.get(file.param)[file.rows.start * row..file.rows.end * row];
        let bytes = match file.form {
            FileForm::Same => to_bytes(values),
            _ => {
                let mut ordered = vec![0.0; values.len()];
                file.to_file(&mut ordered, values);
                to_bytes(&ordered)
            }
        };
        let shape = file.shape(spec);
        tensors.insert(file.name, (shape, bytes));
    }
    for constant in family.constants(&model.stack) {
        if constant.presence == Presence::Written {
            let shape = constant.value.shape().dims().collect();
            tensors.insert(constant.name, (shape, to_bytes(constant.value.data())));
        }
    }
    // `transformers` refuses files without it.
    let metadata = Some([("format".to_string(), "pt".to_string())].into());
    serialize(&tensors, metadata)
        .map_err(|e| ModelError::NotWritable { reason: e.to_string() }.into())
}

/// Tensors to be written, by name: shape and bytes of f32 values.
type Tensors = BTreeMap<String, (Vec<usize>, Vec<u8>)>;

fn to_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn serialize(
    tensors: &Tensors,
    metadata: Option<HashMap<String, String>>,
) -> Result<Vec<u8>, SafeTensorError> {
    let mut views = Vec::new();
    for (name, (shape, bytes)) in tensors {
        views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes)?));
    }
    safetensors::serialize(views, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Tying;
    use crate::hub;
    use crate::model::config::DecoderConfig;

    #[test]
    fn an_untied_second_table_is_refused_and_a_true_copy_changes_nothing() {
        let model = Model::new(DecoderConfig::gpt2(5, 4, 1, 1, 4), 1).unwrap();
        let folder = std::env::temp_dir().join(format!("limpid-tied-{}", std::process::id()));
        hub::save(&model, &folder).unwrap();
        let bytes = write_weights(&model).unwrap();
        let path = folder.join("model.safetensors");
        let load_with_head = |change: f32| {
            let file = WeightFile::open(&path, &bytes).unwrap();
            let mut all = Tensors::new();
            for (name, view) in file.tensors.tensors() {
                let values = file.numbers(&name, &view).unwrap();
                all.insert(name, (view.shape().to_vec(), to_bytes(&values)));
            }
            let table = file.tensors.tensor("transformer.wte.weight").unwrap();
            let mut values = file.numbers("wte", &table).unwrap();
            values[3] += change;
            all.insert("lm_head.weight".into(), (table.shape().to_vec(), to_bytes(&values)));
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
