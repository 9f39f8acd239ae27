//! `llama`: Llama 1 to 3 and the many models of its shape (`LlamaForCausalLM`,
//! `LlamaForSequenceClassification`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::DecoderClasses;
use super::{Family, llama_like};
use crate::error::Result;
use crate::model::config::{EmbeddingScale, StackConfig};
use crate::nn::{Bias, HeadNorm, Normalization, Windows};
use serde_json::{Value, json};

pub(super) struct Llama;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification"],
    pad_token_id: None,
};

impl Family for Llama {
    fn model_type(&self) -> &'static str {
        "llama"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("LlamaTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let mut config = llama_like::read(keys, llama_like::DEFAULTS)?;
        llama_like::read_biases(keys, &mut config)?;
        config.head = head;
        Ok(config.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let (attention, ffn) = (c.variant.attention.qkv_bias, c.variant.ffn_bias);
        let fits = llama_like::Expressible {
            normalization: Normalization::Rms,
            biases: [attention, attention, ffn],
            head_norm: HeadNorm::None,
            windows: Windows::None,
        };
        if c.scale_embedding != EmbeddingScale::One {
            return Ok(None);
        }
        Ok(llama_like::write(c, fits).map(|mut value| {
            CLASSES.write(&mut value, c);
            value["attention_bias"] = json!(attention == Bias::Added);
            value["mlp_bias"] = json!(ffn == Bias::Added);
            value
        }))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        llama_like::layout(config)
    }
}
