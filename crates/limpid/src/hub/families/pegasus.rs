//! `pegasus`: a pre-norm encoder-decoder with a final norm on both sides
//! (`PegasusForConditionalGeneration`). Its files store the sinusoidal positions; its embeddings
//! are always shared.

use super::super::keys::Keys;
use super::super::layout::{Constant, Layout, Presence};
use super::{Family, seq2seq};
use crate::error::{ModelError, Result};
use crate::model::Stack;
use crate::model::config::{EmbeddingNorm, EncoderDecoderConfig, StackConfig, Tie};
use crate::nn::NormPlacement;
use serde_json::{Value, json};

pub(super) struct Pegasus;

const MODEL_TYPE: &str = "pegasus";

impl Family for Pegasus {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("PegasusTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.check_class(&["PegasusForConditionalGeneration", "PegasusModel"])?;
        seq2seq::token_defaults(keys, [0, 1, 0]);
        seq2seq::read(keys, NormPlacement::Pre, EmbeddingNorm::None).map(StackConfig::from)
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        if *c != (EncoderDecoderConfig { norm: NormPlacement::Pre, ..seq2seq::standard(c) }) {
            return Ok(None);
        }
        if c.share_encoder_decoder_embeddings == Tie::Separate {
            return Err(ModelError::SeparateEmbeddings { model_type: MODEL_TYPE }.into());
        }
        let mut value = seq2seq::write(c);
        value["architectures"] = json!(["PegasusForConditionalGeneration"]);
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        seq2seq::LAYOUT
    }

    fn constants(&self, stack: &Stack) -> Vec<Constant> {
        seq2seq::positions(stack, Presence::Written)
    }
}
