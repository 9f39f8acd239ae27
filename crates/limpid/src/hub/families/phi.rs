//! `phi`: Phi-1 to Phi-2, with attention and feed-forward network side by side behind one norm
//! (`PhiForCausalLM`,
//! `PhiForSequenceClassification`).

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored};
use super::heads::DecoderClasses;
use super::{Family, llama_like, rope};
use crate::error::Result;
use crate::model::config::{DecoderConfig, EmbeddingScale, StackConfig, Tie};
use crate::nn::{
    AttentionOptions, Bias, Block, LayerOptions, LayerVariant, Named, NormPlacement, Positions,
};
use Stored::{Grouped, Same};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct Phi;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["PhiForCausalLM", "PhiModel", "PhiForSequenceClassification"],
    pad_token_id: None,
};

const MODULES: &[Row] = &[
    ("token_embedding", Same("embed_tokens")),
    ("layers.*.attention_norm", Same("layers.*.input_layernorm")),
    ("layers.*.self_attention.qkv", Grouped("layers.*.self_attn", ["q_proj", "k_proj", "v_proj"])),
    ("layers.*.self_attention.out", Same("layers.*.self_attn.dense")),
    ("layers.*.ffn.up", Same("layers.*.mlp.fc1")),
    ("layers.*.ffn.down", Same("layers.*.mlp.fc2")),
    ("final_norm", Same("final_layernorm")),
];

impl Family for Phi {
    fn model_type(&self) -> &'static str {
        "phi"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        keys.must_be("qk_layernorm", &json!(false))?;
        keys.must_be("tie_word_embeddings", &json!(false))?;
        let positions = keys.optional_size("max_position_embeddings")?.unwrap_or(2048);
        let rotary = rope::read(keys, positions, 0.5)?;
        let heads = keys.size("num_attention_heads")?;
        let kv_heads = keys.optional_size("num_key_value_heads")?.filter(|g| *g != heads);
        let activation: Option<Activation> = keys.optional_named("hidden_act")?;
        let dropout = keys.rate("resid_pdrop")?.unwrap_or(0.0);
        // They act in training only, or not at all.
        keys.rate("embd_pdrop")?;
        keys.rate("attention_dropout")?;
        for key in ["bos_token_id", "eos_token_id", "pad_token_id"] {
            keys.map.remove(key);
        }
        Ok(DecoderConfig {
            vocab_size: keys.size("vocab_size")?,
            max_position_embeddings: positions,
            position_offset: 0,
            hidden_size: keys.size("hidden_size")?,
            num_hidden_layers: keys.size("num_hidden_layers")?,
            num_attention_heads: heads,
            intermediate_size: keys.size("intermediate_size")?,
            activation_function: activation.unwrap_or(Activation::GeluTanh),
            layer_norm_eps: keys.rate("layer_norm_eps")?.unwrap_or(1e-5),
            norm: NormPlacement::Pre,
            tie_word_embeddings: Tie::Separate,
            dropout,
            scale_embedding: EmbeddingScale::One,
            output_bias: Bias::Added,
            options: LayerOptions::standard(Positions::Rotary),
            variant: LayerVariant {
                attention: AttentionOptions { kv_heads, rotary, ..AttentionOptions::STANDARD },
                block: Block::ParallelOneNorm,
                ..LayerVariant::STANDARD
            },
            head,
        }
        .into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let AttentionOptions { kv_heads, rotary, .. } = c.variant.attention;
        let attention = AttentionOptions { kv_heads, rotary, ..AttentionOptions::STANDARD };
        let block = Block::ParallelOneNorm;
        let fits = c.variant == LayerVariant { attention, block, ..LayerVariant::STANDARD }
            && c.options == LayerOptions::standard(Positions::Rotary)
            && c.norm == NormPlacement::Pre
            && c.scale_embedding == EmbeddingScale::One
            && c.tie_word_embeddings == Tie::Separate
            && c.output_bias == Bias::Added;
        if !fits {
            return Ok(None);
        }
        let mut value = json!({
            "vocab_size": c.vocab_size,
            "hidden_size": c.hidden_size,
            "intermediate_size": c.intermediate_size,
            "num_hidden_layers": c.num_hidden_layers,
            "num_attention_heads": c.num_attention_heads,
            "num_key_value_heads": c.kv_heads(),
            "hidden_act": c.activation_function.name(),
            "max_position_embeddings": c.max_position_embeddings,
            "layer_norm_eps": short(c.layer_norm_eps),
            "partial_rotary_factor": rotary.partial_rotary_factor,
            "resid_pdrop": short(c.dropout),
            "embd_pdrop": 0.0,
            "attention_dropout": 0.0,
            "qk_layernorm": false,
            "tie_word_embeddings": false,
            "bos_token_id": null,
            "eos_token_id": null,
            "torch_dtype": "float32",
        });
        rope::write(&mut value, &rotary);
        CLASSES.write(&mut value, c);
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        Layout { base: MODULES, ..llama_like::layout(config) }
    }
}
