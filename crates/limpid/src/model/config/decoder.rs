//! The configuration of a decoder.

use super::check::{check_dropout, check_heads, check_positive, check_size};
use super::{DecoderHead, EmbeddingScale, Labels, Tie};
use crate::error::Result;
use crate::nn::{
    AttentionOptions, Bias, Block, FeedForwardKind, FirstNorm, LayerOptions, LayerVariant,
    NormPlacement, Normalization, Positions,
};
use limpid_tensor::kernels::activation::Activation;

/// A decoder-only Transformer.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderConfig {
    /// v: size of the vocabulary.
    pub vocab_size: usize,
    /// Maximum length of a sequence, in tokens. A position table has `position_offset` rows more.
    pub max_position_embeddings: usize,
    /// The row of the position table of the first token.
    pub position_offset: usize,
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
    /// Whether embeddings are multiplied by √c.
    pub scale_embedding: EmbeddingScale,
    /// Whether the output projection has a bias.
    pub output_bias: Bias,
    /// Options of the layers.
    pub options: LayerOptions,
    /// Attention and feed-forward network of the layers, as in GPT-2 or as in later decoders.
    pub variant: LayerVariant,
    /// The head.
    pub head: DecoderHead,
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
            position_offset: 0,
            hidden_size: width,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            intermediate_size: 4 * width,
            activation_function: Activation::GeluTanh,
            layer_norm_eps: 1e-5,
            norm: NormPlacement::Pre,
            tie_word_embeddings: Tie::Shared,
            dropout: 0.0,
            scale_embedding: EmbeddingScale::One,
            output_bias: Bias::None,
            options: Self::STANDARD,
            variant: LayerVariant::STANDARD,
            head: DecoderHead::LanguageModel,
        }
    }

    /// A decoder as Llama's, of the given sizes: RMS norm, rotary positions, a gated feed-forward
    /// network, no biases; query heads share `kv_heads` heads of keys and values.
    pub fn llama(
        vocab_size: usize,
        max_position_embeddings: usize,
        num_hidden_layers: usize,
        [num_attention_heads, kv_heads]: [usize; 2],
        [hidden_size, intermediate_size]: [usize; 2],
    ) -> Self {
        let attention = AttentionOptions {
            kv_heads: Some(kv_heads),
            qkv_bias: Bias::None,
            out_bias: Bias::None,
            ..AttentionOptions::STANDARD
        };
        let variant = LayerVariant {
            attention,
            feed_forward: FeedForwardKind::Gated,
            ffn_bias: Bias::None,
            block: Block::Sequential,
            first_norm: FirstNorm::Own,
        };
        let options = LayerOptions {
            normalization: Normalization::Rms,
            ..LayerOptions::standard(Positions::Rotary)
        };
        let sizes = (vocab_size, max_position_embeddings, num_hidden_layers);
        Self {
            intermediate_size,
            activation_function: Activation::Silu,
            tie_word_embeddings: Tie::Separate,
            options,
            variant,
            ..Self::gpt2(sizes.0, sizes.1, sizes.2, num_attention_heads, hidden_size)
        }
    }

    /// Approximate number of parameters, without biases and norms; a float, so that absurd sizes
    /// cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (c, f, l) =
            (self.hidden_size as f64, self.intermediate_size as f64, self.num_hidden_layers as f64);
        let has_output = self.tie_word_embeddings == Tie::Separate && self.labels().is_none();
        let tables = if has_output { 2.0 } else { 1.0 } * self.vocab_size as f64;
        let positions = match self.options.positions {
            Positions::Learned => self.position_rows() as f64,
            _ => 0.0,
        };
        let (heads, d) = (self.num_attention_heads as f64, self.head_dim() as f64);
        let attention = 2.0 * c * d * (heads + self.kv_heads() as f64);
        let matrices = match self.variant.feed_forward {
            FeedForwardKind::Plain => 2.0,
            FeedForwardKind::Gated => 3.0,
        };
        c * (tables + positions) + l * (attention + matrices * c * f)
    }

    /// Rows of a position table.
    pub fn position_rows(&self) -> usize {
        self.position_offset + self.max_position_embeddings
    }

    /// The labels of a sequence classifier; `None` for a language model.
    pub fn labels(&self) -> Option<&Labels> {
        match &self.head {
            DecoderHead::LanguageModel => None,
            DecoderHead::Classifier { labels, .. } => Some(labels),
        }
    }

    /// d: width of a head.
    pub fn head_dim(&self) -> usize {
        let own = self.variant.attention.head_dim;
        own.unwrap_or(self.hidden_size / self.num_attention_heads.max(1))
    }

    /// g: heads of keys and values.
    pub fn kv_heads(&self) -> usize {
        self.variant.attention.kv_heads.unwrap_or(self.num_attention_heads)
    }

    /// Checks sizes and options.
    /// # Errors
    /// [`crate::error::ModelConfigError`], if no such model can be built.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("max_position_embeddings", self.max_position_embeddings),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("intermediate_size", self.intermediate_size),
        ])?;
        match self.variant.attention.head_dim {
            None => check_heads(self.num_attention_heads, self.hidden_size, "heads")?,
            Some(head_dim) => check_positive(&[
                ("head_dim", head_dim),
                ("num_attention_heads", self.num_attention_heads),
            ])?,
        }
        self.variant.check(self.num_attention_heads, self.head_dim(), self.options.positions)?;
        check_size(self.num_hidden_layers, self.parameters_about())?;
        self.options.check(self.max_position_embeddings, self.hidden_size)?;
        self.labels().map_or(Ok(()), Labels::check)?;
        check_dropout(self.dropout)
    }
}
