//! `config.json` of a recurrent encoder-decoder: a format of our own (`model_type` is `limpid-rnn`, docs/formats.md), for `transformers`
//! has none. The weights have the names of PyTorch's `nn.RNN`, `nn.GRU` and `nn.LSTM`.

use super::keys::Keys;
use crate::config::{
    Directions, RnnConfig, Tie, cell_from_name, cell_name, rnn_attention_from_name, rnn_attention_name,
};
use crate::error::{Error, Result};
use serde_json::{Value, json};

/// What stands under `model_type`.
pub(super) const FAMILY: &str = "limpid-rnn";

/// Reads it.
pub(super) fn read(keys: &mut Keys) -> Result<RnnConfig> {
    let vocab_size = keys.size("vocab_size")?;
    let hidden_size = keys.size("hidden_size")?;
    // PyTorch's layers have these, too; ours do not.
    keys.must_be("bias", &json!(true))?;
    keys.must_be("proj_size", &json!(0))?;
    keys.must_be("nonlinearity", &json!("tanh"))?;
    let cell = cell_from_name(&name(keys, "cell")?).map_err(|e| e.in_file(keys.path))?;
    let attention = rnn_attention_from_name(&name(keys, "attention")?).map_err(|e| e.in_file(keys.path))?;
    let directions = match keys.flag("bidirectional")? {
        Some(true) => Directions::Both,
        _ => Directions::Forward,
    };
    Ok(RnnConfig {
        vocab_size,
        decoder_vocab_size: keys.optional_size("decoder_vocab_size")?.unwrap_or(vocab_size),
        embedding_size: keys.size("embedding_size")?,
        hidden_size,
        num_layers: keys.size("num_layers")?,
        cell,
        directions,
        attention,
        attention_size: keys.optional_size("attention_size")?.unwrap_or(hidden_size),
        max_length: keys.optional_size("max_sequence_length")?.unwrap_or(512),
        share_encoder_decoder_embeddings: keys.tie("share_encoder_decoder_embeddings")?,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout: keys.share("dropout")?.unwrap_or(0.0),
        pad_token_id: keys.size("pad_token_id")? as u32,
        eos_token_id: keys.size("eos_token_id")? as u32,
        decoder_start_token_id: keys.size("decoder_start_token_id")? as u32,
    })
}

fn name(keys: &mut Keys, key: &str) -> Result<String> {
    keys.text(key)?.ok_or_else(|| {
        Error::format(keys.path, format!("{key} is missing"))
            .hint("docs/formats.md lists the keys of this family")
    })
}

/// `config.json` and `generation_config.json`.
pub(super) fn write(c: &RnnConfig) -> (Value, Value) {
    let config = json!({
        "model_type": FAMILY,
        "vocab_size": c.vocab_size,
        "decoder_vocab_size": c.decoder_vocab_size,
        "embedding_size": c.embedding_size,
        "hidden_size": c.hidden_size,
        "num_layers": c.num_layers,
        "cell": cell_name(c.cell),
        "bidirectional": c.directions == Directions::Both,
        "attention": rnn_attention_name(c.attention),
        "attention_size": c.attention_size,
        "max_sequence_length": c.max_length,
        "share_encoder_decoder_embeddings": c.share_encoder_decoder_embeddings == Tie::Shared,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "dropout": c.dropout,
        "is_encoder_decoder": true,
        "pad_token_id": c.pad_token_id,
        "eos_token_id": c.eos_token_id,
        "decoder_start_token_id": c.decoder_start_token_id,
        "torch_dtype": "float32",
    });
    let generation = json!({
        "bad_words_ids": [[c.pad_token_id]],
        "decoder_start_token_id": c.decoder_start_token_id,
        "eos_token_id": c.eos_token_id,
        "pad_token_id": c.pad_token_id,
        "max_length": c.max_length,
    });
    (config, generation)
}
