//! `gpt2`: a pre-norm decoder with learned positions (`GPT2LMHeadModel`,
//! `GPT2ForSequenceClassification`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::{DecoderClasses, with_decoder_head};
use super::{Family, gpt};
use crate::error::Result;
use crate::model::config::{DecoderConfig, StackConfig};
use crate::nn::{LayerOptions, Named, NormPlacement, Scaling};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct Gpt2;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["GPT2LMHeadModel", "GPT2Model", "GPT2ForSequenceClassification"],
    pad_token_id: None,
};

impl Family for Gpt2 {
    fn model_type(&self) -> &'static str {
        "gpt2"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("GPT2Tokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        keys.must_be("scale_attn_weights", &json!(true))?;
        let by_layer = keys.flag("scale_attn_by_inverse_layer_idx")?.unwrap_or(false);
        keys.must_be("add_cross_attention", &json!(false))?;
        let activation = keys.optional_named("activation_function")?;
        let activation = activation.unwrap_or(Activation::GeluTanh);
        let mut config = gpt::read(keys, NormPlacement::Pre, activation)?;
        if by_layer {
            config.options.scaling = Scaling::SqrtWidthByLayer;
        }
        config.head = head;
        Ok(config.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let by_layer = c.options.scaling == Scaling::SqrtWidthByLayer;
        let options = LayerOptions { scaling: DecoderConfig::STANDARD.scaling, ..c.options };
        let options = if by_layer { options } else { c.options };
        if c.norm != NormPlacement::Pre || options != DecoderConfig::STANDARD || !gpt::fits(c) {
            return Ok(None);
        }
        let mut value = gpt::write(c);
        value["scale_attn_by_inverse_layer_idx"] = json!(by_layer);
        CLASSES.write(&mut value, c);
        value["activation_function"] = json!(c.activation_function.name());
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        with_decoder_head(gpt::layout(gpt::GPT2), config)
    }
}
