//! The configuration of an encoder-decoder Transformer.

use super::Tie;
use super::check::{check_dropout, check_heads, check_positive, check_size, check_vocabularies};
use crate::error::Result;
use crate::nn::{Bias, FeedForwardKind, LayerOptions, LayerVariant, NormPlacement, Positions};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::positions::SinusoidLayout;

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
    /// Maximum length of a sequence, in tokens. Position tables have `position_offset` rows more.
    pub max_position_embeddings: usize,
    /// The row of the position table that the first token has.
    pub position_offset: usize,
    /// Whether encoder and decoder share one table of learned positions.
    pub share_positions: Tie,
    /// Columns and wavelengths of sinusoidal positions.
    pub sinusoids: SinusoidLayout,
    /// Activation of the feed-forward layers.
    pub activation_function: Activation,
    /// Whether embeddings are multiplied by √c.
    pub scale_embedding: EmbeddingScale,
    /// Whether embeddings are normalized.
    pub embedding_norm: EmbeddingNorm,
    /// Where the normalization stands.
    pub norm: NormPlacement,
    /// ε of the norms.
    pub layer_norm_eps: f32,
    /// Whether encoder and decoder share one embedding table.
    pub share_encoder_decoder_embeddings: Tie,
    /// Whether the output projection is the decoder's embedding table.
    pub tie_word_embeddings: Tie,
    /// Whether the decoder's output is scaled before the output projection.
    pub output_scale: OutputScale,
    /// Whether a fixed bias is added to the logits.
    pub logits_bias: Bias,
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
    /// Attention and feed-forward networks of the layers.
    pub variant: LayerVariant,
}

/// Whether embeddings are multiplied by √c before positions are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingScale {
    /// Multiplied by √c, so that positions do not dominate (section 3.4 of the paper).
    SqrtWidth,
    /// Not scaled.
    One,
}

/// Whether the sum of token and position embeddings is normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingNorm {
    /// It is not.
    None,
    /// By a layer norm of each side, as in BART.
    Layer,
}

/// What the decoder's output is multiplied by before the output projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputScale {
    /// 1.
    One,
    /// 1/√c, as in T5 with tied embeddings.
    InverseSqrtWidth,
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

    /// ε of PyTorch's layer norms, which most checkpoints use.
    pub const EPS: f32 = 1e-5;

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
            position_offset: 0,
            share_positions: Tie::Shared,
            sinusoids: SinusoidLayout::Split,
            activation_function: Activation::Relu,
            scale_embedding: EmbeddingScale::SqrtWidth,
            embedding_norm: EmbeddingNorm::None,
            norm: NormPlacement::Post,
            layer_norm_eps: Self::EPS,
            share_encoder_decoder_embeddings: Tie::Shared,
            tie_word_embeddings: Tie::Shared,
            output_scale: OutputScale::One,
            logits_bias: Bias::Added,
            dropout: 0.0,
            pad_token_id: 0,
            eos_token_id: 1,
            decoder_start_token_id: 0,
            options: Self::STANDARD,
            variant: LayerVariant::STANDARD,
        }
    }

    /// d: width of the heads of the encoder, and of the decoder.
    pub fn head_dims(&self) -> [usize; 2] {
        [self.encoder_attention_heads, self.decoder_attention_heads]
            .map(|heads| self.variant.attention.head_dim.unwrap_or(self.d_model / heads.max(1)))
    }

    /// Rows of a position table.
    pub fn position_rows(&self) -> usize {
        self.position_offset + self.max_position_embeddings
    }

    /// Approximate number of parameters and sinusoidal positions; a float, so that absurd sizes
    /// cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let c = self.d_model as f64;
        let positions = match (self.options.positions, self.share_positions) {
            (Positions::Rotary | Positions::Relative | Positions::None, _) => 0.0,
            (_, Tie::Shared) => self.position_rows() as f64,
            (_, Tie::Separate) => 2.0 * self.position_rows() as f64,
        };
        let target = if self.tie_word_embeddings == Tie::Shared { 1.0 } else { 2.0 };
        let tables = self.vocab_size as f64 + target * self.decoder_vocab_size as f64 + positions;
        let matrices = match self.variant.feed_forward {
            FeedForwardKind::Plain => 2.0,
            FeedForwardKind::Gated => 3.0,
        };
        let [encoder, decoder] = self.head_dims();
        let encoder = 4.0 * (self.encoder_attention_heads as f64 * encoder as f64)
            + matrices * self.encoder_ffn_dim as f64;
        let decoder = 8.0 * (self.decoder_attention_heads as f64 * decoder as f64)
            + matrices * self.decoder_ffn_dim as f64;
        let layers = self.encoder_layers as f64 * encoder + self.decoder_layers as f64 * decoder;
        c * (tables + layers)
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
        let heads = [self.encoder_attention_heads, self.decoder_attention_heads];
        match self.variant.attention.head_dim {
            None => {
                check_heads(heads[0], self.d_model, "encoder heads")?;
                check_heads(heads[1], self.d_model, "decoder heads")?;
            }
            Some(head_dim) => check_positive(&[
                ("head_dim", head_dim),
                ("encoder heads", heads[0]),
                ("decoder heads", heads[1]),
            ])?,
        }
        check_size(self.encoder_layers.max(self.decoder_layers), self.parameters_about())?;
        self.options.check(self.position_rows(), self.d_model)?;
        for (heads, head_dim) in heads.into_iter().zip(self.head_dims()) {
            self.variant.check(heads, head_dim, self.options.positions)?;
        }
        check_vocabularies(
            self.share_encoder_decoder_embeddings,
            [self.vocab_size, self.decoder_vocab_size],
            [self.pad_token_id, self.eos_token_id, self.decoder_start_token_id],
        )?;
        check_dropout(self.dropout)
    }
}
