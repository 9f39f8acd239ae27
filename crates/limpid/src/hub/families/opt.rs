//! `opt`: a decoder with learned positions from row 2 of their table on (`OPTForCausalLM`,
//! `OPTForSequenceClassification`).
//!
//! With `do_layer_norm_before` false its norms stand after the residual additions and there is none
//! after the last layer, as in OPT-350m, whose narrower embeddings are refused.

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored};
use super::heads::DecoderClasses;
use super::{Family, llama_like};
use crate::error::Result;
use crate::model::config::{DecoderConfig, EmbeddingScale, StackConfig, Tie};
use crate::nn::{AttentionOptions, Bias, LayerVariant, Named, NormPlacement};
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct Opt;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["OPTForCausalLM", "OPTModel", "OPTForSequenceClassification"],
    pad_token_id: Some(1),
};

/// Rows of the position table before that of the first token.
const POSITION_OFFSET: usize = 2;

/// ε of the layer norms, which no key changes.
const EPS: f32 = 1e-5;

const MODULES: &[Row] = &[
    ("token_embedding", Same("embed_tokens")),
    ("position_embedding", Same("embed_positions")),
    ("layers.*.attention_norm", Same("layers.*.self_attn_layer_norm")),
    ("layers.*.self_attention.qkv", Stacked("layers.*.self_attn", &["q_proj", "k_proj", "v_proj"])),
    ("layers.*.self_attention.out", Same("layers.*.self_attn.out_proj")),
    ("layers.*.ffn_norm", Same("layers.*.final_layer_norm")),
    ("layers.*.ffn.up", Same("layers.*.fc1")),
    ("layers.*.ffn.down", Same("layers.*.fc2")),
    ("final_norm", Same("final_layer_norm")),
];

impl Family for Opt {
    fn model_type(&self) -> &'static str {
        "opt"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("GPT2Tokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let hidden_size = keys.size("hidden_size")?;
        keys.must_be_one_of("word_embed_proj_dim", &[json!(hidden_size), json!(null)])?;
        keys.must_be("layer_norm_elementwise_affine", &json!(true))?;
        let is_pre = keys.flag("do_layer_norm_before")?.unwrap_or(true);
        if is_pre {
            keys.must_be("_remove_final_layer_norm", &json!(false))?;
        } else {
            // There is none after the last layer anyway.
            keys.map.remove("_remove_final_layer_norm");
        }
        let bias = match keys.flag("enable_bias")?.unwrap_or(true) {
            true => Bias::Added,
            false => Bias::None,
        };
        let activation: Option<Activation> = keys.optional_named("activation_function")?;
        let dropout = keys.rate("dropout")?.unwrap_or(0.1);
        // They act in training only, or not at all.
        keys.rate("attention_dropout")?;
        keys.rate("layerdrop")?;
        for key in ["bos_token_id", "eos_token_id", "pad_token_id", "activation_dropout"] {
            keys.map.remove(key);
        }
        Ok(DecoderConfig {
            vocab_size: keys.size("vocab_size")?,
            max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(2048),
            position_offset: POSITION_OFFSET,
            hidden_size,
            num_hidden_layers: keys.size("num_hidden_layers")?,
            num_attention_heads: keys.size("num_attention_heads")?,
            intermediate_size: keys.size("ffn_dim")?,
            activation_function: activation.unwrap_or(Activation::Relu),
            layer_norm_eps: EPS,
            norm: if is_pre { NormPlacement::Pre } else { NormPlacement::Post },
            tie_word_embeddings: keys.tie("tie_word_embeddings")?,
            dropout,
            scale_embedding: EmbeddingScale::One,
            output_bias: Bias::None,
            options: DecoderConfig::STANDARD,
            variant: variant(bias),
            head,
        }
        .into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let bias = c.variant.ffn_bias;
        let fits = c.variant == variant(bias)
            && c.position_offset == POSITION_OFFSET
            && c.options == DecoderConfig::STANDARD
            && c.layer_norm_eps == EPS
            && c.scale_embedding == EmbeddingScale::One
            && c.output_bias == Bias::None;
        if !fits {
            return Ok(None);
        }
        let mut value = json!({
            "vocab_size": c.vocab_size,
            "hidden_size": c.hidden_size,
            "word_embed_proj_dim": c.hidden_size,
            "ffn_dim": c.intermediate_size,
            "num_hidden_layers": c.num_hidden_layers,
            "num_attention_heads": c.num_attention_heads,
            "activation_function": c.activation_function.name(),
            "max_position_embeddings": c.max_position_embeddings,
            "do_layer_norm_before": c.norm == NormPlacement::Pre,
            "enable_bias": bias == Bias::Added,
            "layer_norm_elementwise_affine": true,
            "dropout": short(c.dropout),
            "attention_dropout": 0.0,
            "layerdrop": 0.0,
            "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
            "bos_token_id": null,
            "eos_token_id": null,
            "pad_token_id": null,
            "torch_dtype": "float32",
        });
        CLASSES.write(&mut value, c);
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        Layout {
            prefix: "model.decoder.",
            other_prefixes: &["decoder.", ""],
            base: MODULES,
            ..llama_like::layout(config)
        }
    }
}

/// Layers as GPT-2's, with or without biases.
fn variant(bias: Bias) -> LayerVariant {
    let attention =
        AttentionOptions { qkv_bias: bias, out_bias: bias, ..AttentionOptions::STANDARD };
    LayerVariant { attention, ffn_bias: bias, ..LayerVariant::STANDARD }
}
