//! Parameters: one flat buffer with named ranges for what is trained. Gradients and optimizer
//! moments have the same layout. What is not trained lies beside it, or in a mapped file.
//!
//! Flat memory makes an optimizer step one pass, a checkpoint one write, and averaging one loop.
//!
//! ```
//! use limpid_tensor::params::{Init, Params};
//!
//! let mut builder = Params::builder();
//! let weight = builder.add("weight", [2, 3], Init::Xavier);
//! let bias = builder.add("bias", [2], Init::Zeros);
//! let params = builder.build(42); // the seed of the initial weights
//! assert_eq!(params.count(), 8);
//! assert_eq!(params.find("bias"), Some(bias));
//! assert_eq!(params.get(weight).len(), 6);
//! ```

mod adapter;
mod builder;
mod spec;
mod storage;

pub use adapter::{Adapter, AdapterSpec};
pub use builder::ParamsBuilder;
pub use spec::{Init, ParamId, ParamSpec, Role, Use};
pub use storage::{MappedFloats, Stored};

use crate::kernels::quantized::QuantizedMatrix;
use crate::pool::Buffer;
use crate::tensor::Shape;
use std::ops::Range;
use std::sync::Arc;
use storage::{Storage, check_matrix};

/// The parameters of a model.
///
/// What a training step changes lies in one flat buffer; gradients, moments and averages have the
/// layout of that buffer. What it does not change ([`Role::Fixed`]) lies outside: in memory of its
/// own, or in a mapped file. So it costs neither a gradient nor moments.
pub struct Params {
    specs: Vec<ParamSpec>,
    storage: Vec<Storage>,
    values: Buffer,
    len: usize,
    /// Those of each parameter, up to the last that has one.
    adapters: Vec<Vec<Adapter>>,
}

impl Params {
    /// A builder without parameters.
    pub fn builder() -> ParamsBuilder {
        ParamsBuilder::default()
    }

    /// The data of a parameter.
    ///
    /// # Panics
    /// If it is quantized.
    #[track_caller]
    pub fn get(&self, id: ParamId) -> &[f32] {
        match &self.storage[id.index()] {
            Storage::Flat(range) => &self.values.as_slice()[range.clone()],
            Storage::Owned { values, len } => &values.as_slice()[..*len],
            Storage::Mapped(floats) => floats.as_slice(),
            Storage::Quantized { matrix, .. } => self.no_floats(id, matrix),
        }
    }

    #[track_caller]
    fn no_floats(&self, id: ParamId, matrix: &QuantizedMatrix) -> ! {
        panic!("{} is stored as {}, not as f32", self.spec(id).name, matrix.format());
    }

    /// A parameter in its quantized form, if it has one.
    pub fn quantized(&self, id: ParamId) -> Option<&QuantizedMatrix> {
        match &self.storage[id.index()] {
            Storage::Quantized { matrix, .. } => Some(matrix),
            _ => None,
        }
    }

    /// Puts a quantized matrix in the place of a parameter's f32, which stay in memory, or puts
    /// them back.
    ///
    /// # Panics
    /// If the matrix has another shape, operations use the parameter in other ways, or there are
    /// no f32 to put back.
    #[track_caller]
    pub fn set_quantized(&mut self, id: ParamId, matrix: Option<Arc<QuantizedMatrix>>) {
        let spec = &self.specs[id.index()];
        let storage = &mut self.storage[id.index()];
        let floats = match std::mem::replace(storage, Storage::Flat(0..0)) {
            Storage::Quantized { values, .. } => values,
            floats => Some(Box::new(floats)),
        };
        *storage = match matrix {
            Some(matrix) => {
                check_matrix(spec, &matrix);
                Storage::Quantized { matrix, values: floats }
            }
            None => *floats.unwrap_or_else(|| panic!("{} has no f32 to put back", spec.name)),
        };
    }

    /// Bytes of all parameters, as operations read them.
    pub fn bytes(&self) -> usize {
        let bytes = |(id, spec): (ParamId, &ParamSpec)| {
            self.quantized(id).map_or(4 * spec.shape.len(), QuantizedMatrix::bytes)
        };
        self.iter().map(bytes).sum()
    }

