//! Linear layers, norms and the position-wise feed-forward network.

use super::{Bias, FeedForwardKind, LayerConfig, LayerVariant, Normalization};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::rms_norm::Gain;
use limpid_tensor::ops::{BatchNormParams, RmsNormParams};
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
        Self::with_bias(builder, name, shape, init, Bias::Added)
    }

    /// The same with or without a bias.
    ///
    /// # Panics
    /// If the name is taken.
    pub fn with_bias(
        builder: &mut ParamsBuilder,
        name: &str,
        shape: [usize; 2],
        init: Init,
        bias: Bias,
    ) -> Self {
        let w = builder.add_weight(format!("{name}.weight"), shape, init);
        let b = (bias == Bias::Added)
            .then(|| builder.add(format!("{name}.bias"), [shape[0]], Init::Zeros));
        Self { w, b }
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
        /// β (c), if it has one.
        beta: Option<ParamId>,
        /// ε, added to the variance.
        eps: f32,
    },
    /// Root-mean-square normalization: over the features of one token, without β.
    Rms(RmsNormParams),
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
        // Scaled by 1 + γ, γ starts at 0.
        let init = if kind == Normalization::RmsOnePlus { Init::Zeros } else { Init::Ones };
        let gamma = builder.add(format!("{name}.weight"), [c], init);
        match kind {
            Normalization::Rms => {
                return Self::Rms(RmsNormParams { gamma, gain: Gain::Weight, eps });
            }
            Normalization::RmsOnePlus => {
                return Self::Rms(RmsNormParams { gamma, gain: Gain::OnePlusWeight, eps });
            }
            Normalization::LayerNoBias => return Self::Layer { gamma, beta: None, eps },
            _ => {}
        }
        let beta = builder.add(format!("{name}.bias"), [c], Init::Zeros);
        if kind == Normalization::Layer {
            return Self::Layer { gamma, beta: Some(beta), eps };
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
            Norm::Rms(params) => t.rms_norm(x, params),
            Norm::Batch { params, eps } if t.is_recording() => t.batch_norm(x, params, eps),
            Norm::Batch { params, eps } => t.batch_norm_inference(x, params, eps),
            Norm::None => x.clone(),
        }
    }

    /// (a + b, norm(a + b)).
    #[track_caller]
    pub fn add(&self, t: &mut Tape, a: &Var, b: &Var) -> (Var, Var) {
        match *self {
            Norm::Layer { gamma, beta, eps } => t.add_norm(a, b, gamma, beta, eps),
            Norm::Rms(params) => t.add_rms_norm(a, b, params),
            Norm::Batch { .. } | Norm::None => {
                let sum = t.add(a, b);
                let normed = self.forward(t, &sum);
                (sum, normed)
            }
        }
    }
}

/// φ(x·W₁ᵀ + b₁)·W₂ᵀ + b₂, the same at every position; or gated, (φ(x·Gᵀ)·x·Uᵀ)·W₂ᵀ.
#[derive(Clone, Copy, Debug)]
pub struct FeedForward {
    /// (f, c); gated, (2f, c): G above U.
    pub up: Linear,
    /// (c, f).
    pub down: Linear,
    /// φ.
    pub phi: Activation,
    /// Plain or gated.
    pub kind: FeedForwardKind,
}

impl FeedForward {
    /// Declares `name.up` (f, c) and `name.down` (c, f).
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, config: &LayerConfig) -> Self {
        let LayerConfig { c, f, activation: phi, .. } = *config;
        let [init, _, into_stream] = config.inits();
        let LayerVariant { feed_forward: kind, ffn_bias: bias, .. } = config.variant;
        let rows = match kind {
            FeedForwardKind::Plain => f,
            FeedForwardKind::Gated => 2 * f,
        };
        let [up, down] = ["up", "down"].map(|part| format!("{name}.{part}"));
        Self {
            up: Linear::with_bias(builder, &up, [rows, c], init, bias),
            down: Linear::with_bias(builder, &down, [c, f], into_stream, bias),
            phi,
            kind,
        }
    }

    /// (n, c) -> (n, f) -> (n, c).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var) -> Var {
        match self.kind {
            FeedForwardKind::Plain => {
                let hidden_nf = self.up.forward(t, x, self.phi);
                self.down.forward(t, &hidden_nf, Activation::None)
            }
            FeedForwardKind::Gated => {
                let both = self.up.forward(t, x, Activation::None); // (n, c) -> (n, 2f)
                t.gated_linear(&both, self.phi, self.down.w, self.down.b)
            }
        }
    }
}
