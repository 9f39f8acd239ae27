//! The configuration of a recurrent encoder-decoder.

use super::Tie;
use super::check::{check_dropout, check_layers, check_positive, check_size, check_vocabularies};
use crate::error::Result;
use crate::nn::{Named, named};
pub use limpid_tensor::kernels::recurrent::Cell;

/// In which directions the encoder reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directions {
    /// From the first token to the last.
    Forward,
    /// Both, each with its own weights; a token's state is the two concatenated.
    Bidirectional,
}

/// Attention of the decoder to the encoder's states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecurrentAttention {
    /// None: the encoder's last state is the decoder's initial state (Sutskever et al. 2014).
    None,
    /// Dot products of the decoder's state with the encoder's (Luong et al. 2015).
    Dot,
    /// Scores from a feed-forward network, before each step (Bahdanau et al. 2015).
    Additive,
}

named!(RecurrentAttention, "attention", "none" => None, "dot" => Dot, "additive" => Additive);

/// Under PyTorch's names, lowercase.
impl Named for Cell {
    const OPTION: &'static str = "cell";
    const NAMES: &'static [(&'static str, Self)] =
        &[("tanh", Cell::Tanh), ("gru", Cell::Gru), ("lstm", Cell::Lstm)];
}

/// Maximum number of layers per side: states live in an array of this length, so that a training
/// step allocates nothing.
pub const MAX_RECURRENT_LAYERS: usize = 8;

/// A recurrent encoder-decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct RecurrentConfig {
    /// v: size of the source vocabulary, and of the target vocabulary if they share one.
    pub vocab_size: usize,
    /// Size of the target vocabulary.
    pub decoder_vocab_size: usize,
    /// e: width of the embeddings, and of the input of the output projection.
    pub embedding_size: usize,
    /// h: width of a state, for each direction.
    pub hidden_size: usize,
    /// Number of layers of the encoder, and of the decoder.
    pub num_layers: usize,
    /// The recurrent cell.
    pub cell: Cell,
    /// In which directions the encoder reads.
    pub directions: Directions,
    /// Attention to the encoder's states.
    pub attention: RecurrentAttention,
    /// k: width of the network of additive attention.
    pub attention_size: usize,
    /// Maximum length of a sequence, in tokens: a setting, not a limit of the model, which has no
    /// positions.
    pub max_length: usize,
    /// Whether encoder and decoder share one embedding table.
    pub share_encoder_decoder_embeddings: Tie,
    /// Whether the output projection is the decoder's embedding table.
    pub tie_word_embeddings: Tie,
    /// Dropout on embeddings, between layers, and on the input of the output projection.
    pub dropout: f32,
    /// Token that other programs pad short sequences with; batches here are packed.
    pub pad_token_id: u32,
    /// Token that ends a text.
    pub eos_token_id: u32,
    /// First input of the decoder.
    pub decoder_start_token_id: u32,
}

impl RecurrentConfig {
    /// One vocabulary and one embedding table for both sides; a forward encoder.
    pub fn new(
        vocab_size: usize,
        cell: Cell,
        attention: RecurrentAttention,
        layers: usize,
        width: usize,
    ) -> Self {
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

    /// m: width of the encoder's state for one token.
    pub fn source_width(&self) -> usize {
        match self.directions {
            Directions::Forward => self.hidden_size,
            Directions::Bidirectional => 2 * self.hidden_size,
        }
    }

    /// Width of the attention context: m, or 0 without attention.
    pub fn context_width(&self) -> usize {
        if self.attention == RecurrentAttention::None { 0 } else { self.source_width() }
    }

    /// Approximate number of parameters; a float, so that absurd sizes cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (e, h, m) =
            (self.embedding_size as f64, self.hidden_size as f64, self.source_width() as f64);
        let gates = self.cell.gates() as f64 * h;
        let tables = e * (self.vocab_size as f64 + 2.0 * self.decoder_vocab_size as f64);
        let ways = m / h.max(1.0);
        let layers = self.num_layers as f64;
        let encoder = ways * gates * (e + h + (layers - 1.0) * (m + h));
        let decoder = gates * (e + m + h + (layers - 1.0) * 2.0 * h);
        let attention = self.attention_size as f64 * (h + m) + h * m;
        tables + encoder + decoder + attention + e * (h + m + e)
    }

    /// Checks sizes and options.
    /// # Errors
    /// [`crate::error::ModelConfigError`], if no such model can be built.
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
        check_layers(self.num_layers, MAX_RECURRENT_LAYERS)?;
        check_size(self.num_layers, self.parameters_about())?;
        check_vocabularies(
            self.share_encoder_decoder_embeddings,
            [self.vocab_size, self.decoder_vocab_size],
            [self.pad_token_id, self.eos_token_id, self.decoder_start_token_id],
        )?;
        check_dropout(self.dropout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_and_every_name_reads_back() {
        let config = RecurrentConfig::new(50, Cell::Gru, RecurrentAttention::Additive, 1, 8);
        assert!(config.validate().is_ok());
        assert!(RecurrentConfig { num_layers: 0, ..config.clone() }.validate().is_err());
        assert!(RecurrentConfig { num_layers: 9, ..config.clone() }.validate().is_err());
        assert!(RecurrentConfig { eos_token_id: 50, ..config.clone() }.validate().is_err());
        assert!(RecurrentConfig { decoder_vocab_size: 60, ..config.clone() }.validate().is_err());
        assert!(RecurrentConfig { hidden_size: 1 << 30, ..config }.validate().is_err());
        for cell in [Cell::Tanh, Cell::Gru, Cell::Lstm] {
            assert_eq!(Cell::from_name(cell.name()).unwrap(), cell);
        }
        for attention in
            [RecurrentAttention::None, RecurrentAttention::Dot, RecurrentAttention::Additive]
        {
            assert_eq!(RecurrentAttention::from_name(attention.name()).unwrap(), attention);
        }
        assert!(Cell::from_name("relu").is_err() && RecurrentAttention::from_name("mlp").is_err());
    }
}