    /// The data of a parameter, mutable. That of a mapped file is copied first.
    ///
    /// # Panics
    /// If it is quantized.
    #[track_caller]
    pub fn get_mut(&mut self, id: ParamId) -> &mut [f32] {
        if let Some(matrix) = self.quantized(id) {
            self.no_floats(id, matrix);
        }
        let storage = &mut self.storage[id.index()];
        if let Storage::Mapped(floats) = storage {
            let floats = floats.clone();
            *storage = Storage::owned(floats.as_slice().len());
            self.get_mut(id).copy_from_slice(floats.as_slice());
        }
        match &mut self.storage[id.index()] {
            Storage::Flat(range) => &mut self.values.as_mut_slice()[range.clone()],
            Storage::Owned { values, len } => &mut values.as_mut_slice()[..*len],
            Storage::Mapped(_) | Storage::Quantized { .. } => unreachable!("it is f32 in memory"),
        }
    }

    /// Takes the values of another model's parameter. What is not trained here and lies in a mapped
    /// file there is used in place.
    ///
    /// # Panics
    /// If the sizes differ.
    #[track_caller]
    pub fn take_values(&mut self, id: ParamId, from: &Params, other: ParamId) {
        let storage = &mut self.storage[id.index()];
        match (&from.storage[other.index()], &storage) {
            (Storage::Mapped(floats), Storage::Owned { len, .. }) => {
                assert_eq!(floats.as_slice().len(), *len, "values of {}", from.spec(other).name);
                *storage = Storage::Mapped(floats.clone());
            }
            _ => self.get_mut(id).copy_from_slice(from.get(other)),
        }
    }

    /// The range of a parameter in the flat buffer; `None` if it lies outside, because it is not
    /// trained.
    pub fn flat_range(&self, id: ParamId) -> Option<Range<usize>> {
        match &self.storage[id.index()] {
            Storage::Flat(range) => Some(range.clone()),
            Storage::Owned { .. } | Storage::Mapped(_) | Storage::Quantized { .. } => None,
        }
    }

    /// Whether a parameter is read from a mapped file.
    pub fn is_mapped(&self, id: ParamId) -> bool {
        matches!(self.storage[id.index()], Storage::Mapped(_))
    }

    /// The shape of a parameter.
    pub fn shape(&self, id: ParamId) -> Shape {
        self.specs[id.index()].shape
    }

    /// Name, shape and role of a parameter.
    pub fn spec(&self, id: ParamId) -> &ParamSpec {
        &self.specs[id.index()]
    }

    /// All parameters, in the order of their declaration.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ParamId, &ParamSpec)> {
        self.specs.iter().enumerate().map(|(i, spec)| (ParamId(i as u32), spec))
    }

    /// Sets the role of every parameter, for example to freeze some. Their values move into the
    /// flat buffer or out of it; those that lie in a mapped file and are fixed stay there, and so
    /// do quantized ones.
    pub fn set_roles(&mut self, role: impl Fn(&ParamSpec) -> Role) {
        self.specs.iter_mut().for_each(|spec| spec.role = role(spec));
        self.lay_out(|_| false);
    }

    /// Makes the flat buffer that of the roles, without what stays outside: quantized parameters
    /// always do.
    fn lay_out(&mut self, stays: impl Fn(&Storage) -> bool) {
        let is_outside =
            |storage: &Storage| matches!(storage, Storage::Quantized { .. }) || stays(storage);
        let (places, len) = places(&self.specs, |i| is_outside(&self.storage[i]));
        let mut values = Buffer::zeroed(len);
        let mut storage = Vec::with_capacity(places.len());
        for (i, place) in places.into_iter().enumerate() {
            let id = ParamId(i as u32);
            storage.push(match (place, &self.storage[i]) {
                (Some(range), _) => {
                    values.as_mut_slice()[range.clone()].copy_from_slice(self.get(id));
                    Storage::Flat(range)
                }
                (None, Storage::Flat(_)) => {
                    let from = self.get(id);
                    let mut to = Buffer::zeroed(from.len());
                    to.as_mut_slice()[..from.len()].copy_from_slice(from);
                    Storage::Owned { values: to, len: from.len() }
                }
                (None, Storage::Quantized { matrix, .. }) => {
                    Storage::Quantized { matrix: matrix.clone(), values: None }
                }
                (None, _) => std::mem::replace(&mut self.storage[i], Storage::Flat(0..0)),
            });
        }
        (self.storage, self.values, self.len) = (storage, values, len);
    }

    /// Finds a parameter by name.
    pub fn find(&self, name: &str) -> Option<ParamId> {
        self.specs.iter().position(|spec| spec.name == name).map(|i| ParamId(i as u32))
    }

    /// Number of trained parameters (scalars, without the padding between ranges).
    pub fn count(&self) -> usize {
        let trained = self.specs.iter().filter(|spec| spec.role == Role::Trained);
        trained.map(|spec| spec.shape.len()).sum()
    }

    /// The flat buffer, padding included: what training changes.
    pub fn flat(&self) -> &[f32] {
        &self.values.as_slice()[..self.len]
    }

    /// The flat buffer, mutable.
    pub fn flat_mut(&mut self) -> &mut [f32] {
        &mut self.values.as_mut_slice()[..self.len]
    }
}

