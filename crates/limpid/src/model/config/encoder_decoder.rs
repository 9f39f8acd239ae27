//! The configuration of an encoder-decoder Transformer.

use super::Tie;
use super::check::{check_dropout, check_heads, check_positive, check_size, check_vocabularies};
use crate::error::Result;
use crate::nn::{LayerOptions, LayerVariant, NormPlacement, Positions};
use limpid_tensor::kernels::activation::Activation;

/// An encoder-decoder Transformer.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderDecoderConfig {
    /// v: size of the source vocabulary, and of the target vocabulary if they share one.
    pub vocab_size: usize,
    /// Size of the target vocabulary.
    pub decoder_vocab_size: usize,
    /// c: model width.
    pub d_model: usize,
    /// Number of encoder layers.
    pub encoder_layers: usize,
    /// Number of decoder layers.
    pub decoder_layers: usize,
    /// h in the encoder layers.
    pub encoder_attention_heads: usize,
    /// h in the decoder layers.
    pub decoder_attention_heads: usize,
    /// f in the encoder layers.
    pub encoder_ffn_dim: usize,
    /// f in the decoder layers.
    pub decoder_ffn_dim: usize,
    /// Maximum length of a sequence, in tokens.
    pub max_position_embeddings: usize,
    /// Activation of the feed-forward layers.
    pub activation_function: Activation,
    /// Whether embeddings are multiplied by √c.
    pub scale_embedding: EmbeddingScale,
    /// Where the normalization stands.
    pub norm: NormPlacement,
    /// Whether encoder and decoder share one embedding table.
    pub share_encoder_decoder_embeddings: Tie,
    /// Whether the output projection is the decoder's embedding table.
    pub tie_word_embeddings: Tie,
    /// Dropout on embeddings and on each sub-layer's output.
    pub dropout: f32,
    /// Token that other programs pad short sequences with; batches here are packed.
    pub pad_token_id: u32,
    /// Token that ends a text.
    pub eos_token_id: u32,
    /// First input of the decoder.
    pub decoder_start_token_id: u32,
    /// Options of the layers.
    pub options: LayerOptions,
}

/// Whether embeddings are multiplied by √c before positions are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingScale {
    /// Multiplied by √c, so that positions do not dominate (section 3.4 of the paper).
    SqrtWidth,
    /// Not scaled.
    One,
}

impl EmbeddingScale {
    /// The factor for a model of width c.
    pub fn factor(self, c: usize) -> f32 {
        match self {
            EmbeddingScale::SqrtWidth => (c as f32).sqrt(),
            EmbeddingScale::One => 1.0,
        }
    }
}

impl EncoderDecoderConfig {
    /// The Transformer of Vaswani et al. 2017: sinusoidal positions.
    pub const STANDARD: LayerOptions = LayerOptions::standard(Positions::Sinusoidal);

    /// The sizes given for encoder and decoder alike; ReLU, post-norm, one embedding table for all.
    pub fn new(vocab_size: usize, layers: usize, heads: usize, d_model: usize, ffn: usize) -> Self {
        Self {
            vocab_size,
            decoder_vocab_size: vocab_size,
            d_model,
            encoder_layers: layers,
            decoder_layers: layers,
            encoder_attention_heads: heads,
            decoder_attention_heads: heads,
            encoder_ffn_dim: ffn,
            decoder_ffn_dim: ffn,
            max_position_embeddings: 512,
            activation_function: Activation::Relu,
            scale_embedding: EmbeddingScale::SqrtWidth,
            norm: NormPlacement::Post,
            share_encoder_decoder_embeddings: Tie::Shared,
            tie_word_embeddings: Tie::Shared,
            dropout: 0.0,
            pad_token_id: 0,
            eos_token_id: 1,
            decoder_start_token_id: 0,
            options: Self::STANDARD,
        }
    }

    /// Approximate number of parameters and sinusoidal positions; a float, so that absurd sizes
    /// cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let c = self.d_model as f64;
        let target = if self.tie_word_embeddings == Tie::Shared { 1.0 } else { 2.0 };
        let tables = self.vocab_size as f64
            + target * self.decoder_vocab_size as f64
            + self.max_position_embeddings as f64;
        let encoder =
            self.encoder_layers as f64 * (4.0 * c * c + 2.0 * c * self.encoder_ffn_dim as f64);
        let decoder =
            self.decoder_layers as f64 * (8.0 * c * c + 2.0 * c * self.decoder_ffn_dim as f64);
        c * tables + encoder + decoder
    }

    /// Checks sizes and options.
    /// # Errors
    /// [`crate::error::ModelConfigError`], if no such model can be built.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("decoder_vocab_size", self.decoder_vocab_size),
            ("d_model", self.d_model),
            ("encoder_layers", self.encoder_layers),
            ("decoder_layers", self.decoder_layers),
            ("encoder_ffn_dim", self.encoder_ffn_dim),
            ("decoder_ffn_dim", self.decoder_ffn_dim),
            ("max_position_embeddings", self.max_position_embeddings),
        ])?;
        check_heads(self.encoder_attention_heads, self.d_model, "encoder heads")?;
        check_heads(self.decoder_attention_heads, self.d_model, "decoder heads")?;
        check_size(self.encoder_layers.max(self.decoder_layers), self.parameters_about())?;
        self.options.check(self.max_position_embeddings, self.d_model)?;
        for heads in [self.encoder_attention_heads, self.decoder_attention_heads] {
            LayerVariant::STANDARD.check(heads, self.d_model / heads, self.options.positions)?;
        }
        check_vocabularies(
            self.share_encoder_decoder_embeddings,
            [self.vocab_size, self.decoder_vocab_size],
            [self.pad_token_id, self.eos_token_id, self.decoder_start_token_id],
        )?;
        check_dropout(self.dropout)
    }
}
