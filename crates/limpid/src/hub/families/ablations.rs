//! Ablations of the standard Transformer, under a `model_type` of our own, so that no other program
//! takes such a model for a standard one: `limpid-gpt` in the layout of GPT-2, `limpid-seq2seq` in
//! that of Marian.
//!
//! `config.json` has the keys of the family it ablates, and those of [`KEYS`].

use super::super::keys::Keys;
use super::super::layout::{Constant, Layout, Presence};
use super::{Family, gpt, seq2seq};
use crate::error::{ModelError, Result};
use crate::model::Stack;
use crate::model::config::{DecoderConfig, EmbeddingNorm, EncoderDecoderConfig, StackConfig};
use crate::nn::{LayerOptions, LayerVariant, Named, NormPlacement};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

/// The keys of ablations.
const KEYS: [&str; 5] = ["norm_placement", "positions", "normalization", "residual", "scaling"];

/// Those of a decoder's layers.
const LAYER_KEYS: [&str; 2] = ["feed_forward", "kv_heads"];

/// A decoder.
pub(super) struct LimpidGpt;

/// An encoder-decoder.
pub(super) struct LimpidSeq2Seq;

impl Family for LimpidGpt {
    fn model_type(&self) -> &'static str {
        "limpid-gpt"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let (norm, options) = read(keys, DecoderConfig::STANDARD)?;
        let activation = keys.optional_named("activation_function")?;
        let config = gpt::read(keys, norm, activation.unwrap_or(Activation::GeluTanh))?;
        let mut variant = config.variant;
        variant.feed_forward = keys.optional_named("feed_forward")?.unwrap_or(variant.feed_forward);
        variant.attention.kv_heads = keys.optional_size("kv_heads")?;
        Ok(DecoderConfig { options, variant, ..config }.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let mut variant = LayerVariant::STANDARD;
        variant.feed_forward = c.variant.feed_forward;
        variant.attention.kv_heads = c.variant.attention.kv_heads;
        let is_standard =
            c.options == DecoderConfig::STANDARD && c.variant == LayerVariant::STANDARD;
        let standard = DecoderConfig { variant: LayerVariant::STANDARD, ..c.clone() };
        if is_standard || c.variant != variant || !gpt::fits(&standard) || c.labels().is_some() {
            return Ok(None);
        }
        let mut value = gpt::write(c);
        value["activation_function"] = json!(c.activation_function.name());
        write(&mut value, c.norm, c.options);
        value["feed_forward"] = json!(c.variant.feed_forward.name());
        value["kv_heads"] = json!(c.variant.attention.kv_heads);
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        gpt::layout(gpt::GPT2)
    }
}

impl Family for LimpidSeq2Seq {
    fn model_type(&self) -> &'static str {
        "limpid-seq2seq"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let (norm, options) = read(keys, EncoderDecoderConfig::STANDARD)?;
        let config = seq2seq::read(keys, norm, EmbeddingNorm::None)?;
        Ok(EncoderDecoderConfig { options, ..config }.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::EncoderDecoder(c) = config else { return Ok(None) };
        let (norm, options) = (c.norm, c.options);
        let own = EncoderDecoderConfig { norm, options, ..seq2seq::standard(c) };
        if options == EncoderDecoderConfig::STANDARD || *c != own {
            return Ok(None);
        }
        let mut value = seq2seq::write(c);
        write(&mut value, c.norm, c.options);
        Ok(Some(value))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        seq2seq::LAYOUT
    }

    fn constants(&self, stack: &Stack) -> Vec<Constant> {
        seq2seq::positions(stack, Presence::Accepted)
    }
}

/// Refuses keys of ablations, which change the result, in a file of another family.
pub(in crate::hub) fn check_foreign_keys(model_type: &'static str, left: &Keys) -> Result<()> {
    let of_ablations = |key: &&String| KEYS.iter().chain(&LAYER_KEYS).any(|own| own == key);
    let key = left.map.keys().find(of_ablations);
    let Some(key) = key.cloned() else { return Ok(()) };
    let known_to = vec![LimpidGpt.model_type(), LimpidSeq2Seq.model_type()];
    Err(left.error(ModelError::ForeignKey { key, model_type, known_to }))
}

/// Reads the options, with those of the standard Transformer where a key is missing.
fn read(keys: &mut Keys, standard: LayerOptions) -> Result<(NormPlacement, LayerOptions)> {
    let norm = keys.named("norm_placement")?;
    let options = LayerOptions {
        positions: keys.optional_named("positions")?.unwrap_or(standard.positions),
        normalization: keys.optional_named("normalization")?.unwrap_or(standard.normalization),
        residual: keys.optional_named("residual")?.unwrap_or(standard.residual),
        scaling: keys.optional_named("scaling")?.unwrap_or(standard.scaling),
    };
    Ok((norm, options))
}

/// Writes the options.
fn write(config: &mut Value, norm: NormPlacement, options: LayerOptions) {
    let LayerOptions { positions, normalization, residual, scaling } = options;
    let names =
        [norm.name(), positions.name(), normalization.name(), residual.name(), scaling.name()];
    for (key, name) in KEYS.into_iter().zip(names) {
        config[key] = json!(name);
    }
}
