//! `t5`: a pre-norm encoder-decoder with RMS norms, relative positions and no biases
//! (`T5ForConditionalGeneration`): version 1.0, whose output layer is the embedding table, and
//! version 1.1 (also Flan-T5), with a gated feed-forward network and an output layer of its own.

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::Family;
use crate::error::{Result, Tying};
use crate::model::config::{EmbeddingScale, EncoderDecoderConfig, OutputScale, StackConfig, Tie};
use crate::nn::{
    AttentionOptions, Bias, FeedForwardKind, LayerOptions, LayerVariant, Named, NormPlacement,
    Normalization, Positions, RelativeOptions, Scaling,
};
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct T5;

/// Relative positions have no end: the longest text that memory is planned for.
const LONGEST: usize = 1 << 16;

const QKV: &[&str] = &["q", "k", "v"];
const KV: &[&str] = &["k", "v"];
const GATES: &[&str] = &["wi_0", "wi_1"];

/// All modules, with this row for each side's first feed-forward matrix.
macro_rules! modules {
    ($encoder_up:expr, $decoder_up:expr) => {
        &[
            ("shared_embedding", Same("shared")),
            (
                "encoder.relative_bias",
                Same("encoder.block.0.layer.0.SelfAttention.relative_attention_bias"),
            ),
            (
                "decoder.relative_bias",
                Same("decoder.block.0.layer.0.SelfAttention.relative_attention_bias"),
            ),
            (
                "encoder.layers.*.self_attention.qkv",
                Stacked("encoder.block.*.layer.0.SelfAttention", QKV),
            ),
            (
                "encoder.layers.*.self_attention.out",
                Same("encoder.block.*.layer.0.SelfAttention.o"),
            ),
            ("encoder.layers.*.attention_norm", Same("encoder.block.*.layer.0.layer_norm")),
            ("encoder.layers.*.ffn.up", $encoder_up),
            ("encoder.layers.*.ffn.down", Same("encoder.block.*.layer.1.DenseReluDense.wo")),
            ("encoder.layers.*.ffn_norm", Same("encoder.block.*.layer.1.layer_norm")),
            ("encoder.final_norm", Same("encoder.final_layer_norm")),
            (
                "decoder.layers.*.self_attention.qkv",
                Stacked("decoder.block.*.layer.0.SelfAttention", QKV),
            ),
            (
                "decoder.layers.*.self_attention.out",
                Same("decoder.block.*.layer.0.SelfAttention.o"),
            ),
            ("decoder.layers.*.attention_norm", Same("decoder.block.*.layer.0.layer_norm")),
            (
                "decoder.layers.*.cross_attention.q",
                Same("decoder.block.*.layer.1.EncDecAttention.q"),
            ),
            (
                "decoder.layers.*.cross_attention.kv",
                Stacked("decoder.block.*.layer.1.EncDecAttention", KV),
            ),
            (
                "decoder.layers.*.cross_attention.out",
                Same("decoder.block.*.layer.1.EncDecAttention.o"),
            ),
            ("decoder.layers.*.cross_norm", Same("decoder.block.*.layer.1.layer_norm")),
            ("decoder.layers.*.ffn.up", $decoder_up),
            ("decoder.layers.*.ffn.down", Same("decoder.block.*.layer.2.DenseReluDense.wo")),
            ("decoder.layers.*.ffn_norm", Same("decoder.block.*.layer.2.layer_norm")),
            ("decoder.final_norm", Same("decoder.final_layer_norm")),
            ("output", Same("lm_head")),
        ]
    };
}

const PLAIN: &[Row] = modules!(
    Same("encoder.block.*.layer.1.DenseReluDense.wi"),
    Same("decoder.block.*.layer.2.DenseReluDense.wi")
);
const GATED: &[Row] = modules!(
    Stacked("encoder.block.*.layer.1.DenseReluDense", GATES),
    Stacked("decoder.block.*.layer.2.DenseReluDense", GATES)
);

/// Copies of the embedding table.
const COPIES: &[TiedCopy] = &[
    TiedCopy { suffix: "lm_head.weight", of: &["shared_embedding.weight"], tying: Tying::Optional },
    TiedCopy {
        suffix: "embed_tokens.weight",
        of: &["shared_embedding.weight"],
        tying: Tying::Always,
    },
];

