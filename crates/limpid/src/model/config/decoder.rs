//! The configuration of a decoder.

use super::Tie;
use super::check::{check_dropout, check_heads, check_positive, check_size};
use crate::error::Result;
use crate::nn::{LayerOptions, NormPlacement, Positions};
use limpid_tensor::kernels::activation::Activation;

/// A decoder-only Transformer.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    /// v: size of the vocabulary.
    pub vocab_size: usize,
    /// Maximum length of a sequence, in tokens.
    pub max_position_embeddings: usize,
    /// c: model width.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// h: number of attention heads.
    pub num_attention_heads: usize,
    /// f: width of the feed-forward layers, usually 4·c.
    pub intermediate_size: usize,
    /// Activation of the feed-forward layers.
    pub activation_function: Activation,
    /// ε of the layer norms.
    pub layer_norm_eps: f32,
    /// Where the normalization stands.
    pub norm: NormPlacement,
    /// Whether the output projection is the embedding table.
    pub tie_word_embeddings: Tie,
    /// Dropout on embeddings and on each sub-layer's output.
    pub dropout: f32,
    /// Options of the layers.
    pub options: LayerOptions,
}

impl DecoderConfig {
    /// The published GPT: learned positions.
    pub const STANDARD: LayerOptions = LayerOptions::standard(Positions::Learned);

    /// GPT-2 of the given sizes: pre-norm, tied embeddings, no dropout.
    pub fn gpt2(
        vocab_size: usize,
        positions: usize,
        layers: usize,
        heads: usize,
        width: usize,
    ) -> Self {
        Self {
            vocab_size,
            max_position_embeddings: positions,
            hidden_size: width,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            intermediate_size: 4 * width,
            activation_function: Activation::GeluTanh,
            layer_norm_eps: 1e-5,
            norm: NormPlacement::Pre,
            tie_word_embeddings: Tie::Shared,
            dropout: 0.0,
            options: Self::STANDARD,
        }
    }

    /// Approximate number of parameters, without biases and norms; a float, so that absurd sizes
    /// cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (c, f, l) =
            (self.hidden_size as f64, self.intermediate_size as f64, self.num_hidden_layers as f64);
        let tables = if self.tie_word_embeddings == Tie::Shared { 1.0 } else { 2.0 }
            * self.vocab_size as f64;
        c * (tables + self.max_position_embeddings as f64) + l * (4.0 * c * c + 2.0 * c * f)
    }

    /// Checks sizes and options.
    /// # Errors
    /// [`crate::error::ModelConfigError`], if no such model can be built.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("n_positions", self.max_position_embeddings),
            ("n_embd", self.hidden_size),
            ("n_layer", self.num_hidden_layers),
            ("n_inner", self.intermediate_size),
        ])?;
        check_heads(self.num_attention_heads, self.hidden_size, "heads")?;
        check_size(self.num_hidden_layers, self.parameters_about())?;
        self.options.check(self.max_position_embeddings, self.hidden_size)?;
        check_dropout(self.dropout)
    }
}
