//! `limpid-rnn`: the recurrent encoder-decoder, a format of our own (docs/formats.md), for
//! `transformers` has no such model. Tensors have the names of PyTorch's `nn.RNN`, `nn.GRU` and
//! `nn.LSTM`.

use super::super::keys::Keys;
use super::super::layout::{Layout, Row, Stored};
use super::{Family, seq2seq};
use crate::error::Result;
use crate::model::config::{Directions, RecurrentConfig, StackConfig, Tie};
use crate::nn::Named;
use Stored::Same;
use serde_json::{Value, json};

pub(super) struct LimpidRnn;

const MODULES: &[Row] = &[
    ("shared_embedding", Same("shared")),
    ("encoder.token_embedding", Same("encoder.embed_tokens")),
    ("decoder.token_embedding", Same("decoder.embed_tokens")),
    ("encoder.rnn", Same("encoder.rnn")),
    ("decoder.rnn", Same("decoder.rnn")),
    ("bridge.hidden.*", Same("bridge.hidden.*")),
    ("bridge.memory.*", Same("bridge.memory.*")),
    ("attention.key", Same("attention.key")),
    ("attention.query", Same("attention.query")),
    ("attention.score", Same("attention.score")),
    ("readout", Same("readout")),
    ("output", Same("lm_head")),
];

impl Family for LimpidRnn {
    fn model_type(&self) -> &'static str {
        "limpid-rnn"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let vocab_size = keys.size("vocab_size")?;
        let hidden_size = keys.size("hidden_size")?;
        // Settings of PyTorch's layers that ours do not have.
        keys.must_be("bias", &json!(true))?;
        keys.must_be("proj_size", &json!(0))?;
        keys.must_be("nonlinearity", &json!("tanh"))?;
        let directions = match keys.flag("bidirectional")? {
            Some(true) => Directions::Bidirectional,
            _ => Directions::Forward,
        };
        Ok(StackConfig::Recurrent(RecurrentConfig {
            vocab_size,
            decoder_vocab_size: keys.optional_size("decoder_vocab_size")?.unwrap_or(vocab_size),
            embedding_size: keys.size("embedding_size")?,
            hidden_size,
            num_layers: keys.size("num_layers")?,
            cell: keys.named("cell")?,
            directions,
            attention: keys.named("attention")?,
            attention_size: keys.optional_size("attention_size")?.unwrap_or(hidden_size),
            max_length: keys.optional_size("max_sequence_length")?.unwrap_or(512),
            share_encoder_decoder_embeddings: keys.tie("share_encoder_decoder_embeddings")?,
            tie_word_embeddings: keys.tie("tie_word_embeddings")?,
            dropout: keys.rate("dropout")?.unwrap_or(0.0),
            pad_token_id: keys.size("pad_token_id")? as u32,
            eos_token_id: keys.size("eos_token_id")? as u32,
            decoder_start_token_id: keys.size("decoder_start_token_id")? as u32,
        }))
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Recurrent(c) = config else { return Ok(None) };
        Ok(Some(json!({
            "vocab_size": c.vocab_size,
            "decoder_vocab_size": c.decoder_vocab_size,
            "embedding_size": c.embedding_size,
            "hidden_size": c.hidden_size,
            "num_layers": c.num_layers,
            "cell": c.cell.name(),
            "bidirectional": c.directions == Directions::Bidirectional,
            "attention": c.attention.name(),
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
        })))
    }

    fn layout(&self, _: &StackConfig) -> Layout {
        let (prefix, other_prefixes) = ("", &[][..]);
        Layout { prefix, other_prefixes, base: MODULES, ignored: &[], ..seq2seq::LAYOUT }
    }
}