/// `relu`, or `gated-gelu`: the network and its activation.
fn feed_forward(keys: &mut Keys) -> Result<(FeedForwardKind, Activation)> {
    let name = keys.text("feed_forward_proj")?.unwrap_or_else(|| "relu".into());
    let (kind, activation) = match name.strip_prefix("gated-") {
        // The released models were trained with the approximation.
        Some("gelu") => (FeedForwardKind::Gated, "gelu_new"),
        Some(activation) => (FeedForwardKind::Gated, activation),
        None => (FeedForwardKind::Plain, name.as_str()),
    };
    let activation = Activation::from_name(activation).map_err(|e| e.in_file(keys.path))?;
    // Newer files repeat both, and `transformers` follows the repetition.
    keys.must_be("is_gated_act", &json!(kind == FeedForwardKind::Gated))?;
    if let Some(repeated) = keys.optional_named::<Activation>("dense_act_fn")?
        && repeated != activation
    {
        let found = json!(repeated.name());
        return Err(keys.wrong("dense_act_fn", &found, "the activation of feed_forward_proj"));
    }
    Ok((kind, activation))
}

/// The value of `feed_forward_proj`, if there is one.
fn feed_forward_name(kind: FeedForwardKind, activation: Activation) -> Option<String> {
    match (kind, activation) {
        (FeedForwardKind::Plain, activation) => Some(activation.name().into()),
        (FeedForwardKind::Gated, Activation::GeluTanh) => Some("gated-gelu".into()),
        // The name means the approximation.
        (FeedForwardKind::Gated, Activation::Gelu) => None,
        (FeedForwardKind::Gated, activation) => Some(format!("gated-{}", activation.name())),
    }
}

/// The same sizes with everything else as in T5.
fn form(c: &EncoderDecoderConfig) -> EncoderDecoderConfig {
    let new = EncoderDecoderConfig::new(1, 1, 1, 1, 1);
    EncoderDecoderConfig {
        vocab_size: c.vocab_size,
        decoder_vocab_size: c.vocab_size,
        d_model: c.d_model,
        encoder_layers: c.encoder_layers,
        decoder_layers: c.decoder_layers,
        encoder_attention_heads: c.encoder_attention_heads,
        decoder_attention_heads: c.encoder_attention_heads,
        encoder_ffn_dim: c.encoder_ffn_dim,
        decoder_ffn_dim: c.encoder_ffn_dim,
        max_position_embeddings: LONGEST,
        activation_function: c.activation_function,
        scale_embedding: EmbeddingScale::One,
        norm: NormPlacement::Pre,
        layer_norm_eps: c.layer_norm_eps,
        tie_word_embeddings: c.tie_word_embeddings,
        output_scale: c.output_scale,
        logits_bias: Bias::None,
        dropout: c.dropout,
        pad_token_id: c.pad_token_id,
        eos_token_id: c.eos_token_id,
        decoder_start_token_id: c.decoder_start_token_id,
        options: LayerOptions {
            normalization: Normalization::Rms,
            scaling: Scaling::None,
            ..LayerOptions::standard(Positions::Relative)
        },
        variant: LayerVariant {
            attention: AttentionOptions {
                head_dim: c.variant.attention.head_dim,
                qkv_bias: Bias::None,
                out_bias: Bias::None,
                relative: c.variant.attention.relative,
                ..AttentionOptions::STANDARD
            },
            feed_forward: c.variant.feed_forward,
            ffn_bias: Bias::None,
            ..LayerVariant::STANDARD
        },
        ..new
    }
}

