//! Parameters: one flat buffer with named ranges. Gradients and optimizer moments have the same
//! layout.
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

use crate::kernels::positions::{SinusoidLayout, sinusoid_table};
use crate::pool::Buffer;
use crate::rng::Stream;
use crate::tensor::Shape;
use std::ops::Range;

/// The index of a parameter, which a layer holds instead of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(u32);

impl ParamId {
    /// Position among the model's parameters.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Initialization of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All 0: biases and shifts.
    Zeros,
    /// All 1: the scale of a normalisation.
    Ones,
    /// Normal with mean 0 and this standard deviation.
    Normal(f32),
    /// Xavier uniform: ±√(6 / (fan_in + fan_out)) with the fans of the whole matrix (Glorot and
    /// Bengio 2010).
    Xavier,
    /// Xavier uniform with the fans of one block of `rows` rows, where several matrices are
    /// stacked.
    XavierBlocks {
        /// Rows of one block.
        rows: usize,
    },
    /// Uniform in ± this bound.
    Uniform(f32),
    /// Sinusoidal position encodings with this amplitude, for a learned position table:
    /// neighbouring positions start out similar.
    Sinusoids(f32),
}

/// How training changes a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It receives gradients.
    Trained,
    /// It is stored with the model and never changes, like Marian's `final_logits_bias`.
    Fixed,
    /// A running average, like the mean of a batch normalisation: a step moves it towards the value
    /// that the backward pass has written in place of its gradient.
    Statistic,
}

/// Name, shape and range of a parameter.
#[derive(Clone, Debug)]
pub struct ParamSpec {
    /// Dotted path, as in `decoder.layers.0.ffn.up.weight`.
    pub name: String,
    /// Its shape; a linear layer's weight is (out, in).
    pub shape: Shape,
    /// Its initialization.
    pub init: Init,
    /// How training changes it.
    pub role: Role,
    range: Range<usize>,
}

impl ParamSpec {
    /// Whether weight decay applies: to matrices, not to biases and the scales and shifts of
    /// normalisations.
    pub fn decays(&self) -> bool {
        self.shape.rank() >= 2 && self.role == Role::Trained
    }

    /// Its range in the flat buffer.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// Collects the parameters of a model while its layers are built.
#[derive(Default)]
pub struct ParamsBuilder {
    specs: Vec<ParamSpec>,
    len: usize,
}

impl ParamsBuilder {
    /// Adds a trained parameter.
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add(&mut self, name: impl Into<String>, shape: impl Into<Shape>, init: Init) -> ParamId {
        self.add_with_role(name.into(), shape.into(), init, Role::Trained)
    }

    /// Adds a parameter of the role [`Role::Fixed`].
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add_fixed(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        init: Init,
    ) -> ParamId {
        self.add_with_role(name.into(), shape.into(), init, Role::Fixed)
    }

    /// Adds a parameter of the role [`Role::Statistic`].
    ///
    /// # Panics
    /// If another parameter has this name.
    #[track_caller]
    pub fn add_statistic(
        &mut self,
        name: impl Into<String>,
        shape: impl Into<Shape>,
        init: Init,
    ) -> ParamId {
        self.add_with_role(name.into(), shape.into(), init, Role::Statistic)
    }

    #[track_caller]
    fn add_with_role(&mut self, name: String, shape: Shape, init: Init, role: Role) -> ParamId {
        assert!(
            self.specs.iter().all(|spec| spec.name != name),
            "two parameters are called {name}"
        );
        let range = self.len..self.len + shape.len();
        // The next one starts on a cache line; the padding stays 0.
        self.len = range.end.next_multiple_of(16);
        self.specs.push(ParamSpec { name, shape, init, role, range });
        ParamId((self.specs.len() - 1) as u32)
    }

    /// The parameters added so far, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ParamId, &ParamSpec)> {
        self.specs.iter().enumerate().map(|(i, spec)| (ParamId(i as u32), spec))
    }

    /// Name, shape and range of a parameter.
    pub fn spec(&self, id: ParamId) -> &ParamSpec {
        &self.specs[id.index()]
    }

