//! Linear layers, norms and the position-wise feed-forward network.

use super::builder::Builder;
use crate::config::Normalisation;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::ops::BatchNormParams;
use limpid_tensor::params::{Init, ParamId};
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
    /// `name.weight` and `name.bias`, stored as (out, in).
    pub fn new(builder: &mut Builder, name: &str, out: usize, inner: usize, init: Init) -> Self {
        let w = builder.add(&format!("{name}.weight"), &[out, inner], init);
        Self { w, b: Some(builder.add(&format!("{name}.bias"), &[out], Init::Zeros)) }
    }

    /// `name.weight` and `name.bias`, stored as (in, out).
    pub fn conv1d(builder: &mut Builder, name: &str, out: usize, inner: usize, init: Init) -> Self {
        let w = builder.add_transposed(&format!("{name}.weight"), [out, inner], init);
        Self { w, b: Some(builder.add(&format!("{name}.bias"), &[out], Init::Zeros)) }
    }

    /// Several layers of one input, side by side in one product: `prefix.{a, b, …}.weight` and `.bias` in files.
    pub fn stacked(
        builder: &mut Builder,
        prefix: &str,
        names: &[&str],
        out: usize,
        inner: usize,
        init: Init,
    ) -> Self {
        let files = |end: &str| names.iter().map(|n| format!("{prefix}.{n}.{end}")).collect::<Vec<_>>();
        let name = format!("{prefix}.{}", names.join("+"));
        let w = builder.add_stacked(&format!("{name}.weight"), &files("weight"), &[out, inner], init);
        Self { w, b: Some(builder.add_stacked(&format!("{name}.bias"), &files("bias"), &[out], Init::Zeros)) }
    }

    /// φ(x·Wᵀ + b): (n, in) -> (n, out).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var, phi: Activation) -> Var {
        t.linear(x, self.w, self.b, phi)
    }
}

/// A normalisation with its learned scale and shift.
#[derive(Clone, Copy, Debug)]
pub enum Norm {
    /// Of each token by itself.
    Layer {
        /// γ (c).
        gamma: ParamId,
        /// β (c).
        beta: ParamId,
        /// Keeps the division finite.
        eps: f32,
    },
    /// Of each number over all tokens of the batch.
    Batch {
        /// γ, β and what is remembered.
        params: BatchNormParams,
        /// Keeps the division finite.
        eps: f32,
    },
    /// None: x stays x.
    None,
}

impl Norm {
    /// Layer normalisation: `name.weight` (γ) and `name.bias` (β).
    pub fn new(builder: &mut Builder, name: &str, c: usize, eps: f32) -> Self {
        Self::of(Normalisation::Layer, builder, name, c, eps)
    }

    /// Of any kind; batch normalisation also has `name.running_mean` and `name.running_var`, as in PyTorch.
    pub fn of(kind: Normalisation, builder: &mut Builder, name: &str, c: usize, eps: f32) -> Self {
        if kind == Normalisation::None {
            return Self::None;
        }
        let gamma = builder.add(&format!("{name}.weight"), &[c], Init::Ones);
        let beta = builder.add(&format!("{name}.bias"), &[c], Init::Zeros);
        if kind == Normalisation::Layer {
            return Self::Layer { gamma, beta, eps };
        }
        let mean = builder.add_statistic(&format!("{name}.running_mean"), &[c], Init::Zeros);
        let variance = builder.add_statistic(&format!("{name}.running_var"), &[c], Init::Ones);
        Self::Batch { params: BatchNormParams { gamma, beta, remembered: Some((mean, variance)) }, eps }
    }

    /// norm(x).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var) -> Var {
        match *self {
            Norm::Layer { gamma, beta, eps } => t.layer_norm(x, gamma, beta, eps),
            Norm::Batch { params, eps } if t.is_recording() => t.batch_norm(x, params, eps),
            Norm::Batch { params, eps } => t.batch_norm_remembered(x, params, eps),
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
    /// (n, c) -> (n, f) -> (n, c).
    #[track_caller]
    pub fn forward(&self, t: &mut Tape, x: &Var) -> Var {
        let hidden_nf = self.up.forward(t, x, self.phi);
        self.down.forward(t, &hidden_nf, Activation::None)
    }
}
