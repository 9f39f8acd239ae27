//! Options of Transformer layers. [`LayerOptions::standard`] is the published Transformer; every
//! other choice is an ablation.

use super::named::{Named, named};
use crate::error::{ModelConfigError, Result};
use limpid_tensor::kernels::activation::Activation;

/// Where the normalization stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormPlacement {
    /// After the residual addition, as in Vaswani et al. 2017 and GPT-1: x = norm(x + f(x)).
    Post,
    /// Before the sub-layer, as in GPT-2, with a final norm after the last layer:
    /// x = x + f(norm(x)).
    Pre,
}

/// How a model encodes the position of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// A trained embedding per position, as in GPT and BERT.
    Learned,
    /// Sines and cosines of different wavelengths, as in Vaswani et al. 2017.
    Sinusoidal,
    /// 1 at the index of the position, 0 elsewhere; the model width must be at least the maximum
    /// length.
    OneHot,
    /// No positions.
    None,
}

/// Over which values a normalization computes mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// Layer normalization: over the features of one token.
    Layer,
    /// Batch normalization: over all tokens of the batch, for each feature.
    Batch,
    /// No normalization: x stays x.
    None,
}

/// Whether a sub-layer has a residual connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    /// x + f(x).
    Added,
    /// f(x).
    None,
}

/// What attention scores are divided by before the softmax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// √d, with d the width of a head.
    SqrtWidth,
    /// 1.
    None,
}

impl Scaling {
    /// The factor that scores of heads of width `d` are multiplied by.
    pub fn factor(self, d: usize) -> f32 {
        match self {
            Scaling::SqrtWidth => 1.0 / (d as f32).sqrt(),
            Scaling::None => 1.0,
        }
    }
}

/// The options of all layers of a Transformer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerOptions {
    /// How positions are encoded.
    pub positions: Positions,
    /// The kind of normalization.
    pub normalization: Normalization,
    /// The residual connections.
    pub residual: Residual,
    /// The scaling of attention scores.
    pub scaling: Scaling,
}

impl LayerOptions {
    /// The published Transformer, with these positions.
    pub const fn standard(positions: Positions) -> Self {
        Self {
            positions,
            normalization: Normalization::Layer,
            residual: Residual::Added,
            scaling: Scaling::SqrtWidth,
        }
    }

    /// # Errors
    /// If one-hot positions for `max_positions` tokens do not fit into the model's `width`.
    pub(crate) fn check(&self, max_positions: usize, width: usize) -> Result<()> {
        if self.positions == Positions::OneHot && max_positions > width {
            return Err(ModelConfigError::OneHotPositions { max_positions, width }.into());
        }
        Ok(())
    }
}

named!(NormPlacement, "norm placement", "pre" => Pre, "post" => Post);
named!(Positions, "positions", "learned" => Learned, "sinusoidal" => Sinusoidal,
    "one-hot" => OneHot, "none" => None);
named!(Normalization, "normalization", "layer" => Layer, "batch" => Batch, "none" => None);
named!(Residual, "residual", "added" => Added, "none" => None);
named!(Scaling, "scaling", "sqrt-width" => SqrtWidth, "none" => None);

/// Under the names of Hugging Face.
impl Named for Activation {
    const OPTION: &'static str = "activation";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("linear", Activation::None),
        ("relu", Activation::Relu),
        ("gelu", Activation::Gelu),
        ("gelu_new", Activation::GeluTanh),
        ("gelu_pytorch_tanh", Activation::GeluTanh),
        ("silu", Activation::Silu),
        ("swish", Activation::Silu),
        ("tanh", Activation::Tanh),
        ("sigmoid", Activation::Sigmoid),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_name_that_reads_back() {
        fn all<T: Named + std::fmt::Debug>(values: &[T]) {
            for value in values {
                assert_eq!(T::from_name(value.name()).unwrap(), *value);
            }
        }
        use NormPlacement::{Post, Pre};
        all(&[Pre, Post]);
        all(&[Positions::Learned, Positions::Sinusoidal, Positions::OneHot, Positions::None]);
        all(&[Normalization::Layer, Normalization::Batch, Normalization::None]);
        all(&[Residual::Added, Residual::None]);
        all(&[Scaling::SqrtWidth, Scaling::None]);
        all(&Activation::ALL);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let error = "rms".parse::<Normalization>().unwrap_err().to_string();
        assert_eq!(error, "normalization 'rms' is unknown: expected layer, batch or none");
        let error = serde_json::from_str::<Scaling>("\"d\"").unwrap_err().to_string();
        assert!(error.contains("expected sqrt-width or none"), "{error}");
        assert_eq!(serde_json::to_string(&Positions::OneHot).unwrap(), "\"one-hot\"");
    }
}
