//! `limpid-seq2seq`: ablations of an encoder-decoder, in the layout of Marian.

use super::super::keys::Keys;
use super::super::layout::{Constant, Layout, Presence};
use super::{Family, ablations, seq2seq};
use crate::error::Result;
use crate::model::Stack;
use crate::model::config::{EncoderDecoderConfig, StackConfig};
use serde_json::Value;

pub(super) struct LimpidSeq2Seq;

pub(super) const MODEL_TYPE: &str = "limpid-seq2seq";

impl Family for LimpidSeq2Seq {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let (norm, options) = ablations::read(keys, EncoderDecoderConfig::STANDARD)?;
        let config = seq2seq::read(keys, norm)?;
        Ok(EncoderDecoderConfig { options, ..config }.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        if c.options == EncoderDecoderConfig::STANDARD {
            return Ok(None);
        }
        let mut value = seq2seq::write(c);
        ablations::write(&mut value, c.norm, c.options);
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        seq2seq::LAYOUT
    }

    fn constants(&self, stack: &Stack) -> Vec<Constant> {
        seq2seq::positions(stack, Presence::Accepted)
    }
}
