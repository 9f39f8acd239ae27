//! Name, shape, role and initialization of a parameter.

use crate::kernels::positions::{SinusoidLayout, sinusoid_table};
use crate::rng::Stream;
use crate::tensor::Shape;

/// The index of a parameter, which a layer holds instead of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParamId(pub(super) u32);

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
    /// All 1: the scale of a normalization.
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
    /// A running average, like the mean of a batch normalization: a step moves it towards the value
    /// that the backward pass has written in place of its gradient.
    Statistic,
}

/// What operations do with a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Products and look-ups of rows alone, so it may be quantized.
    Weight,
    /// Anything.
    Any,
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
    /// What operations do with it.
    pub used_for: Use,
}

impl ParamSpec {
    /// Whether weight decay applies: to matrices, not to biases and the scales and shifts of
    /// normalizations.
    pub fn decays(&self) -> bool {
        self.shape.rank() >= 2 && self.role == Role::Trained
    }
}

/// Samples the initial values.
pub(super) fn fill(values: &mut [f32], spec: &ParamSpec, mut rng: Stream) {
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
