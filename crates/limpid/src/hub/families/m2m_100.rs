//! `m2m_100`: a pre-norm encoder-decoder with sinusoidal positions that begin behind the padding
//! token, and a final norm on both sides (`M2M100ForConditionalGeneration`; also NLLB).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::{Family, bart_like, seq2seq};
use crate::error::Result;
use crate::model::config::{EmbeddingNorm, EncoderDecoderConfig, StackConfig};
use crate::nn::{Bias, NormPlacement};
use limpid_tensor::kernels::positions::SinusoidLayout;
use serde_json::{Value, json};

pub(super) struct M2m100;

const MODEL_TYPE: &str = "m2m_100";

/// The same sizes with everything else as in M2M100.
fn form(c: &EncoderDecoderConfig) -> EncoderDecoderConfig {
    EncoderDecoderConfig {
        norm: NormPlacement::Pre,
        sinusoids: SinusoidLayout::Tensor2Tensor,
        position_offset: c.pad_token_id as usize + 1,
        logits_bias: Bias::None,
        ..seq2seq::standard(c)
    }
}

impl Family for M2m100 {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("M2M100Tokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.check_class(&["M2M100ForConditionalGeneration", "M2M100Model"])?;
        keys.defaults(&[("scale_embedding", json!(true)), ("activation_function", json!("relu"))]);
        seq2seq::token_defaults(keys, [1, 2, 2]);
        let config = bart_like::read(keys, NormPlacement::Pre, EmbeddingNorm::None)?;
        // `transformers` gives padding tokens no position, also where the decoder starts with one.
        if config.decoder_start_token_id == config.pad_token_id {
            let found = json!(config.decoder_start_token_id);
            return Err(keys.wrong("decoder_start_token_id", &found, "another than pad_token_id"));
        }
        // Its wavelengths are a geometric series of at least two.
        if config.d_model < 4 {
            return Err(keys.wrong("d_model", &json!(config.d_model), "at least 4"));
        }
        Ok(form(&config).into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        if *c != form(c) || c.decoder_start_token_id == c.pad_token_id || c.d_model < 4 {
            return Ok(None);
        }
        bart_like::write(c, MODEL_TYPE, "M2M100ForConditionalGeneration").map(Some)
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        // Old files hold the positions, which other programs compute anew as well.
        Layout { ignored: &["shared.weight", "embed_positions.weights"], ..seq2seq::LAYOUT }
    }
}
