//! `mbart`: BART with the norms before the sub-layers and a final norm on both sides
//! (`MBartForConditionalGeneration`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::{Family, bart_like, seq2seq};
use crate::error::Result;
use crate::model::config::{EmbeddingNorm, StackConfig};
use crate::nn::NormPlacement;
use serde_json::{Value, json};

pub(super) struct MBart;

const MODEL_TYPE: &str = "mbart";

impl Family for MBart {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("MBartTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.check_class(&["MBartForConditionalGeneration", "MBartModel"])?;
        // Where texts begin is the language's code, which a file must say.
        keys.defaults(&[("pad_token_id", json!(1)), ("eos_token_id", json!(2))]);
        let config = bart_like::read(keys, NormPlacement::Pre, EmbeddingNorm::Layer)?;
        Ok(bart_like::with_learned_positions(&config, NormPlacement::Pre).into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        if *c != bart_like::with_learned_positions(c, NormPlacement::Pre) {
            return Ok(None);
        }
        bart_like::write(c, MODEL_TYPE, "MBartForConditionalGeneration").map(Some)
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        seq2seq::LAYOUT
    }
}