impl Family for T5 {
    fn model_type(&self) -> &'static str {
        "t5"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("T5Tokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.check_class(&["T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model"])?;
        keys.must_be("is_decoder", &json!(false))?;
        // Older files say by `tie_word_embeddings` whether the output is scaled.
        let tied = keys.tie("tie_word_embeddings")? == Tie::Shared;
        let output_scale = match keys.flag("scale_decoder_outputs")?.unwrap_or(tied) {
            true => OutputScale::InverseSqrtWidth,
            false => OutputScale::One,
        };
        let tie_word_embeddings = match output_scale {
            OutputScale::InverseSqrtWidth => Tie::Shared,
            OutputScale::One => Tie::Separate,
        };
        let (feed_forward, activation_function) = feed_forward(keys)?;
        for key in ["initializer_factor", "n_positions", "tokenizer_class"] {
            keys.map.remove(key);
        }
        let layers = keys.size("num_layers")?;
        let sizes = (keys.size("num_heads")?, keys.size("d_model")?, keys.size("d_ff")?);
        let standard = RelativeOptions::STANDARD;
        let relative = RelativeOptions {
            buckets: keys
                .optional_size("relative_attention_num_buckets")?
                .unwrap_or(standard.buckets),
            max_distance: keys
                .optional_size("relative_attention_max_distance")?
                .unwrap_or(standard.max_distance),
        };
        let head_dim = Some(keys.size("d_kv")?);
        let pad_token_id = keys.optional_size("pad_token_id")?.unwrap_or(0) as u32;
        let start = keys.optional_size("decoder_start_token_id")?.map(|id| id as u32);
        let new =
            EncoderDecoderConfig::new(keys.size("vocab_size")?, layers, sizes.0, sizes.1, sizes.2);
        let attention = AttentionOptions { head_dim, relative, ..AttentionOptions::STANDARD };
        let config = EncoderDecoderConfig {
            decoder_layers: keys.optional_size("num_decoder_layers")?.unwrap_or(layers),
            activation_function,
            layer_norm_eps: keys.number("layer_norm_epsilon")?.unwrap_or(1e-6),
            tie_word_embeddings,
            output_scale,
            dropout: keys.rate("dropout_rate")?.unwrap_or(0.1),
            pad_token_id,
            eos_token_id: keys.optional_size("eos_token_id")?.unwrap_or(1) as u32,
            decoder_start_token_id: start.unwrap_or(pad_token_id),
            variant: LayerVariant { attention, feed_forward, ..LayerVariant::STANDARD },
            ..new
        };
        Ok(form(&config).into())
    }

    /// An output layer of its own is scaled by nothing; without one in the file it is the embedding
    /// table.
    fn complete(&self, config: StackConfig, has: &dyn Fn(&str) -> bool) -> StackConfig {
        match config {
            StackConfig::EncoderDecoder(c) if !has("lm_head.weight") => {
                EncoderDecoderConfig { tie_word_embeddings: Tie::Shared, ..c }.into()
            }
            config => config,
        }
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        let scaled = c.output_scale == OutputScale::InverseSqrtWidth;
        if *c != form(c) || (scaled && c.tie_word_embeddings == Tie::Separate) {
            return Ok(None);
        }
        let (kind, activation) = (c.variant.feed_forward, c.activation_function);
        let Some(feed_forward) = feed_forward_name(kind, activation) else { return Ok(None) };
        let RelativeOptions { buckets, max_distance } = c.variant.attention.relative;
        Ok(Some(json!({
            "architectures": ["T5ForConditionalGeneration"],
            "vocab_size": c.vocab_size,
            "d_model": c.d_model,
            "d_kv": c.variant.attention.head_dim,
            "d_ff": c.encoder_ffn_dim,
            "num_layers": c.encoder_layers,
            "num_decoder_layers": c.decoder_layers,
            "num_heads": c.encoder_attention_heads,
            "relative_attention_num_buckets": buckets,
            "relative_attention_max_distance": max_distance,
            "dropout_rate": c.dropout,
            "layer_norm_epsilon": short(c.layer_norm_eps),
            "feed_forward_proj": feed_forward,
            "dense_act_fn": activation.name(),
            "is_gated_act": kind == FeedForwardKind::Gated,
            "scale_decoder_outputs": scaled,
            "tie_word_embeddings": scaled,
            "is_encoder_decoder": true,
            "pad_token_id": c.pad_token_id,
            "eos_token_id": c.eos_token_id,
            "decoder_start_token_id": c.decoder_start_token_id,
            "torch_dtype": "float32",
        })))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        let gated = |c: &EncoderDecoderConfig| c.variant.feed_forward == FeedForwardKind::Gated;
        let base = match config {
            StackConfig::EncoderDecoder(c) if gated(c) => GATED,
            _ => PLAIN,
        };
        Layout {
            heads: [1, 1],
            prefix: "",
            other_prefixes: &[],
            base,
            head: &[],
            old_suffixes: &[],
            copies: COPIES,
            // A bias that cross-attention of old files has and nothing used.
            ignored: &["EncDecAttention.relative_attention_bias.weight"],
        }
    }
}
