//! What bart, mbart and m2m_100 share: one embedding table in all roles.

use super::super::keys::Keys;
use super::seq2seq;
use crate::error::{ModelError, Result};
use crate::model::config::{EmbeddingNorm, EncoderDecoderConfig, Tie};
use crate::nn::{LayerOptions, NormPlacement, Positions};
use serde_json::{Value, json};

/// The keys that all have. A file with several embedding tables is refused.
pub(super) fn read(
    keys: &mut Keys,
    norm: NormPlacement,
    embedding_norm: EmbeddingNorm,
) -> Result<EncoderDecoderConfig> {
    keys.must_be("tie_word_embeddings", &json!(true))?;
    keys.must_be("share_encoder_decoder_embeddings", &json!(true))?;
    seq2seq::read(keys, norm, embedding_norm)
}

/// The same sizes with the positions and norms of BART, which has the norms of layers at `norm`:
/// learned positions of each side from row 2 on, and a norm on embeddings.
pub(super) fn with_learned_positions(
    c: &EncoderDecoderConfig,
    norm: NormPlacement,
) -> EncoderDecoderConfig {
    EncoderDecoderConfig {
        norm,
        embedding_norm: EmbeddingNorm::Layer,
        options: LayerOptions::standard(Positions::Learned),
        share_positions: Tie::Separate,
        position_offset: 2,
        ..seq2seq::standard(c)
    }
}

/// The keys of a `config.json` for this class.
/// # Errors
/// If embeddings are not shared.
pub(super) fn write(
    c: &EncoderDecoderConfig,
    model_type: &'static str,
    class: &str,
) -> Result<Value> {
    let shared = [c.share_encoder_decoder_embeddings, c.tie_word_embeddings];
    if shared.contains(&Tie::Separate) {
        return Err(ModelError::SeparateEmbeddings { model_type }.into());
    }
    let mut value = seq2seq::write(c);
    if let Value::Object(map) = &mut value {
        map.remove("decoder_vocab_size");
        map.remove("share_encoder_decoder_embeddings");
    }
    value["architectures"] = json!([class]);
    Ok(value)
}
