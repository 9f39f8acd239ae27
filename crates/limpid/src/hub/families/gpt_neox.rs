//! `gpt_neox`: GPT-NeoX and Pythia, with attention and feed-forward network side by side and rotary
//! positions on a quarter of each head (`GPTNeoXForCausalLM`,
//! `GPTNeoXForSequenceClassification`).

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::heads::{DecoderClasses, with_decoder_head};
use super::{Family, rope};
use crate::error::{Result, Tying};
use crate::model::config::{DecoderConfig, EmbeddingScale, StackConfig, Tie};
use crate::nn::{
    AttentionOptions, Bias, Block, LayerOptions, LayerVariant, Named, NormPlacement, Positions,
    RotaryOptions,
};
use Stored::{ByHead, Same};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct GptNeoX;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["GPTNeoXForCausalLM", "GPTNeoXModel", "GPTNeoXForSequenceClassification"],
    pad_token_id: None,
};

const MODULES: &[Row] = &[
    ("token_embedding", Same("embed_in")),
    ("layers.*.attention_norm", Same("layers.*.input_layernorm")),
    ("layers.*.self_attention.qkv", ByHead("layers.*.attention.query_key_value")),
    ("layers.*.self_attention.out", Same("layers.*.attention.dense")),
    ("layers.*.ffn_norm", Same("layers.*.post_attention_layernorm")),
    ("layers.*.ffn.up", Same("layers.*.mlp.dense_h_to_4h")),
    ("layers.*.ffn.down", Same("layers.*.mlp.dense_4h_to_h")),
    ("final_norm", Same("final_layer_norm")),
];

const COPIES: &[TiedCopy] = &[TiedCopy {
    suffix: "embed_out.weight",
    of: &["token_embedding.weight"],
    tying: Tying::Optional,
}];

/// Rotary positions. This family's keys have names of their own; those of the others may repeat
/// them, and where they say something else `transformers` does not follow.
fn read_rotary(keys: &mut Keys, positions: usize) -> Result<RotaryOptions> {
    let partial = keys.number("rotary_pct")?.map_or(0.25, f64::from);
    let repeated = ["rope_theta", "partial_rotary_factor"].map(|key| (key, keys.map.remove(key)));
    if let Some(theta) = keys.map.remove("rotary_emb_base") {
        keys.map.insert("rope_theta".into(), theta);
    }
    let rotary = rope::read(keys, positions, partial)?;
    let read = [rotary.rope_theta, rotary.partial_rotary_factor];
    for ((key, found), read) in repeated.into_iter().zip(read) {
        let found = found.filter(|found| !found.is_null() && found.as_f64() != Some(read));
        if let Some(found) = found {
            return Err(keys.wrong(key, &found, "the value of rotary_emb_base or rotary_pct"));
        }
    }
    Ok(rotary)
}

impl Family for GptNeoX {
    fn model_type(&self) -> &'static str {
        "gpt_neox"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let positions = keys.optional_size("max_position_embeddings")?.unwrap_or(2048);
        let rotary = read_rotary(keys, positions)?;
        let is_parallel = keys.flag("use_parallel_residual")?.unwrap_or(true);
        let bias = keys.flag("attention_bias")?.unwrap_or(true);
        let bias = if bias { Bias::Added } else { Bias::None };
        let activation: Option<Activation> = keys.optional_named("hidden_act")?;
        let dropout = keys.rate("hidden_dropout")?.unwrap_or(0.0);
        // They act in training only, or not at all.
        keys.rate("attention_dropout")?;
        for key in ["bos_token_id", "eos_token_id", "pad_token_id", "is_decoder"] {
            keys.map.remove(key);
        }
        let tie = keys.flag("tie_word_embeddings")?.unwrap_or(false);
        Ok(DecoderConfig {
            vocab_size: keys.size("vocab_size")?,
            max_position_embeddings: positions,
            position_offset: 0,
            hidden_size: keys.size("hidden_size")?,
            num_hidden_layers: keys.size("num_hidden_layers")?,
            num_attention_heads: keys.size("num_attention_heads")?,
            intermediate_size: keys.size("intermediate_size")?,
            activation_function: activation.unwrap_or(Activation::Gelu),
            layer_norm_eps: keys.rate("layer_norm_eps")?.unwrap_or(1e-5),
            norm: NormPlacement::Pre,
            tie_word_embeddings: if tie { Tie::Shared } else { Tie::Separate },
            dropout,
            scale_embedding: EmbeddingScale::One,
            output_bias: Bias::None,
            options: LayerOptions::standard(Positions::Rotary),
            variant: LayerVariant {
                attention: AttentionOptions {
                    qkv_bias: bias,
                    out_bias: bias,
                    rotary,
                    ..AttentionOptions::STANDARD
                },
                block: if is_parallel { Block::Parallel } else { Block::Sequential },
                ..LayerVariant::STANDARD
            },
            head,
        }
        .into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let AttentionOptions { qkv_bias, rotary, .. } = c.variant.attention;
        let attention =
            AttentionOptions { qkv_bias, out_bias: qkv_bias, rotary, ..AttentionOptions::STANDARD };
        let block = c.variant.block;
        let variant = LayerVariant { attention, block, ..LayerVariant::STANDARD };
        let fits = c.variant == variant
            && block != Block::ParallelOneNorm
            && c.options == LayerOptions::standard(Positions::Rotary)
            && c.norm == NormPlacement::Pre
            && c.scale_embedding == EmbeddingScale::One
            && c.output_bias == Bias::None;
        if !fits {
            return Ok(None);
        }
        let mut value = json!({
            "vocab_size": c.vocab_size,
            "hidden_size": c.hidden_size,
            "intermediate_size": c.intermediate_size,
            "num_hidden_layers": c.num_hidden_layers,
            "num_attention_heads": c.num_attention_heads,
            "hidden_act": c.activation_function.name(),
            "max_position_embeddings": c.max_position_embeddings,
            "layer_norm_eps": short(c.layer_norm_eps),
            "use_parallel_residual": block == Block::Parallel,
            "attention_bias": qkv_bias == Bias::Added,
            "rotary_pct": rotary.partial_rotary_factor,
            "rotary_emb_base": rotary.rope_theta,
            "hidden_dropout": short(c.dropout),
            "attention_dropout": 0.0,
            "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
            "bos_token_id": null,
            "eos_token_id": null,
            "torch_dtype": "float32",
        });
        rope::write(&mut value, &rotary);
        CLASSES.write(&mut value, c);
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        let layout = Layout {
            heads: super::llama_like::heads(config),
            prefix: "gpt_neox.",
            other_prefixes: &[""],
            base: MODULES,
            head: &[("output", Same("embed_out"))],
            old_suffixes: &[("embed_out.weight", "lm_head.weight")],
            copies: COPIES,
            // Causal masks and frequencies, which old files hold.
            ignored: &["attention.bias", "attention.masked_bias", "rotary_emb.inv_freq"],
        };
        with_decoder_head(layout, config)
    }
}
