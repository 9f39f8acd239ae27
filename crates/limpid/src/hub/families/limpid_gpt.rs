//! `limpid-gpt`: ablations of a decoder, in the layout of GPT-2.

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::{Family, ablations, gpt};
use crate::error::Result;
use crate::model::config::{DecoderConfig, StackConfig};
use crate::nn::Named;
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct LimpidGpt;

pub(super) const MODEL_TYPE: &str = "limpid-gpt";

impl Family for LimpidGpt {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let (norm, options) = ablations::read(keys, DecoderConfig::STANDARD)?;
        let activation = keys.optional_named("activation_function")?;
        let config = gpt::read(keys, norm, activation.unwrap_or(Activation::GeluTanh))?;
        Ok(DecoderConfig { options, ..config }.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        if c.options == DecoderConfig::STANDARD {
            return Ok(None);
        }
        let mut value = gpt::write(c);
        value["activation_function"] = json!(c.activation_function.name());
        ablations::write(&mut value, c.norm, c.options);
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        gpt::layout(gpt::GPT2)
    }
}
