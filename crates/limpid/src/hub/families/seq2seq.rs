//! What encoder-decoders share whose files have the names of marian's tensors.

use super::super::keys::Keys;
use super::super::layout::{Constant, Layout, Presence, Row, Stored, TiedCopy};
use crate::error::{Result, Tying};
use crate::model::Stack;
use crate::model::config::{EmbeddingNorm, EmbeddingScale, EncoderDecoderConfig, Tie};
use crate::nn::{Named, NormPlacement};
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

const QKV: &[&str] = &["q_proj", "k_proj", "v_proj"];
const KV: &[&str] = &["k_proj", "v_proj"];

const MODULES: &[Row] = &[
    ("shared_embedding", Same("shared")),
    ("encoder.token_embedding", Same("encoder.embed_tokens")),
    ("decoder.token_embedding", Same("decoder.embed_tokens")),
    ("position_embedding", Same("positions")),
    ("encoder.position_embedding", Same("encoder.embed_positions")),
    ("decoder.position_embedding", Same("decoder.embed_positions")),
    ("encoder.relative_bias", Same("encoder.relative_bias")),
    ("decoder.relative_bias", Same("decoder.relative_bias")),
    ("encoder.embedding_norm", Same("encoder.layernorm_embedding")),
    ("decoder.embedding_norm", Same("decoder.layernorm_embedding")),
    ("encoder.layers.*.self_attention.qkv", Stacked("encoder.layers.*.self_attn", QKV)),
    ("encoder.layers.*.self_attention.out", Same("encoder.layers.*.self_attn.out_proj")),
    ("encoder.layers.*.attention_norm", Same("encoder.layers.*.self_attn_layer_norm")),
    ("encoder.layers.*.ffn.up", Same("encoder.layers.*.fc1")),
    ("encoder.layers.*.ffn.down", Same("encoder.layers.*.fc2")),
    ("encoder.layers.*.ffn_norm", Same("encoder.layers.*.final_layer_norm")),
    ("encoder.final_norm", Same("encoder.layer_norm")),
    ("decoder.layers.*.self_attention.qkv", Stacked("decoder.layers.*.self_attn", QKV)),
    ("decoder.layers.*.self_attention.out", Same("decoder.layers.*.self_attn.out_proj")),
    ("decoder.layers.*.attention_norm", Same("decoder.layers.*.self_attn_layer_norm")),
    ("decoder.layers.*.cross_attention.q", Same("decoder.layers.*.encoder_attn.q_proj")),
    ("decoder.layers.*.cross_attention.kv", Stacked("decoder.layers.*.encoder_attn", KV)),
    ("decoder.layers.*.cross_attention.out", Same("decoder.layers.*.encoder_attn.out_proj")),
    ("decoder.layers.*.cross_norm", Same("decoder.layers.*.encoder_attn_layer_norm")),
    ("decoder.layers.*.ffn.up", Same("decoder.layers.*.fc1")),
    ("decoder.layers.*.ffn.down", Same("decoder.layers.*.fc2")),
    ("decoder.layers.*.ffn_norm", Same("decoder.layers.*.final_layer_norm")),
    ("decoder.final_norm", Same("decoder.layer_norm")),
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
    prefix: "model.",
    // Files of the model without its output layer, such as BartModel.
    other_prefixes: &[""],
    base: MODULES,
    head: &[("output", Same("lm_head")), ("logits_bias", Same("final_logits_bias"))],
    old_suffixes: &[],
    copies: COPIES,
    // Also in files with separate embeddings, where nothing uses it.
    ignored: &["shared.weight"],
};

/// Sinusoidal positions, which some files store.
pub(super) fn positions(stack: &Stack, presence: Presence) -> Vec<Constant> {
    let Stack::EncoderDecoder(model) = stack else { return Vec::new() };
    let Some(table) = model.positions() else { return Vec::new() };
    let constant = |prefix: &str, side: &str, presence| Constant {
        name: format!("{prefix}{side}.embed_positions.weight"),
        value: table.clone(),
        presence,
    };
    let both = |prefix, presence| ["encoder", "decoder"].map(|s| constant(prefix, s, presence));
    [both("model.", presence), both("", Presence::Accepted)].into_iter().flatten().collect()
}

/// The same sizes with everything else as in Marian: what its files cannot express.
pub(super) fn standard(c: &EncoderDecoderConfig) -> EncoderDecoderConfig {
    let new = EncoderDecoderConfig::new(1, 1, 1, 1, 1);
    EncoderDecoderConfig {
        position_offset: new.position_offset,
        share_positions: new.share_positions,
        sinusoids: new.sinusoids,
        embedding_norm: new.embedding_norm,
        norm: new.norm,
        layer_norm_eps: new.layer_norm_eps,
        output_scale: new.output_scale,
        logits_bias: new.logits_bias,
        options: new.options,
        variant: new.variant,
        ..c.clone()
    }
}

/// Keys of the generation config in old files, which [`crate::hub::load_generation_config`] reads,
/// and records of how a model was made.
const HARMLESS: &[&str] = &[
    "early_stopping",
    "force_bos_token_to_be_generated",
    "forced_bos_token_id",
    "no_repeat_ngram_size",
    "prefix",
    "replacing_rate",
    "save_step",
    "student_decoder_layers",
    "student_encoder_layers",
    "tokenizer_class",
];

/// Ids of padding, end and start where a file has none.
pub(super) fn token_defaults(keys: &mut Keys, [pad, end, start]: [u32; 3]) {
    keys.defaults(&[
        ("pad_token_id", json!(pad)),
        ("eos_token_id", json!(end)),
        ("decoder_start_token_id", json!(start)),
    ]);
}

/// The keys that all have; norms on embeddings and in layers are each family's own.
pub(super) fn read(
    keys: &mut Keys,
    norm: NormPlacement,
    embedding_norm: EmbeddingNorm,
) -> Result<EncoderDecoderConfig> {
    let vocab_size = keys.size("vocab_size")?;
    keys.must_be("normalize_embedding", &json!(embedding_norm == EmbeddingNorm::Layer))?;
    keys.must_be("add_final_layer_norm", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("normalize_before", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("add_bias_logits", &json!(false))?;
    keys.must_be("is_decoder", &json!(false))?;
    HARMLESS.iter().for_each(|key| drop(keys.map.remove(*key)));
    let dropout = keys.rate("dropout")?.unwrap_or(0.1);
    // They act in training only, where one rate serves all.
    keys.rate("attention_dropout")?;
    keys.rate("activation_dropout")?;
    let scale_embedding = match keys.flag("scale_embedding")? {
        Some(true) => EmbeddingScale::SqrtWidth,
        _ => EmbeddingScale::One,
    };
    let activation = keys.optional_named("activation_function")?;
    let config = EncoderDecoderConfig::new(vocab_size, 1, 1, 1, 1);
    Ok(EncoderDecoderConfig {
        embedding_norm,
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
        ..config
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
