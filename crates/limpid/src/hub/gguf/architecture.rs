//! Which architecture of llama.cpp computes what a stack computes, and its keys.

use super::writer::Value;
use crate::error::GgufProblem;
use crate::model::config::{DecoderConfig, EmbeddingScale, EncoderConfig, EncoderHead, Tie};
use crate::nn::{
    AttentionOptions, Bias, Block, FeedForwardKind, FirstNorm, HeadNorm, LayerOptions,
    LayerVariant, Named, NormPlacement, Normalization, Positions, RopeScaling, RotaryOptions,
    Windows,
};
use limpid_tensor::kernels::activation::Activation;

/// An architecture of llama.cpp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    Gpt2,
    Llama,
    Qwen2,
    Qwen3,
    Gemma,
    GptNeoX,
    Phi2,
    Bert,
}

impl Architecture {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt2",
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
            Self::Gemma => "gemma",
            Self::GptNeoX => "gptneox",
            Self::Phi2 => "phi2",
            Self::Bert => "bert",
        }
    }

    /// Whether queries, keys and values are one tensor.
    pub fn has_one_projection(self) -> bool {
        matches!(self, Self::Gpt2 | Self::GptNeoX)
    }

    /// Whether feed-forward networks have a gate.
    pub fn is_gated(self) -> bool {
        matches!(self, Self::Llama | Self::Qwen2 | Self::Qwen3 | Self::Gemma)
    }

    /// Whether a tied output layer is written all the same.
    pub fn needs_output(self) -> bool {
        self == Self::GptNeoX
    }

    /// The activations that llama.cpp computes: of both forms of GELU, the tanh approximation.
    fn check_activation(self, found: Activation) -> Result<(), GgufProblem> {
        let (is_there, supported): (bool, &'static [&'static str]) = match self {
            Self::Llama | Self::Qwen2 | Self::Qwen3 => (found == Activation::Silu, &["silu"]),
            _ => {
                let gelu = [Activation::Gelu, Activation::GeluTanh];
                (gelu.contains(&found), &["gelu", "gelu_new"])
            }
        };
        let (architecture, found) = (self.name(), found.name());
        match is_there {
            true => Ok(()),
            false => Err(GgufProblem::Activation { architecture, found, supported }),
        }
    }

    /// The architecture of a decoder.
    pub fn of_decoder(c: &DecoderConfig) -> Result<Self, GgufProblem> {
        let LayerVariant { attention, feed_forward, ffn_bias, block, first_norm } = c.variant;
        let LayerOptions { positions, normalization, .. } = c.options;
        let refuse = |what: &str| Err(GgufProblem::Layers { what: what.to_string() });
        let standard = LayerOptions { normalization, ..LayerOptions::standard(positions) };
        if c.norm != NormPlacement::Pre {
            return refuse("norms behind the residual additions of a decoder");
        }
        if c.options != standard || first_norm != FirstNorm::Own || c.position_offset != 0 {
            return refuse("these options of layers");
        }
        let biases = [attention.qkv_bias, attention.out_bias, ffn_bias];
        let all = biases == [Bias::Added; 3];
        let has_own_heads = attention.kv_heads.is_none_or(|g| g == c.num_attention_heads)
            && attention.head_dim.is_none();
        let is_plain = feed_forward == FeedForwardKind::Plain && all && has_own_heads;
        let is_modern = feed_forward == FeedForwardKind::Gated
            && block == Block::Sequential
            && attention.rotary.partial_rotary_factor == 1.0
            && c.output_bias == Bias::None;
        let scale = c.scale_embedding == EmbeddingScale::One;
        let found = match (normalization, positions, block) {
            (Normalization::Layer, Positions::Learned, Block::Sequential) if is_plain && scale => {
                Self::Gpt2
            }
            (Normalization::Layer, Positions::Rotary, Block::ParallelOneNorm)
                if feed_forward == FeedForwardKind::Plain
                    && all
                    && scale
                    && attention.head_dim.is_none()
                    && c.output_bias == Bias::Added =>
            {
                Self::Phi2
            }
            (Normalization::Layer, Positions::Rotary, Block::Parallel | Block::Sequential)
                if is_plain && scale && c.output_bias == Bias::None =>
            {
                Self::GptNeoX
            }
            (Normalization::Rms, Positions::Rotary, _) if is_modern && scale => {
                of_rms(&attention, biases)?
            }
            (Normalization::RmsOnePlus, Positions::Rotary, _)
                if is_modern
                    && !scale
                    && biases == [Bias::None; 3]
                    && c.tie_word_embeddings == Tie::Shared =>
            {
                Self::Gemma
            }
            _ => {
                return refuse(&format!(
                    "{} positions, {} normalization and a {} feed-forward network in this \
                     combination",
                    positions.name(),
                    normalization.name(),
                    feed_forward.name()
                ));
            }
        };
        if attention.head_norm != HeadNorm::None && found != Self::Qwen3 {
            return refuse("a query-key norm and these layers");
        }
        found.check_activation(c.activation_function).map(|()| found)
    }

    /// The architecture of an encoder.
    pub fn of_encoder(c: &EncoderConfig) -> Result<Self, GgufProblem> {
        let refuse = |what: &str| Err(GgufProblem::Layers { what: what.to_string() });
        if !matches!(c.head, EncoderHead::Bare | EncoderHead::Pooler) {
            return refuse("a head on a BERT encoder");
        }
        let is_bert = c.embedding_size.is_none()
            && c.position_offset == 0
            && c.relative.is_none()
            && c.modern.is_none()
            && c.type_vocab_size.is_some();
        if !is_bert {
            return refuse("this encoder's embeddings or layers");
        }
        Self::Bert.check_activation(c.hidden_act).map(|()| Self::Bert)
    }
}