/// The range of each parameter in the flat buffer, none for those that training leaves as they
/// are or that lie outside it; and the length of the buffer.
fn places(
    specs: &[ParamSpec],
    is_outside: impl Fn(usize) -> bool,
) -> (Vec<Option<Range<usize>>>, usize) {
    let mut end = 0;
    let place = |(i, spec): (usize, &ParamSpec)| {
        let range = end..end + spec.shape.len();
        (spec.role != Role::Fixed && !is_outside(i)).then(|| {
            // The next one starts on a cache line; the padding stays 0.
            end = range.end.next_multiple_of(16);
            range
        })
    };
    let places = specs.iter().enumerate().map(place).collect();
    (places, end)
}

/// A flat buffer in the layout of the trained parameters: a moment, an average, a copy.
pub struct ParamBuffer {
    values: Buffer,
    len: usize,
}

impl ParamBuffer {
    /// Zeros in the layout of `params`.
    pub fn zeros_like(params: &Params) -> Self {
        Self { values: Buffer::zeroed(params.len), len: params.len }
    }

    /// This many zeros: a part of that layout.
    pub fn zeros(len: usize) -> Self {
        Self { values: Buffer::zeroed(len), len }
    }

    /// The elements.
    pub fn flat(&self) -> &[f32] {
        &self.values.as_slice()[..self.len]
    }

