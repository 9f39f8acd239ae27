//! What gpt2, openai-gpt and limpid-gpt share.

use super::super::keys::Keys;
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use crate::error::{Result, Tying};
use crate::model::config::{DecoderConfig, DecoderHead, EmbeddingScale, Tie};
use crate::nn::{Bias, LayerVariant, NormPlacement};
use Stored::{Same, Transposed};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

/// The layers and the final norm.
macro_rules! layers {
    ($($embeddings:expr),*) => {
        &[
            $($embeddings,)*
            ("layers.*.attention_norm", Same("h.*.ln_1")),
            ("layers.*.self_attention.qkv", Transposed("h.*.attn.c_attn")),
            ("layers.*.self_attention.out", Transposed("h.*.attn.c_proj")),
            ("layers.*.ffn_norm", Same("h.*.ln_2")),
            ("layers.*.ffn.up", Transposed("h.*.mlp.c_fc")),
            ("layers.*.ffn.down", Transposed("h.*.mlp.c_proj")),
            ("final_norm", Same("ln_f")),
            ("relative_bias", Same("relative_bias")),
        ]
    };
}

/// The modules of GPT-2.
pub(super) const GPT2: &[Row] =
    layers!(("token_embedding", Same("wte")), ("position_embedding", Same("wpe")));

/// The modules of GPT-1.
pub(super) const GPT1: &[Row] = layers!(
    ("token_embedding", Same("tokens_embed")),
    ("position_embedding", Same("positions_embed"))
);

pub(super) fn layout(base: &'static [Row]) -> Layout {
    Layout {
        heads: [1, 1],
        prefix: "transformer.",
        other_prefixes: &[""],
        base,
        head: &[("output", Same("lm_head"))],
        old_suffixes: &[],
        copies: &[TiedCopy {
            suffix: "lm_head.weight",
            of: &["token_embedding.weight"],
            tying: Tying::Optional,
        }],
        // Causal masks, which old files hold.
        ignored: &["attn.bias", "attn.masked_bias"],
    }
}

/// The keys that all have; the activation has a key of each family's own.
pub(super) fn read(
    keys: &mut Keys,
    norm: NormPlacement,
    activation_function: Activation,
) -> Result<DecoderConfig> {
    let hidden_size = keys.size("n_embd")?;
    let dropout = keys.rate("resid_pdrop")?.unwrap_or(0.1);
    // They act in training only, where one rate serves all.
    keys.rate("embd_pdrop")?;
    keys.rate("attn_pdrop")?;
    keys.map.remove("eos_token_id");
    keys.map.remove("pad_token_id");
    Ok(DecoderConfig {
        vocab_size: keys.size("vocab_size")?,
        max_position_embeddings: keys.size("n_positions")?,
        position_offset: 0,
        hidden_size,
        num_hidden_layers: keys.size("n_layer")?,
        num_attention_heads: keys.size("n_head")?,
        intermediate_size: keys.optional_size("n_inner")?.unwrap_or(4 * hidden_size),
        activation_function,
        layer_norm_eps: keys.rate("layer_norm_epsilon")?.unwrap_or(1e-5),
        norm,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout,
        scale_embedding: EmbeddingScale::One,
        output_bias: Bias::None,
        options: DecoderConfig::STANDARD,
        variant: LayerVariant::STANDARD,
        head: DecoderHead::LanguageModel,
    })
}

/// Whether a decoder has what GPT-2's keys can say, whatever its norms and options are.
pub(super) fn fits(c: &DecoderConfig) -> bool {
    c.variant == LayerVariant::STANDARD
        && c.position_offset == 0
        && c.scale_embedding == EmbeddingScale::One
        && c.output_bias == Bias::None
}

/// The same keys; the class and the activation are each family's own.
pub(super) fn write(c: &DecoderConfig) -> Value {
    json!({
        "vocab_size": c.vocab_size,
        "n_positions": c.max_position_embeddings,
        "n_embd": c.hidden_size,
        "n_layer": c.num_hidden_layers,
        "n_head": c.num_attention_heads,
        "n_inner": c.intermediate_size,
        "layer_norm_epsilon": c.layer_norm_eps,
        "resid_pdrop": c.dropout,
        "embd_pdrop": c.dropout,
        "attn_pdrop": 0.0,
        "bos_token_id": null,
        "eos_token_id": null,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "torch_dtype": "float32",
    })
}
