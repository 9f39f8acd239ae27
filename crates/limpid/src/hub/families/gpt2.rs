//! `gpt2`: a pre-norm decoder with learned positions (`GPT2LMHeadModel`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::{Family, gpt};
use crate::error::Result;
use crate::model::config::{DecoderConfig, StackConfig};
use crate::nn::{Named, NormPlacement};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct Gpt2;

impl Family for Gpt2 {
    fn model_type(&self) -> &'static str {
        "gpt2"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.must_be("scale_attn_weights", &json!(true))?;
        keys.must_be("scale_attn_by_inverse_layer_idx", &json!(false))?;
        keys.must_be("add_cross_attention", &json!(false))?;
        let activation = keys.optional_named("activation_function")?;
        let activation = activation.unwrap_or(Activation::GeluTanh);
        gpt::read(keys, NormPlacement::Pre, activation).map(StackConfig::from)
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        if c.norm != NormPlacement::Pre || c.options != DecoderConfig::STANDARD {
            return Ok(None);
        }
        let mut value = gpt::write(c);
        value["architectures"] = json!(["GPT2LMHeadModel"]);
        value["activation_function"] = json!(c.activation_function.name());
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        gpt::layout(gpt::GPT2)
    }
}
