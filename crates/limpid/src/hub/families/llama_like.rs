//! What llama, mistral, qwen2, qwen3 and gemma share: RMS norm, rotary positions, a gated
//! feed-forward network, heads of keys and values that query heads share.

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::heads::with_decoder_head;
use super::rope;
use crate::error::{Result, Tying};
use crate::model::config::{DecoderConfig, StackConfig, Tie};
use crate::nn::{AttentionOptions, Bias, HeadNorm, Named, NormPlacement, Normalization, Windows};
use Stored::{Grouped, Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

const MODULES: &[Row] = &[
    ("token_embedding", Same("embed_tokens")),
    ("layers.*.attention_norm", Same("layers.*.input_layernorm")),
    ("layers.*.self_attention.qkv", Grouped("layers.*.self_attn", ["q_proj", "k_proj", "v_proj"])),
    ("layers.*.self_attention.q_norm", Same("layers.*.self_attn.q_norm")),
    ("layers.*.self_attention.k_norm", Same("layers.*.self_attn.k_norm")),
    ("layers.*.self_attention.out", Same("layers.*.self_attn.o_proj")),
    ("layers.*.ffn_norm", Same("layers.*.post_attention_layernorm")),
    ("layers.*.ffn.up", Stacked("layers.*.mlp", &["gate_proj", "up_proj"])),
    ("layers.*.ffn.down", Same("layers.*.mlp.down_proj")),
    ("final_norm", Same("norm")),
];

pub(super) const COPIES: &[TiedCopy] = &[TiedCopy {
    suffix: "lm_head.weight",
    of: &["token_embedding.weight"],
    tying: Tying::Optional,
}];

/// Where its files store a decoder.
pub(super) fn layout(config: &StackConfig) -> Layout {
    let layout = Layout {
        heads: heads(config),
        prefix: "model.",
        other_prefixes: &[""],
        base: MODULES,
        head: &[("output", Same("lm_head"))],
        old_suffixes: &[],
        copies: COPIES,
        ignored: &["rotary_emb.inv_freq"],
    };
    with_decoder_head(layout, config)
}

/// Heads of queries, and of keys and values.
pub(super) fn heads(config: &StackConfig) -> [usize; 2] {
    match config {
        StackConfig::Decoder(c) => [c.num_attention_heads, c.kv_heads()],
        _ => unreachable!("read and write know decoders only"),
    }
}

/// What the families have for keys that are missing.
pub(super) struct Defaults {
    pub(super) tie: Tie,
    pub(super) activation: Activation,
    pub(super) eps: f32,
    pub(super) positions: usize,
    pub(super) head_dim: Option<usize>,
}

pub(super) const DEFAULTS: Defaults = Defaults {
    tie: Tie::Separate,
    activation: Activation::Silu,
    eps: 1e-6,
    positions: 2048,
    head_dim: None,
};

/// Reads the keys that all have.
pub(super) fn read(keys: &mut Keys, defaults: Defaults) -> Result<DecoderConfig> {
    let heads = keys.size("num_attention_heads")?;
    let kv_heads = keys.optional_size("num_key_value_heads")?.unwrap_or(heads);
    let head_dim = keys.optional_size("head_dim")?.or(defaults.head_dim);
    let sizes = [keys.size("hidden_size")?, keys.size("intermediate_size")?];
    let positions = keys.optional_size("max_position_embeddings")?.unwrap_or(defaults.positions);
    let rotary = rope::read(keys, positions, 1.0)?;
    let activation = keys.optional_named("hidden_act")?;
    // They act in training only, or not at all.
    keys.rate("attention_dropout")?;
    for key in ["bos_token_id", "eos_token_id", "pad_token_id", "pretraining_tp", "rope_theta"] {
        keys.map.remove(key);
    }
    let (vocab, layers) = (keys.size("vocab_size")?, keys.size("num_hidden_layers")?);
    let mut config = DecoderConfig::llama(vocab, positions, layers, [heads, kv_heads], sizes);
    config.activation_function = activation.unwrap_or(defaults.activation);
    config.layer_norm_eps = keys.rate("rms_norm_eps")?.unwrap_or(defaults.eps);
    config.tie_word_embeddings = match keys.flag("tie_word_embeddings")? {
        Some(true) => Tie::Shared,
        Some(false) => Tie::Separate,
        None => defaults.tie,
    };
    // A width that c/h gives anyway is no option.
    config.variant.attention.head_dim = head_dim.filter(|d| heads == 0 || *d * heads != sizes[0]);
    config.variant.attention.rotary = rotary;
    Ok(config)
}

/// Biases of attention (`attention_bias`) and of the feed-forward network (`mlp_bias`).
pub(super) fn read_biases(keys: &mut Keys, config: &mut DecoderConfig) -> Result<()> {
    let bias = |is_added: Option<bool>| match is_added {
        Some(true) => Bias::Added,
        _ => Bias::None,
    };
    let attention = bias(keys.flag("attention_bias")?);
    config.variant.attention.qkv_bias = attention;
    config.variant.attention.out_bias = attention;
    config.variant.ffn_bias = bias(keys.flag("mlp_bias")?);
    Ok(())
}

/// Which of the options a family's keys can say.
pub(super) struct Expressible {
    pub(super) normalization: Normalization,
    /// Bias of queries, keys and values, of the output projection, and of the feed-forward network.
    pub(super) biases: [Bias; 3],
    pub(super) head_norm: HeadNorm,
    pub(super) windows: Windows,
}

/// The keys that all have, if the family's files can hold the decoder.
pub(super) fn write(c: &DecoderConfig, fits: Expressible) -> Option<Value> {
    let standard = DecoderConfig::llama(1, 1, 1, [1, 1], [1, 1]);
    let attention = AttentionOptions {
        kv_heads: c.variant.attention.kv_heads,
        head_dim: c.variant.attention.head_dim,
        qkv_bias: fits.biases[0],
        out_bias: fits.biases[1],
        head_norm: fits.head_norm,
        windows: fits.windows,
        rotary: c.variant.attention.rotary,
        window_rotary: None,
        relative: standard.variant.attention.relative,
    };
    let mut variant = standard.variant;
    (variant.attention, variant.ffn_bias) = (attention, fits.biases[2]);
    let mut options = standard.options;
    options.normalization = fits.normalization;
    let is_held = c.variant == variant
        && c.options == options
        && c.norm == NormPlacement::Pre
        && c.output_bias == Bias::None
        && !matches!(fits.windows, Windows::Between { .. })
        && c.variant.attention.rotary.partial_rotary_factor == 1.0;
    if !is_held {
        return None;
    }
    let mut value = json!({
        "vocab_size": c.vocab_size,
        "hidden_size": c.hidden_size,
        "intermediate_size": c.intermediate_size,
        "num_hidden_layers": c.num_hidden_layers,
        "num_attention_heads": c.num_attention_heads,
        "num_key_value_heads": c.kv_heads(),
        "head_dim": c.head_dim(),
        "hidden_act": c.activation_function.name(),
        "max_position_embeddings": c.max_position_embeddings,
        "rms_norm_eps": short(c.layer_norm_eps),
        "attention_dropout": 0.0,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "bos_token_id": null,
        "eos_token_id": null,
        "torch_dtype": "float32",
    });
    rope::write(&mut value, &c.variant.attention.rotary);
    Some(value)
}

/// The windows of layers that `layer_types` or the older keys give: full attention first, then
/// sliding windows.
pub(super) fn read_windows(keys: &mut Keys, layers: usize) -> Result<Windows> {
    let tokens = keys.optional_size("sliding_window")?;
    let is_used = keys.flag("use_sliding_window")?.unwrap_or(false);
    let first = keys.optional_size("max_window_layers")?.unwrap_or(28);
    let window = |layer: usize| match tokens {
        Some(tokens) if layer < layers => Windows::From { layer, tokens },
        _ => Windows::None,
    };
    let types = keys.texts("layer_types")?;
    if types.is_empty() {
        return Ok(if is_used { window(first) } else { Windows::None });
    }
    let full = types.iter().take_while(|name| *name == "full_attention").count();
    let sliding = types[full..].iter().filter(|name| *name == "sliding_attention").count();
    if types.len() != layers || full + sliding != layers {
        let expected = "full_attention for the first layers, then sliding_attention, one for each";
        return Err(keys.wrong("layer_types", &json!(types), expected));
    }
    Ok(window(full))
}

/// The keys of [`read_windows`].
pub(super) fn write_windows(value: &mut Value, c: &DecoderConfig) {
    let windows = c.variant.attention.windows;
    let (layer, tokens) = match windows {
        // Between is refused by `write`.
        Windows::None | Windows::Between { .. } => (c.num_hidden_layers, None),
        Windows::From { layer, tokens } => (layer, Some(tokens)),
    };
    value["use_sliding_window"] = json!(tokens.is_some());
    value["sliding_window"] = json!(tokens);
    value["max_window_layers"] = json!(layer);
    let kind = |l: usize| if l < layer { "full_attention" } else { "sliding_attention" };
    value["layer_types"] = (0..c.num_hidden_layers).map(kind).collect();
}
