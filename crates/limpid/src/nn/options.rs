//! Options of Transformer layers. [`LayerOptions::standard`] is the published Transformer; every
//! other choice is an ablation.

use super::RotaryOptions;
use super::named::{Named, named};
use crate::error::{ModelConfigError, Result};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::Window;
use limpid_tensor::ops::{BucketRange, Buckets};

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
    /// Queries and keys are turned by an angle that grows with the position, as in Llama.
    Rotary,
    /// A trained bias on attention scores by distance, shared by all layers of a stack, as in T5.
    Relative,
    /// No positions.
    None,
}

/// Over which values a normalization computes mean and variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalization {
    /// Layer normalization: over the features of one token.
    Layer,
    /// The same without shift, as in ModernBERT.
    LayerNoBias,
    /// Root-mean-square normalization: over the features of one token, without mean and shift.
    Rms,
    /// The same, scaled by 1 + γ, as in Gemma.
    RmsOnePlus,
    /// Batch normalization: over all tokens of the batch, for each feature.
    Batch,
    /// No normalization: x stays x.
    None,
}

/// Whether a linear layer adds a bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// x·Wᵀ + b.
    Added,
    /// x·Wᵀ.
    None,
}

/// The feed-forward network of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedForwardKind {
    /// φ(x·W₁ᵀ)·W₂ᵀ.
    Plain,
    /// (φ(x·Gᵀ)·x·Uᵀ)·W₂ᵀ, as in Llama.
    Gated,
}

/// How attention and feed-forward network of a layer follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The feed-forward network sees what attention has added.
    Sequential,
    /// Both see the same stream, each through its norm, as in GPT-NeoX.
    Parallel,
    /// Both see the same stream through one norm, as in Phi.
    ParallelOneNorm,
}

/// Whether the attention of the first layer has a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstNorm {
    /// As that of every layer.
    Own,
    /// It has none: the embeddings are normalized, as in ModernBERT.
    None,
}

/// Whether queries and keys are normalized, each head by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadNorm {
    /// They are not.
    None,
    /// By root mean square, with a scale for queries and one for keys, as in Qwen3.
    Rms,
}

/// Which layers see only the nearest tokens, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// None: every layer sees all.
    None,
    /// All layers from this one on.
    From {
        /// The first of them.
        layer: usize,
        /// Tokens that are seen, with the query's own.
        tokens: usize,
    },
    /// All layers but the first and every n-th after it.
    Between {
        /// n.
        every: usize,
        /// Tokens that are seen on each side, with the query's own.
        tokens: usize,
    },
}

impl Windows {
    /// What layer l sees.
    pub fn of(self, l: usize) -> Window {
        match self {
            Windows::From { layer, tokens } if l >= layer => Window::Sliding(tokens),
            Windows::Between { every, tokens } if !l.is_multiple_of(every) => {
                Window::Sliding(tokens)
            }
            _ => Window::Unlimited,
        }
    }
}

/// Buckets of distances of [`Positions::Relative`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelativeOptions {
    /// Number of buckets, each with a bias per head.
    pub buckets: usize,
    /// From this distance on, all share the last bucket.
    pub max_distance: usize,
}

impl RelativeOptions {
    /// Those of T5.
    pub const STANDARD: Self = Self { buckets: 32, max_distance: 128 };

    /// How distances fall into buckets: with later keys in an encoder, without them in a decoder.
    pub(crate) fn buckets(self, range: BucketRange) -> Buckets {
        Buckets { count: self.buckets, max_distance: self.max_distance, range }
    }

    /// # Errors
    /// If a distance would have no bucket.
    fn check(self) -> Result<()> {
        let Self { buckets, max_distance } = self;
        // Half of the buckets of one side hold one distance each, the others grow up to the
        // maximum.
        if buckets < 4 || max_distance <= buckets / 2 {
            return Err(ModelConfigError::RelativeBuckets { buckets, max_distance }.into());
        }
        Ok(())
    }
}

/// Options of self-attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionOptions {
    /// g: heads of keys and values, which query heads share; as many as query heads if `None`.
    pub kv_heads: Option<usize>,
    /// d: width of a head; c/h if `None`.
    pub head_dim: Option<usize>,
    /// Bias of the projections to queries, keys and values.
    pub qkv_bias: Bias,
    /// Bias of the output projection.
    pub out_bias: Bias,
    /// Whether queries and keys are normalized.
    pub head_norm: HeadNorm,
    /// Which layers see only the nearest tokens.
    pub windows: Windows,
    /// Frequencies of [`Positions::Rotary`].
    pub rotary: RotaryOptions,
    /// The same in layers that see only the nearest tokens; `None`: as in all layers.
    pub window_rotary: Option<RotaryOptions>,
    /// Buckets of [`Positions::Relative`].
    pub relative: RelativeOptions,
}

