//! `openai-gpt`: GPT-1, a post-norm decoder without a final norm (`OpenAIGPTLMHeadModel`,
//! `OpenAIGPTForSequenceClassification`).
//!
//! Its feed-forward layers have four times the width of the model, and it has three activations;
//! "gelu" is the tanh approximation.

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::{DecoderClasses, with_decoder_head};
use super::{Family, gpt};
use crate::error::{ModelError, Result};
use crate::model::config::{DecoderConfig, StackConfig};
use crate::nn::{Named, NormPlacement};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct OpenAiGpt;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["OpenAIGPTLMHeadModel", "OpenAIGPTModel", "OpenAIGPTForSequenceClassification"],
    pad_token_id: None,
};

const MODEL_TYPE: &str = "openai-gpt";
const ACTIVATIONS: &[&str] = &["gelu_new", "relu", "silu"];

impl Family for OpenAiGpt {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("OpenAIGPTTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let activation = match keys.optional_named("activation_function")? {
            Some(activation) => activation,
            None => match keys.map.get("afn").and_then(Value::as_str) {
                Some("gelu") => {
                    keys.map.remove("afn");
                    Activation::GeluTanh
                }
                _ => keys.optional_named("afn")?.unwrap_or(Activation::GeluTanh),
            },
        };
        let config = gpt::read(keys, NormPlacement::Post, activation)?;
        Ok(DecoderConfig { head, ..config }.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        if c.norm != NormPlacement::Post || c.options != DecoderConfig::STANDARD || !gpt::fits(c) {
            return Ok(None);
        }
        let (model_type, name) = (MODEL_TYPE, c.activation_function.name());
        if !ACTIVATIONS.contains(&name) {
            let (found, supported) = (name, ACTIVATIONS);
            return Err(ModelError::ActivationNotInFamily { model_type, found, supported }.into());
        }
        let (found, width) = (c.intermediate_size, c.hidden_size);
        if found != 4 * width {
            return Err(ModelError::FeedForwardNotInFamily { model_type, found, width }.into());
        }
        let mut value = gpt::write(c);
        CLASSES.write(&mut value, c);
        value["afn"] = json!(if name == "gelu_new" { "gelu" } else { name });
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        with_decoder_head(gpt::layout(gpt::GPT1), config)
    }
}
