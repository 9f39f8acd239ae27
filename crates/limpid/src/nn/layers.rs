//! Linear layers, norms and the position-wise feed-forward network.

use super::{LayerConfig, Normalization};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::ops::BatchNormParams;
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};

/// x·Wᵀ + b.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// (out, in).
    pub w: ParamId,
    /// (out).
    pub b: Option<ParamId>,
}

impl Linear {
    /// Declares `name.weight` (out, in) and `name.bias` (out).
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, shape: [usize; 2], init: Init) -> Self {
        let w = builder.add(format!("{name}.weight"), shape, init);
        Self { w, b: Some(builder.add(format!("{name}.bias"), [shape[0]], Init::Zeros)) }
    }

    /// φ(x·Wᵀ + b): (n, in) -> (n, out).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var, phi: Activation) -> Var {
        t.linear(x, self.w, self.b, phi)
    }
}

/// A normalization with learned scale γ and shift β.
#[derive(Clone, Copy, Debug)]
pub enum Norm {
    /// Layer normalization: over the features of one token.
    Layer {
        /// γ (c).
        gamma: ParamId,
        /// β (c).
        beta: ParamId,
        /// ε, added to the variance.
        eps: f32,
    },
    /// Batch normalization: over all tokens of the batch, for each feature.
    Batch {
        /// γ, β and the running statistics.
        params: BatchNormParams,
        /// ε, added to the variance.
        eps: f32,
    },
    /// None: x stays x.
    None,
}

impl Norm {
    /// Layer normalization: declares `name.weight` (γ) and `name.bias` (β).
    /// # Panics
    /// If the name is taken.
    pub fn layer(builder: &mut ParamsBuilder, name: &str, c: usize, eps: f32) -> Self {
        Self::new(Normalization::Layer, builder, name, c, eps)
    }

    /// Any normalization; batch normalization also declares `name.running_mean` and
    /// `name.running_var`, as in PyTorch.
    /// # Panics
    /// If the name is taken.
    pub fn new(
        kind: Normalization,
        builder: &mut ParamsBuilder,
        name: &str,
        c: usize,
        eps: f32,
    ) -> Self {
        if kind == Normalization::None {
            return Self::None;
        }
        let gamma = builder.add(format!("{name}.weight"), [c], Init::Ones);
        let beta = builder.add(format!("{name}.bias"), [c], Init::Zeros);
        if kind == Normalization::Layer {
            return Self::Layer { gamma, beta, eps };
        }
        let mean = builder.add_statistic(format!("{name}.running_mean"), [c], Init::Zeros);
        let variance = builder.add_statistic(format!("{name}.running_var"), [c], Init::Ones);
        let params = BatchNormParams { gamma, beta, running: Some((mean, variance)) };
        Self::Batch { params, eps }
    }

    /// norm(x).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var) -> Var {
        match *self {
            Norm::Layer { gamma, beta, eps } => t.layer_norm(x, gamma, beta, eps),
            Norm::Batch { params, eps } if t.is_recording() => t.batch_norm(x, params, eps),
            Norm::Batch { params, eps } => t.batch_norm_inference(x, params, eps),
            Norm::None => x.clone(),
        }
    }

    /// (a + b, norm(a + b)).
    #[track_caller]
    pub fn add(&self, t: &mut Tape, a: &Var, b: &Var) -> (Var, Var) {
        if let Norm::Layer { gamma, beta, eps } = *self {
            return t.add_norm(a, b, gamma, beta, eps);
        }
        let sum = t.add(a, b);
        let normed = self.forward(t, &sum);
        (sum, normed)
    }
}

/// φ(x·W₁ᵀ + b₁)·W₂ᵀ + b₂, the same at every position.
#[derive(Clone, Copy, Debug)]
pub struct FeedForward {
    /// (f, c).
    pub up: Linear,
    /// (c, f).
    pub down: Linear,
    /// φ.
    pub phi: Activation,
}

impl FeedForward {
    /// Declares `name.up` (f, c) and `name.down` (c, f).
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, config: &LayerConfig) -> Self {
        let LayerConfig { c, f, activation: phi, .. } = *config;
        let [init, _, into_stream] = config.inits();
        Self {
            up: Linear::new(builder, &format!("{name}.up"), [f, c], init),
            down: Linear::new(builder, &format!("{name}.down"), [c, f], into_stream),
            phi,
        }
    }

    /// (n, c) -> (n, f) -> (n, c).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var) -> Var {
        let hidden_nf = self.up.forward(t, x, self.phi);
        self.down.forward(t, &hidden_nf, Activation::None)
    }
}
