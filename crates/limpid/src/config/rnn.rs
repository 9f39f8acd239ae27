//! The recurrent encoder-decoder: what came before the Transformer.

use super::{Tie, check_dropout, check_positive, check_size, check_special, check_tables};
use crate::error::{Error, Result};
pub use limpid_tensor::kernels::recurrent::Cell;

/// Which way the encoder reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// From the first token to the last.
    Forward,
    /// Both ways, each with weights of its own; a token's state is the two side by side.
    Both,
}

/// What the decoder sees of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RnnAttention {
    /// The encoder's last state, as its own first one, and nothing else (Sutskever et al. 2014).
    None,
    /// That, and at each step a look back by dot products with its state (Luong et al. 2015).
    Dot,
    /// That, and before each step a look back by a small network (Bahdanau et al. 2015).
    Additive,
}

/// The most layers on a side: their states have a fixed place, so that a step of training allocates nothing.
pub const MOST_RNN_LAYERS: usize = 8;

/// A recurrent encoder-decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct RnnConfig {
    /// v of the source, and of the target if they share.
    pub vocab_size: usize,
    /// v of the target, where it has a vocabulary of its own.
    pub decoder_vocab_size: usize,
    /// e: width of the embeddings, and of what the output layer reads.
    pub embedding_size: usize,
    /// h: width of a state; of each direction in an encoder that reads both ways.
    pub hidden_size: usize,
    /// Layers of the encoder and of the decoder.
    pub num_layers: usize,
    /// What happens in a step.
    pub cell: Cell,
    /// Which way the encoder reads.
    pub directions: Directions,
    /// What the decoder sees of the source.
    pub attention: RnnAttention,
    /// k: width of the scores' network, for additive attention.
    pub attention_size: usize,
    /// The longest sequence it is asked to read or write: not a limit of the model, which has no positions.
    pub max_length: usize,
    /// Whether encoder and decoder have one embedding table.
    pub share_encoder_decoder_embeddings: Tie,
    /// Whether the output layer is the decoder's embedding table.
    pub tie_word_embeddings: Tie,
    /// Dropout on embeddings, between layers, and on what the output layer reads.
    pub dropout: f32,
    /// Fills short sequences in other programs; ours needs none.
    pub pad_token_id: u32,
    /// Ends a sentence.
    pub eos_token_id: u32,
    /// What the decoder is given first.
    pub decoder_start_token_id: u32,
}

impl RnnConfig {
    /// One vocabulary and one table for both sides; the encoder reads forward.
    pub fn new(vocab_size: usize, cell: Cell, attention: RnnAttention, layers: usize, width: usize) -> Self {
        Self {
            vocab_size,
            decoder_vocab_size: vocab_size,
            embedding_size: width,
            hidden_size: width,
            num_layers: layers,
            cell,
            directions: Directions::Forward,
            attention,
            attention_size: width,
            max_length: 512,
            share_encoder_decoder_embeddings: Tie::Shared,
            tie_word_embeddings: Tie::Shared,
            dropout: 0.0,
            pad_token_id: 0,
            eos_token_id: 1,
            decoder_start_token_id: 0,
        }
    }

    /// m: width of a source token's state.
    pub fn source_width(&self) -> usize {
        match self.directions {
            Directions::Forward => self.hidden_size,
            Directions::Both => 2 * self.hidden_size,
        }
    }

    /// Width of the context that a step looks up: m, or 0 without attention.
    pub fn context_width(&self) -> usize {
        if self.attention == RnnAttention::None { 0 } else { self.source_width() }
    }

    /// About how many parameters that makes, in a number that cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (e, h, m) = (self.embedding_size as f64, self.hidden_size as f64, self.source_width() as f64);
        let gates = self.cell.gates() as f64 * h;
        let tables = e * (self.vocab_size as f64 + 2.0 * self.decoder_vocab_size as f64);
        let ways = m / h.max(1.0);
        let layers = self.num_layers as f64;
        let encoder = ways * gates * (e + h + (layers - 1.0) * (m + h));
        let decoder = gates * (e + m + h + (layers - 1.0) * 2.0 * h);
        let attention = self.attention_size as f64 * (h + m) + h * m;
        tables + encoder + decoder + attention + e * (h + m + e)
    }

    /// Refuses what cannot work.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("decoder_vocab_size", self.decoder_vocab_size),
            ("embedding_size", self.embedding_size),
            ("hidden_size", self.hidden_size),
            ("num_layers", self.num_layers),
            ("attention_size", self.attention_size),
            ("max_length", self.max_length),
        ])?;
        if self.num_layers > MOST_RNN_LAYERS {
            return Err(Error::config(format!(
                "{} recurrent layers are more than {MOST_RNN_LAYERS}",
                self.num_layers
            ))
            .hint("use fewer layers; two are usual"));
        }
        check_size(self.num_layers, self.parameters_about())?;
        check_tables(self.share_encoder_decoder_embeddings, self.vocab_size, self.decoder_vocab_size)?;
        check_special(
            [self.pad_token_id, self.eos_token_id, self.decoder_start_token_id],
            self.decoder_vocab_size,
        )?;
        check_dropout(self.dropout)
    }
}

/// Reads a cell's name.
pub fn cell_from_name(name: &str) -> Result<Cell> {
    match name {
        "tanh" => Ok(Cell::Tanh),
        "gru" => Ok(Cell::Gru),
        "lstm" => Ok(Cell::Lstm),
        other => Err(Error::config(format!("cell '{other}' is not known")).hint("known are tanh, gru, lstm")),
    }
}

/// Writes a cell's name.
pub fn cell_name(cell: Cell) -> &'static str {
    match cell {
        Cell::Tanh => "tanh",
        Cell::Gru => "gru",
        Cell::Lstm => "lstm",
    }
}

/// Reads the name of an attention.
pub fn rnn_attention_from_name(name: &str) -> Result<RnnAttention> {
    match name {
        "none" => Ok(RnnAttention::None),
        "dot" => Ok(RnnAttention::Dot),
        "additive" => Ok(RnnAttention::Additive),
        other => {
            Err(Error::config(format!("attention '{other}' is not known"))
                .hint("known are none, dot, additive"))
        }
    }
}

/// Writes the name of an attention.
pub fn rnn_attention_name(attention: RnnAttention) -> &'static str {
    match attention {
        RnnAttention::None => "none",
        RnnAttention::Dot => "dot",
        RnnAttention::Additive => "additive",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_refused_and_every_name_reads_back() {
        let config = RnnConfig::new(50, Cell::Gru, RnnAttention::Additive, 1, 8);
        assert!(config.validate().is_ok());
        assert!(RnnConfig { num_layers: 0, ..config.clone() }.validate().is_err());
        assert!(RnnConfig { num_layers: 9, ..config.clone() }.validate().is_err());
        assert!(RnnConfig { eos_token_id: 50, ..config.clone() }.validate().is_err());
        assert!(RnnConfig { decoder_vocab_size: 60, ..config.clone() }.validate().is_err());
        assert!(RnnConfig { hidden_size: 1 << 30, ..config }.validate().is_err());
        for cell in [Cell::Tanh, Cell::Gru, Cell::Lstm] {
            assert_eq!(cell_from_name(cell_name(cell)).unwrap(), cell);
        }
        for attention in [RnnAttention::None, RnnAttention::Dot, RnnAttention::Additive] {
            assert_eq!(rnn_attention_from_name(rnn_attention_name(attention)).unwrap(), attention);
        }
        assert!(cell_from_name("relu").is_err() && rnn_attention_from_name("mlp").is_err());
    }
}
