//! `qwen3`: Llama with query-key norm (`Qwen3ForCausalLM`,
//! `Qwen3ForSequenceClassification`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::DecoderClasses;
use super::{Family, llama_like};
use crate::error::Result;
use crate::model::config::{EmbeddingScale, StackConfig};
use crate::nn::{Bias, HeadNorm, Normalization};
use serde_json::{Value, json};

pub(super) struct Qwen3;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["Qwen3ForCausalLM", "Qwen3Model", "Qwen3ForSequenceClassification"],
    pad_token_id: None,
};

impl Family for Qwen3 {
    fn model_type(&self) -> &'static str {
        "qwen3"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let defaults =
            llama_like::Defaults { positions: 32_768, head_dim: Some(128), ..llama_like::DEFAULTS };
        let mut config = llama_like::read(keys, defaults)?;
        llama_like::read_biases(keys, &mut config)?;
        config.variant.attention.head_norm = HeadNorm::Rms;
        let windows = llama_like::read_windows(keys, config.num_hidden_layers)?;
        config.variant.attention.windows = windows;
        config.head = head;
        Ok(config.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let attention = c.variant.attention.qkv_bias;
        let fits = llama_like::Expressible {
            normalization: Normalization::Rms,
            biases: [attention, attention, Bias::None],
            head_norm: HeadNorm::Rms,
            windows: c.variant.attention.windows,
        };
        if c.scale_embedding != EmbeddingScale::One {
            return Ok(None);
        }
        Ok(llama_like::write(c, fits).map(|mut value| {
            CLASSES.write(&mut value, c);
            llama_like::write_windows(&mut value, c);
            value["attention_bias"] = json!(attention == Bias::Added);
            value
        }))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        llama_like::layout(config)
    }
}
