//! `bart`: a post-norm encoder-decoder with learned positions, and a norm on the embeddings of each
//! side (`BartForConditionalGeneration`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::{Family, bart_like, seq2seq};
use crate::error::Result;
use crate::model::config::{EmbeddingNorm, StackConfig};
use crate::nn::NormPlacement;
use serde_json::Value;

pub(super) struct Bart;

const MODEL_TYPE: &str = "bart";

impl Family for Bart {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("RobertaTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.check_class(&["BartForConditionalGeneration", "BartModel"])?;
        seq2seq::token_defaults(keys, [1, 2, 2]);
        let config = bart_like::read(keys, NormPlacement::Post, EmbeddingNorm::Layer)?;
        Ok(bart_like::with_learned_positions(&config, NormPlacement::Post).into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        if *c != bart_like::with_learned_positions(c, NormPlacement::Post) {
            return Ok(None);
        }
        bart_like::write(c, MODEL_TYPE, "BartForConditionalGeneration").map(Some)
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        seq2seq::LAYOUT
    }
}
