//! `qwen2`: Llama with biases on queries, keys and values (`Qwen2ForCausalLM`,
//! `Qwen2ForSequenceClassification`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::DecoderClasses;
use super::{Family, llama_like};
use crate::error::Result;
use crate::model::config::{EmbeddingScale, StackConfig};
use crate::nn::{Bias, HeadNorm, Normalization};
use serde_json::Value;

pub(super) struct Qwen2;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["Qwen2ForCausalLM", "Qwen2Model", "Qwen2ForSequenceClassification"],
    pad_token_id: None,
};

impl Family for Qwen2 {
    fn model_type(&self) -> &'static str {
        "qwen2"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let defaults = llama_like::Defaults { positions: 32_768, ..llama_like::DEFAULTS };
        let mut config = llama_like::read(keys, defaults)?;
        config.variant.attention.qkv_bias = Bias::Added;
        let windows = llama_like::read_windows(keys, config.num_hidden_layers)?;
        config.variant.attention.windows = windows;
        config.head = head;
        Ok(config.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let fits = llama_like::Expressible {
            normalization: Normalization::Rms,
            biases: [Bias::Added, Bias::None, Bias::None],
            head_norm: HeadNorm::None,
            windows: c.variant.attention.windows,
        };
        if c.scale_embedding != EmbeddingScale::One {
            return Ok(None);
        }
        Ok(llama_like::write(c, fits).map(|mut value| {
            CLASSES.write(&mut value, c);
            llama_like::write_windows(&mut value, c);
            value
        }))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        llama_like::layout(config)
    }
}
