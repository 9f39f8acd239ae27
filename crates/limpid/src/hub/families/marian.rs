//! `marian`: a post-norm encoder-decoder with sinusoidal positions (`MarianMTModel`).

use super::super::keys::Keys;
use super::super::layout::{Constant, Layout, Presence};
use super::{Family, seq2seq};
use crate::error::Result;
use crate::model::Stack;
use crate::model::config::{EmbeddingNorm, EncoderDecoderConfig, StackConfig};
use crate::nn::NormPlacement;
use serde_json::{Value, json};

pub(super) struct Marian;

impl Family for Marian {
    fn model_type(&self) -> &'static str {
        "marian"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("MarianTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.check_class(&["MarianMTModel", "MarianModel"])?;
        seq2seq::token_defaults(keys, [58_100, 0, 58_100]);
        seq2seq::read(keys, NormPlacement::Post, EmbeddingNorm::None).map(StackConfig::from)
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        if *c != (EncoderDecoderConfig { norm: NormPlacement::Post, ..seq2seq::standard(c) }) {
            return Ok(None);
        }
        let mut value = seq2seq::write(c);
        value["architectures"] = json!(["MarianMTModel"]);
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        seq2seq::LAYOUT
    }

    fn constants(&self, stack: &Stack) -> Vec<Constant> {
        seq2seq::positions(stack, Presence::Accepted)
    }
}