/// Those with RMS norms, by their biases.
fn of_rms(attention: &AttentionOptions, biases: [Bias; 3]) -> Result<Architecture, GgufProblem> {
    Ok(match (attention.head_norm, biases) {
        (HeadNorm::Rms, [Bias::None, Bias::None, Bias::None]) => Architecture::Qwen3,
        (HeadNorm::Rms, _) => {
            let what = "a query-key norm and biases".into();
            return Err(GgufProblem::Layers { what });
        }
        (HeadNorm::None, [Bias::Added, Bias::None, Bias::None]) => Architecture::Qwen2,
        (HeadNorm::None, _) => Architecture::Llama,
    })
}

/// The keys of a decoder.
pub(super) fn decoder_keys(
    architecture: Architecture,
    c: &DecoderConfig,
) -> Result<Vec<(String, Value)>, GgufProblem> {
    let is_rms = architecture.is_gated();
    let eps =
        if is_rms { "attention.layer_norm_rms_epsilon" } else { "attention.layer_norm_epsilon" };
    // llama.cpp's architectures see all tokens: what a window hides does not exist up to its size.
    let context = match c.variant.attention.windows {
        Windows::None => c.max_position_embeddings,
        Windows::From { tokens, .. } | Windows::Between { tokens, .. } => {
            tokens.min(c.max_position_embeddings)
        }
    };
    let mut keys = sizes(&[
        ("vocab_size", c.vocab_size),
        ("context_length", context),
        ("embedding_length", c.hidden_size),
        ("block_count", c.num_hidden_layers),
        ("feed_forward_length", c.intermediate_size),
        ("attention.head_count", c.num_attention_heads),
        ("attention.head_count_kv", c.kv_heads()),
    ]);
    keys.push((eps.into(), Value::F32(c.layer_norm_eps)));
    if c.variant.attention.head_dim.is_some() {
        let width = c.head_dim();
        keys.extend(sizes(&[("attention.key_length", width), ("attention.value_length", width)]));
    }
    if architecture == Architecture::GptNeoX {
        let is_parallel = c.variant.block == Block::Parallel;
        keys.push(("use_parallel_residual".into(), Value::Bool(is_parallel)));
    }
    if c.options.positions == Positions::Rotary {
        let rotary = &c.variant.attention.rotary;
        keys.extend(sizes(&[("rope.dimension_count", rotary.rotated(c.head_dim()))]));
        keys.push(("rope.freq_base".into(), Value::F32(rotary.rope_theta as f32)));
        keys.extend(scaling_keys(architecture, rotary)?);
    }
    Ok(keys)
}

/// Sizes, each below 2³¹ by the limits of `config.json`.
fn sizes(list: &[(&str, usize)]) -> Vec<(String, Value)> {
    list.iter().map(|(key, size)| (key.to_string(), Value::U32(*size as u32))).collect()
}

fn scaling_keys(
    architecture: Architecture,
    rotary: &RotaryOptions,
) -> Result<Vec<(String, Value)>, GgufProblem> {
    let key = |key: &str, value: Value| (format!("rope.scaling.{key}"), value);
    Ok(match rotary.scaling {
        RopeScaling::None => Vec::new(),
        RopeScaling::Linear { factor } => vec![
            key("type", Value::Text("linear".into())),
            key("factor", Value::F32(factor as f32)),
        ],
        // Its frequencies are a tensor.
        RopeScaling::Llama3 { .. } if architecture == Architecture::Llama => Vec::new(),
        RopeScaling::Yarn {
            factor,
            beta_fast,
            beta_slow,
            original_max_position_embeddings,
            attention_factor,
            truncate: true,
        } if beta_fast == 32.0
            && beta_slow == 1.0
            && (attention_factor - (0.1 * factor.ln() + 1.0)).abs() < 1e-6 =>
        {
            vec![
                key("type", Value::Text("yarn".into())),
                key("factor", Value::F32(factor as f32)),
                key("original_context_length", Value::U32(original_max_position_embeddings as u32)),
            ]
        }
        _ => {
            let what = format!("this scaling of rotary positions in {}", architecture.name());
            return Err(GgufProblem::Layers { what });
        }
    })
}

/// What the frequencies of Llama 3 are divided by, one number per pair of columns.
pub(super) fn frequency_divisors(rotary: &RotaryOptions, width: usize) -> Option<Vec<f32>> {
    let RopeScaling::Llama3 { .. } = rotary.scaling else { return None };
    let unscaled = RotaryOptions { scaling: RopeScaling::None, ..*rotary };
    let pairs = unscaled.frequencies(width).into_iter().zip(rotary.frequencies(width));
    Some(pairs.map(|(plain, scaled)| plain / scaled).collect())
}

/// The keys of an encoder; `pooling` is 0 for none, 1 for the mean, 2 for the first token.
pub(super) fn encoder_keys(c: &EncoderConfig, pooling: u32) -> Vec<(String, Value)> {
    let mut keys = sizes(&[
        ("context_length", c.max_position_embeddings),
        ("embedding_length", c.hidden_size),
        ("block_count", c.num_hidden_layers),
        ("feed_forward_length", c.intermediate_size),
        ("attention.head_count", c.num_attention_heads),
    ]);
    keys.push(("attention.layer_norm_epsilon".into(), Value::F32(c.layer_norm_eps)));
    keys.push(("attention.causal".into(), Value::Bool(false)));
    keys.push(("pooling_type".into(), Value::U32(pooling)));
    keys
}