    /// Allocates the parameters and samples their initial values: parameter i from stream i of the
    /// seed.
    pub fn build(self, seed: u64) -> Params {
        let mut params = self.build_zeroed();
        for i in 0..params.specs.len() {
            let spec = params.specs[i].clone();
            // The top bit of the stream number separates initial values from every other use of the
            // seed.
            fill(
                &mut params.values.as_mut_slice()[spec.range()],
                &spec,
                Stream::new(seed, 1 << 63 | i as u64),
            );
        }
        params
    }

    /// Allocates the parameters as zeros, for a loader that writes every one of them.
    pub fn build_zeroed(self) -> Params {
        Params { values: Buffer::zeroed(self.len), len: self.len, specs: self.specs }
    }
}

fn fill(values: &mut [f32], spec: &ParamSpec, mut rng: Stream) {
    let fan_in = spec.shape.dims().skip(1).product::<usize>();
    let fan_out = if spec.shape.rank() > 0 { spec.shape.dim(0) } else { 1 };
    let xavier = |rows: usize| (6.0 / (fan_in + rows) as f32).sqrt();
    let bound = match spec.init {
        Init::Zeros => return values.fill(0.0),
        Init::Ones => return values.fill(1.0),
        Init::Normal(std) => return values.iter_mut().for_each(|v| *v = rng.normal() * std),
        Init::Sinusoids(amplitude) => {
            sinusoid_table(values, fan_in, SinusoidLayout::Interleaved);
            return values.iter_mut().for_each(|v| *v *= amplitude);
        }
        Init::Xavier => xavier(fan_out),
        Init::XavierBlocks { rows } => xavier(rows),
        Init::Uniform(bound) => bound,
    };
    values.iter_mut().for_each(|v| *v = (2.0 * rng.uniform() - 1.0) * bound);
}

/// The parameters of a model.
pub struct Params {
    specs: Vec<ParamSpec>,
    values: Buffer,
    len: usize,
}

impl Params {
    /// A builder without parameters.
    pub fn builder() -> ParamsBuilder {
        ParamsBuilder::default()
    }

    /// The data of a parameter.
    pub fn get(&self, id: ParamId) -> &[f32] {
        &self.values.as_slice()[self.specs[id.index()].range()]
    }

    /// The data of a parameter, mutable.
    pub fn get_mut(&mut self, id: ParamId) -> &mut [f32] {
        &mut self.values.as_mut_slice()[self.specs[id.index()].range.clone()]
    }

    /// The shape of a parameter.
    pub fn shape(&self, id: ParamId) -> Shape {
        self.specs[id.index()].shape
    }

    /// Name, shape and range of a parameter.
    pub fn spec(&self, id: ParamId) -> &ParamSpec {
        &self.specs[id.index()]
    }

    /// All parameters, in the order of their declaration.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ParamId, &ParamSpec)> {
        self.specs.iter().enumerate().map(|(i, spec)| (ParamId(i as u32), spec))
    }

    /// Sets the role of every parameter, for example to freeze some.
    pub fn set_roles(&mut self, role: impl Fn(&ParamSpec) -> Role) {
        self.specs.iter_mut().for_each(|spec| spec.role = role(spec));
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

    /// The flat buffer, padding included.
    pub fn flat(&self) -> &[f32] {
        &self.values.as_slice()[..self.len]
    }

    /// The flat buffer, mutable.
    pub fn flat_mut(&mut self) -> &mut [f32] {
        &mut self.values.as_mut_slice()[..self.len]
    }
}

/// A flat buffer in the layout of the parameters: a moment, an average, a copy.
pub struct ParamBuffer {
    values: Buffer,
    len: usize,
}

impl ParamBuffer {
    /// Zeros in the layout of `params`.
    pub fn zeros_like(params: &Params) -> Self {
        Self { values: Buffer::zeroed(params.len), len: params.len }
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
    fn ranges_do_not_overlap_and_start_on_cache_lines() {
        let mut builder = Params::builder();
        let a = builder.add("a", [3, 5], Init::Ones);
        let b = builder.add("b", [7], Init::Normal(0.5));
        let mut params = builder.build(1);
        assert_eq!(params.count(), 22);
        assert_eq!(params.spec(b).range().start % 16, 0);
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
    #[should_panic(expected = "two parameters are called w")]
    fn two_parameters_of_one_name_panic() {
        let mut builder = Params::builder();
        builder.add("w", [1], Init::Zeros);
        builder.add("w", [1], Init::Zeros);
    }
}