    /// The elements, mutable.
    pub fn flat_mut(&mut self) -> &mut [f32] {
        &mut self.values.as_mut_slice()[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::quantized::Format;

    #[test]
    fn sinusoidal_initialization_has_the_given_amplitude() {
        let mut builder = Params::builder();
        let table = builder.add("positions", [2, 4], Init::Sinusoids(0.5));
        let params = builder.build(1);
        let waves = |angle: f32| [0.5 * angle.sin(), 0.5 * angle.cos()];
        let want = [[0.0, 0.5], [0.0, 0.5], waves(1.0), waves(0.01)].concat();
        assert!(params.get(table).iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-7));
    }

    #[test]
    fn a_quantized_parameter_takes_no_f32_and_the_others_keep_their_places() {
        let mut builder = Params::builder();
        let a = builder.add_weight("a", [3, 64], Init::Ones);
        let b = builder.add("b", [7], Init::Ones);
        let matrix = || QuantizedMatrix::quantize(Format::Int8, &[0.5; 192], (3, 64)).unwrap();
        let stored = |id| (id == a).then(|| Stored::Quantized(matrix().into()));
        let mut params = builder.build_stored(stored);
        params.get_mut(b).fill(2.0);
        assert_eq!((params.flat().len(), params.get(b)), (16, &[2.0; 7][..]));
        assert_eq!((params.flat_range(a), params.quantized(a).unwrap().shape()), (None, (3, 64)));
        // 16 channels are packed together.
        assert_eq!(params.bytes(), 16 * 64 + 16 * 2 + 7 * 4);
        params.set_roles(|_| Role::Fixed);
        assert!(params.quantized(a).is_some() && params.quantized(b).is_none());
        assert_eq!((params.flat().len(), params.get(b)), (0, &[2.0; 7][..]));
    }

    fn one_weight(used_for: Use) -> (Params, ParamId, Arc<QuantizedMatrix>) {
        let mut builder = Params::builder();
        let id = match used_for {
            Use::Weight => builder.add_weight("a", [1, 2], Init::Ones),
            Use::Any => builder.add("a", [1, 2], Init::Ones),
        };
        let matrix = QuantizedMatrix::quantize(Format::Int8, &[0.5; 2], (1, 2)).unwrap();
        (builder.build(1), id, matrix.into())
    }

    #[test]
    fn the_f32_behind_a_quantized_parameter_can_be_put_back() {
        let (mut params, a, matrix) = one_weight(Use::Weight);
        params.set_quantized(a, Some(matrix.clone()));
        params.set_quantized(a, Some(matrix));
        params.set_quantized(a, None);
        assert_eq!(params.get(a), [1.0; 2]);
    }

    #[test]
    #[should_panic(expected = "a is stored as int8, not as f32")]
    fn the_f32_of_a_quantized_parameter_cannot_be_read() {
        let (mut params, a, matrix) = one_weight(Use::Weight);
        params.set_quantized(a, Some(matrix));
        params.get(a);
    }

    #[test]
    #[should_panic(expected = "a (1,2) cannot be a quantized (1,2)")]
    fn a_parameter_that_is_used_in_other_ways_cannot_be_quantized() {
        let (mut params, table, matrix) = one_weight(Use::Any);
        params.set_quantized(table, Some(matrix));
    }

    #[test]
    fn ranges_do_not_overlap_and_start_on_cache_lines() {
        let mut builder = Params::builder();
        let a = builder.add("a", [3, 5], Init::Ones);
        let b = builder.add("b", [7], Init::Normal(0.5));
        let mut params = builder.build(1);
        assert_eq!(params.count(), 22);
        assert_eq!(params.flat_range(b).unwrap().start % 16, 0);
        params.get_mut(b).fill(2.0);
        assert!(params.get(a).iter().all(|x| *x == 1.0));
        assert_eq!(params.find("b"), Some(b));
    }

    #[test]
    fn the_same_seed_gives_the_same_values_and_another_does_not() {
        let build = |seed| {
            let mut builder = Params::builder();
            let w = builder.add("w", [8, 8], Init::Xavier);
            let params = builder.build(seed);
            params.get(w).to_vec()
        };
        assert_eq!(build(3), build(3));
        assert_ne!(build(3), build(4));
        let bound = (6.0_f32 / 16.0).sqrt();
        assert!(
            build(3).iter().all(|x| x.abs() <= bound)
                && build(3).iter().any(|x| x.abs() > 0.7 * bound)
        );
    }

    #[test]
    fn what_is_fixed_lies_outside_and_keeps_its_values_when_roles_change() {
        let mut builder = Params::builder();
        let a = builder.add("a", [3, 5], Init::Normal(1.0));
        let b = builder.add_fixed("b", [20], Init::Normal(1.0));
        let c = builder.add("c", [7], Init::Normal(1.0));
        let mut params = builder.build(1);
        let values = |params: &Params| [a, b, c].map(|id| params.get(id).to_vec());
        let before = values(&params);
        assert_eq!([a, b, c].map(|id| params.flat_range(id)), [Some(0..15), None, Some(16..23)]);
        assert_eq!(ParamBuffer::zeros_like(&params).flat().len(), 32);
        params.set_roles(|spec| if spec.name == "a" { Role::Fixed } else { Role::Trained });
        assert_eq!([a, b, c].map(|id| params.flat_range(id)), [None, Some(0..20), Some(32..39)]);
        assert_eq!(values(&params), before);
        params.set_roles(|_| Role::Fixed);
        assert_eq!((params.flat().len(), values(&params)), (0, before));
    }

    #[test]
    fn mapped_values_are_read_in_place_and_copied_when_they_are_written_or_trained() {
        let path = std::env::temp_dir().join(format!("limpid-floats-{}", std::process::id()));
        let numbers = [1.5_f32, -2.0, 3.25, 7.0];
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(&path, [&[0; 8][..], &bytes].concat()).unwrap();
        let file = std::sync::Arc::new(crate::mapped::MappedFile::open(&path).unwrap());
        let floats = |first, len| MappedFloats::new(file.clone(), first, len);
        // Not aligned, and beyond the end.
        assert!(floats(9, 2).is_none() && floats(8, 5).is_none());
        let mut builder = Params::builder();
        let w = builder.add("w", [2, 2], Init::Zeros);
        let mut params = builder.build_stored(|_| floats(8, 4).map(Stored::Mapped));
        assert!(params.is_mapped(w) && params.flat().is_empty());
        assert_eq!(params.get(w), numbers);
        params.get_mut(w)[1] = 5.0;
        assert_eq!(params.get(w), [1.5, 5.0, 3.25, 7.0]);
        assert_eq!(floats(8, 4).unwrap().as_slice(), numbers, "the file stays as it is");
        let mut builder = Params::builder();
        let w = builder.add("w", [2, 2], Init::Zeros);
        let mut params = builder.build_stored(|_| floats(8, 4).map(Stored::Mapped));
        params.set_roles(|spec| spec.role);
        assert_eq!((params.flat_range(w), params.get(w)), (Some(0..4), &numbers[..]));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    #[should_panic(expected = "two parameters are called w")]
    fn two_parameters_of_one_name_panic() {
        let mut builder = Params::builder();
        builder.add("w", [1], Init::Zeros);
        builder.add("w", [1], Init::Zeros);
    }
}
