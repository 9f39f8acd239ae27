//! What marian, pegasus and limpid-seq2seq share.

use super::super::keys::Keys;
use super::super::layout::{Constant, Layout, Presence, Row, Stored, TiedCopy};
use crate::error::{Result, Tying};
use crate::model::Stack;
use crate::model::config::{EmbeddingScale, EncoderDecoderConfig, Tie};
use crate::nn::{Named, NormPlacement};
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

const QKV: &[&str] = &["q_proj", "k_proj", "v_proj"];
const KV: &[&str] = &["k_proj", "v_proj"];

const MODULES: &[Row] = &[
    ("shared_embedding", Same("model.shared")),
    ("encoder.token_embedding", Same("model.encoder.embed_tokens")),
    ("decoder.token_embedding", Same("model.decoder.embed_tokens")),
    ("position_embedding", Same("model.positions")),
    ("encoder.layers.*.self_attention.qkv", Stacked("model.encoder.layers.*.self_attn", QKV)),
    ("encoder.layers.*.self_attention.out", Same("model.encoder.layers.*.self_attn.out_proj")),
    ("encoder.layers.*.attention_norm", Same("model.encoder.layers.*.self_attn_layer_norm")),
    ("encoder.layers.*.ffn.up", Same("model.encoder.layers.*.fc1")),
    ("encoder.layers.*.ffn.down", Same("model.encoder.layers.*.fc2")),
    ("encoder.layers.*.ffn_norm", Same("model.encoder.layers.*.final_layer_norm")),
    ("encoder.final_norm", Same("model.encoder.layer_norm")),
    ("decoder.layers.*.self_attention.qkv", Stacked("model.decoder.layers.*.self_attn", QKV)),
    ("decoder.layers.*.self_attention.out", Same("model.decoder.layers.*.self_attn.out_proj")),
    ("decoder.layers.*.attention_norm", Same("model.decoder.layers.*.self_attn_layer_norm")),
    ("decoder.layers.*.cross_attention.q", Same("model.decoder.layers.*.encoder_attn.q_proj")),
    ("decoder.layers.*.cross_attention.kv", Stacked("model.decoder.layers.*.encoder_attn", KV)),
    ("decoder.layers.*.cross_attention.out", Same("model.decoder.layers.*.encoder_attn.out_proj")),
    ("decoder.layers.*.cross_norm", Same("model.decoder.layers.*.encoder_attn_layer_norm")),
    ("decoder.layers.*.ffn.up", Same("model.decoder.layers.*.fc1")),
    ("decoder.layers.*.ffn.down", Same("model.decoder.layers.*.fc2")),
    ("decoder.layers.*.ffn_norm", Same("model.decoder.layers.*.final_layer_norm")),
    ("decoder.final_norm", Same("model.decoder.layer_norm")),
    ("output", Same("lm_head")),
    ("logits_bias", Same("final_logits_bias")),
];

/// The second and third copy of embeddings that are shared.
pub(super) const COPIES: &[TiedCopy] = &[
    TiedCopy {
        suffix: "lm_head.weight",
        of: &["shared_embedding.weight", "decoder.token_embedding.weight"],
        tying: Tying::Optional,
    },
    TiedCopy {
        suffix: "embed_tokens.weight",
        of: &["shared_embedding.weight"],
        tying: Tying::Optional,
    },
];

pub(super) const LAYOUT: Layout = Layout {
    heads: [1, 1],
    prefix: "",
    other_prefixes: &[],
    base: MODULES,
    head: &[],
    old_suffixes: &[],
    copies: COPIES,
    // Also in files with separate embeddings, where nothing uses it.
    ignored: &["shared.weight"],
};

/// Sinusoidal positions, which some files store.
pub(super) fn positions(stack: &Stack, presence: Presence) -> Vec<Constant> {
    let Stack::EncoderDecoder(model) = stack else { return Vec::new() };
    let Some(table) = model.positions() else { return Vec::new() };
    let constant = |side| Constant {
        name: format!("model.{side}.embed_positions.weight"),
        value: table.clone(),
        presence,
    };
    ["encoder", "decoder"].map(constant).into()
}

pub(super) fn read(keys: &mut Keys, norm: NormPlacement) -> Result<EncoderDecoderConfig> {
    let vocab_size = keys.size("vocab_size")?;
    keys.must_be("normalize_embedding", &json!(false))?;
    keys.must_be("add_final_layer_norm", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("normalize_before", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("add_bias_logits", &json!(false))?;
    keys.must_be("is_decoder", &json!(false))?;
    keys.must_be("forced_bos_token_id", &Value::Null)?;
    let dropout = keys.rate("dropout")?.unwrap_or(0.1);
    // They act in training only, where one rate serves all.
    keys.rate("attention_dropout")?;
    keys.rate("activation_dropout")?;
    let scale_embedding = match keys.flag("scale_embedding")? {
        Some(true) => EmbeddingScale::SqrtWidth,
        _ => EmbeddingScale::One,
    };
    let activation = keys.optional_named("activation_function")?;
    Ok(EncoderDecoderConfig {
        vocab_size,
        decoder_vocab_size: keys.optional_size("decoder_vocab_size")?.unwrap_or(vocab_size),
        d_model: keys.size("d_model")?,
        encoder_layers: keys.size("encoder_layers")?,
        decoder_layers: keys.size("decoder_layers")?,
        encoder_attention_heads: keys.size("encoder_attention_heads")?,
        decoder_attention_heads: keys.size("decoder_attention_heads")?,
        encoder_ffn_dim: keys.size("encoder_ffn_dim")?,
        decoder_ffn_dim: keys.size("decoder_ffn_dim")?,
        max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(1024),
        activation_function: activation.unwrap_or(Activation::Gelu),
        scale_embedding,
        norm,
        share_encoder_decoder_embeddings: keys.tie("share_encoder_decoder_embeddings")?,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout,
        pad_token_id: keys.size("pad_token_id")? as u32,
        eos_token_id: keys.size("eos_token_id")? as u32,
        decoder_start_token_id: keys.size("decoder_start_token_id")? as u32,
        options: EncoderDecoderConfig::STANDARD,
    })
}

/// The same keys; the class is each family's own.
pub(super) fn write(c: &EncoderDecoderConfig) -> Value {
    json!({
        "vocab_size": c.vocab_size,
        "decoder_vocab_size": c.decoder_vocab_size,
        "d_model": c.d_model,
        "encoder_layers": c.encoder_layers,
        "decoder_layers": c.decoder_layers,
        "num_hidden_layers": c.encoder_layers,
        "encoder_attention_heads": c.encoder_attention_heads,
        "decoder_attention_heads": c.decoder_attention_heads,
        "encoder_ffn_dim": c.encoder_ffn_dim,
        "decoder_ffn_dim": c.decoder_ffn_dim,
        "max_position_embeddings": c.max_position_embeddings,
        "activation_function": c.activation_function.name(),
        "scale_embedding": c.scale_embedding == EmbeddingScale::SqrtWidth,
        "share_encoder_decoder_embeddings": c.share_encoder_decoder_embeddings == Tie::Shared,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "dropout": c.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "is_encoder_decoder": true,
        "pad_token_id": c.pad_token_id,
        "eos_token_id": c.eos_token_id,
        "decoder_start_token_id": c.decoder_start_token_id,
        "forced_eos_token_id": null,
        "bos_token_id": null,
        "torch_dtype": "float32",
    })
}
