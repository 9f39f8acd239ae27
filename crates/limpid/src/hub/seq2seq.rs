//! `config.json` of the encoder-decoder: Marian (post-norm), Pegasus (pre-norm), and the variants that only we have.

use super::keys::Keys;
use super::variant;
use crate::config::{
    NormPlacement, ScaleEmbedding, Seq2SeqConfig, Tie, activation_from_name, activation_name,
};
use crate::error::{Error, Result};
use serde_json::{Value, json};

pub(super) fn read_variant(keys: &mut Keys) -> Result<Seq2SeqConfig> {
    let norm = variant::placement(keys)?;
    let config = read(keys, norm)?;
    Ok(Seq2SeqConfig { variant: variant::read(keys, config.variant)?, ..config })
}

pub(super) fn read(keys: &mut Keys, norm: NormPlacement) -> Result<Seq2SeqConfig> {
    let vocab_size = keys.size("vocab_size")?;
    keys.must_be("normalize_embedding", &json!(false))?;
    keys.must_be("add_final_layer_norm", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("normalize_before", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("add_bias_logits", &json!(false))?;
    keys.must_be("is_decoder", &json!(false))?;
    keys.must_be("forced_bos_token_id", &Value::Null)?;
    let activation = keys.text("activation_function")?.unwrap_or_else(|| "gelu".into());
    let dropout = keys.share("dropout")?.unwrap_or(0.1);
    keys.share("attention_dropout")?;
    keys.share("activation_dropout")?;
    let scale = match keys.flag("scale_embedding")? {
        Some(true) => ScaleEmbedding::SqrtWidth,
        _ => ScaleEmbedding::One,
    };
    Ok(Seq2SeqConfig {
        vocab_size,
        decoder_vocab_size: keys.optional_size("decoder_vocab_size")?.unwrap_or(vocab_size),
        d_model: keys.size("d_model")?,
        encoder_layers: keys.size("encoder_layers")?,
        decoder_layers: keys.size("decoder_layers")?,
        encoder_attention_heads: keys.size("encoder_attention_heads")?,
        decoder_attention_heads: keys.size("decoder_attention_heads")?,
        encoder_ffn_dim: keys.size("encoder_ffn_dim")?,
        decoder_ffn_dim: keys.size("decoder_ffn_dim")?,
        max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(1024),
        activation_function: activation_from_name(&activation).map_err(|e| e.in_file(keys.path))?,
        scale_embedding: scale,
        norm,
        share_encoder_decoder_embeddings: keys.tie("share_encoder_decoder_embeddings")?,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout,
        pad_token_id: keys.size("pad_token_id")? as u32,
        eos_token_id: keys.size("eos_token_id")? as u32,
        decoder_start_token_id: keys.size("decoder_start_token_id")? as u32,
        variant: Seq2SeqConfig::USUAL,
    })
}

/// `config.json` and `generation_config.json`.
pub(super) fn write(c: &Seq2SeqConfig) -> Result<(Value, Value)> {
    let generation = json!({
        "bad_words_ids": [[c.pad_token_id]],
        "decoder_start_token_id": c.decoder_start_token_id,
        "eos_token_id": c.eos_token_id,
        "pad_token_id": c.pad_token_id,
        "max_length": c.max_position_embeddings,
    });
    Ok((config_json(c)?, generation))
}

fn config_json(c: &Seq2SeqConfig) -> Result<Value> {
    let (family, class) = match c.norm {
        NormPlacement::Post => ("marian", "MarianMTModel"),
        NormPlacement::Pre => ("pegasus", "PegasusForConditionalGeneration"),
    };
    let usual = c.variant == Seq2SeqConfig::USUAL;
    if usual && c.norm == NormPlacement::Pre && c.share_encoder_decoder_embeddings == Tie::Separate {
        return Err(Error::config(
            "no file format of this family holds a pre-norm model with separate embeddings",
        )
        .hint("share the embeddings, or use post-norm"));
    }
    let mut value = json!({
        "model_type": family,
        "architectures": [class],
        "vocab_size": c.vocab_size,
        "decoder_vocab_size": c.decoder_vocab_size,
        "d_model": c.d_model,
        "encoder_layers": c.encoder_layers,
        "decoder_layers": c.decoder_layers,
        "num_hidden_layers": c.encoder_layers,
        "encoder_attention_heads": c.encoder_attention_heads,
        "decoder_attention_heads": c.decoder_attention_heads,
        "encoder_ffn_dim": c.encoder_ffn_dim,
        "decoder_ffn_dim": c.decoder_ffn_dim,
        "max_position_embeddings": c.max_position_embeddings,
        "activation_function": activation_name(c.activation_function),
        "scale_embedding": c.scale_embedding == ScaleEmbedding::SqrtWidth,
        "share_encoder_decoder_embeddings": c.share_encoder_decoder_embeddings == Tie::Shared,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "dropout": c.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "is_encoder_decoder": true,
        "pad_token_id": c.pad_token_id,
        "eos_token_id": c.eos_token_id,
        "decoder_start_token_id": c.decoder_start_token_id,
        "forced_eos_token_id": null,
        "bos_token_id": null,
        "torch_dtype": "float32",
    });
    if !usual {
        variant::mark(&mut value, variant::SEQ2SEQ, c.norm, c.variant);
    }
    Ok(value)
}
