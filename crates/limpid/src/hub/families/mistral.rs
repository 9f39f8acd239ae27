//! `mistral`: Llama with a sliding window on every layer (`MistralForCausalLM`,
//! `MistralForSequenceClassification`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::DecoderClasses;
use super::{Family, llama_like};
use crate::error::Result;
use crate::model::config::{EmbeddingScale, StackConfig};
use crate::nn::{Bias, HeadNorm, Normalization, Windows};
use serde_json::{Value, json};

pub(super) struct Mistral;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["MistralForCausalLM", "MistralModel", "MistralForSequenceClassification"],
    pad_token_id: None,
};

impl Family for Mistral {
    fn model_type(&self) -> &'static str {
        "mistral"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("LlamaTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        // Missing is 4,096, null is no window.
        let tokens = match keys.map.contains_key("sliding_window") {
            true => keys.optional_size("sliding_window")?,
            false => Some(4096),
        };
        let defaults = llama_like::Defaults { positions: 4096 * 32, ..llama_like::DEFAULTS };
        let mut config = llama_like::read(keys, defaults)?;
        config.variant.attention.windows =
            tokens.map_or(Windows::None, |tokens| Windows::From { layer: 0, tokens });
        config.head = head;
        Ok(config.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let windows = c.variant.attention.windows;
        let fits = llama_like::Expressible {
            normalization: Normalization::Rms,
            biases: [Bias::None; 3],
            head_norm: HeadNorm::None,
            windows,
        };
        let tokens = match windows {
            Windows::None => None,
            Windows::From { layer: 0, tokens } => Some(tokens),
            Windows::From { .. } | Windows::Between { .. } => return Ok(None),
        };
        if c.scale_embedding != EmbeddingScale::One {
            return Ok(None);
        }
        Ok(llama_like::write(c, fits).map(|mut value| {
            CLASSES.write(&mut value, c);
            value["sliding_window"] = json!(tokens);
            value
        }))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        llama_like::layout(config)
    }
}