impl AttentionOptions {
    /// The published Transformer.
    pub const STANDARD: Self = Self {
        kv_heads: None,
        head_dim: None,
        qkv_bias: Bias::Added,
        out_bias: Bias::Added,
        head_norm: HeadNorm::None,
        windows: Windows::None,
        rotary: RotaryOptions::STANDARD,
        window_rotary: None,
        relative: RelativeOptions::STANDARD,
    };
}

/// Layers as in GPT-2 and the published Transformer, or as in later decoders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerVariant {
    /// Self-attention.
    pub attention: AttentionOptions,
    /// The feed-forward network.
    pub feed_forward: FeedForwardKind,
    /// Biases of the feed-forward network.
    pub ffn_bias: Bias,
    /// How both follow each other.
    pub block: Block,
    /// The norm before the attention of the first layer.
    pub first_norm: FirstNorm,
}

impl LayerVariant {
    /// The published Transformer.
    pub const STANDARD: Self = Self {
        attention: AttentionOptions::STANDARD,
        feed_forward: FeedForwardKind::Plain,
        ffn_bias: Bias::Added,
        block: Block::Sequential,
        first_norm: FirstNorm::Own,
    };

    /// # Errors
    /// If heads of queries cannot share those of keys and values, a window is empty, or rotary
    /// positions would turn an odd number of columns.
    pub(crate) fn check(&self, heads: usize, head_dim: usize, positions: Positions) -> Result<()> {
        let AttentionOptions { kv_heads, windows, rotary, relative, .. } = self.attention;
        if positions == Positions::Relative {
            relative.check()?;
        }
        if let Some(kv_heads) = kv_heads.filter(|g| *g == 0 || !heads.is_multiple_of(*g)) {
            return Err(ModelConfigError::KeyValueHeads { heads, kv_heads }.into());
        }
        if let Windows::From { tokens: 0, .. } | Windows::Between { tokens: 0, .. } = windows {
            return Err(ModelConfigError::Zero { key: "sliding_window" }.into());
        }
        let rotated = rotary.rotated(head_dim);
        if positions == Positions::Rotary
            && (rotated == 0 || rotated % 2 == 1 || rotated > head_dim)
        {
            return Err(ModelConfigError::RotaryWidth { rotated, head_dim }.into());
        }
        Ok(())
    }
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
    /// √d·(l + 1) in layer l, as an option of GPT-2.
    SqrtWidthByLayer,
    /// 1.
    None,
}

impl Scaling {
    /// The factor that scores of heads of width `d` are multiplied by in layer l.
    pub fn factor(self, d: usize, l: usize) -> f32 {
        match self {
            Scaling::SqrtWidth => 1.0 / (d as f32).sqrt(),
            Scaling::SqrtWidthByLayer => 1.0 / (d as f32).sqrt() / (l + 1) as f32,
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
    "one-hot" => OneHot, "rotary" => Rotary, "relative" => Relative, "none" => None);
named!(Normalization, "normalization", "layer" => Layer, "layer-no-bias" => LayerNoBias,
    "rms" => Rms, "rms-one-plus" => RmsOnePlus, "batch" => Batch, "none" => None);
named!(FeedForwardKind, "feed-forward network", "plain" => Plain, "gated" => Gated);
named!(Residual, "residual", "added" => Added, "none" => None);
named!(Scaling, "scaling", "sqrt-width" => SqrtWidth,
    "sqrt-width-by-layer" => SqrtWidthByLayer, "none" => None);

/// Under the names of Hugging Face.
impl Named for Activation {
    const OPTION: &'static str = "activation";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("linear", Activation::None),
        ("relu", Activation::Relu),
        ("gelu", Activation::Gelu),
        ("gelu_new", Activation::GeluTanh),
        ("gelu_pytorch_tanh", Activation::GeluTanh),
        ("gelu_fast", Activation::GeluTanh),
        ("gelu_accurate", Activation::GeluTanh),
        ("gelu_python", Activation::Gelu),
        ("quick_gelu", Activation::QuickGelu),
        ("relu2", Activation::SquaredRelu),
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
        all(&[Positions::Rotary, Positions::Relative]);
        all(&[Normalization::Layer, Normalization::Batch, Normalization::None]);
        all(&[Residual::Added, Residual::None]);
        all(&[Scaling::SqrtWidth, Scaling::None]);
        all(&Activation::ALL);
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_names_there_are() {
        let error = "group".parse::<Normalization>().unwrap_err().to_string();
        let expected = "expected layer, layer-no-bias, rms, rms-one-plus, batch or none";
        assert_eq!(error, format!("normalization 'group' is unknown: {expected}"));
        let error = serde_json::from_str::<Scaling>("\"d\"").unwrap_err().to_string();
        assert!(error.contains("expected sqrt-width, sqrt-width-by-layer or none"), "{error}");
        assert_eq!(serde_json::to_string(&Positions::OneHot).unwrap(), "\"one-hot\"");
    }
}
