//! The configuration of an encoder.

use super::check::{check_dropout, check_heads, check_positive, check_size};
use super::head::EncoderHead;
use crate::error::Result;
use crate::nn::{
    AttentionOptions, Bias, FeedForwardKind, FirstNorm, LayerOptions, LayerVariant, NormPlacement,
    Normalization, Positions, RelativeOptions, RotaryOptions, Windows, named,
};
use limpid_tensor::kernels::activation::Activation;

/// An encoder-only Transformer.
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// v: size of the vocabulary.
    pub vocab_size: usize,
    /// c: model width.
    pub hidden_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// h: number of attention heads.
    pub num_attention_heads: usize,
    /// f: width of the feed-forward layers, usually 4·c.
    pub intermediate_size: usize,
    /// Activation of the feed-forward layers.
    pub hidden_act: Activation,
    /// e: width of the embeddings, which a projection brings to `hidden_size`; `None`:
    /// `hidden_size`, without a projection.
    pub embedding_size: Option<usize>,
    /// Activation of the masked-LM head; `None`: `hidden_act`.
    pub lm_head_act: Option<Activation>,
    /// Activation of the pooler, of which a classifier has one too.
    pub pooler_act: Activation,
    /// ε of the layer norms.
    pub layer_norm_eps: f32,
    /// Maximum length of a sequence, in tokens. The position table has `position_offset` rows
    /// more.
    pub max_position_embeddings: usize,
    /// Row of the position table for the first token.
    pub position_offset: usize,
    /// Buckets of trained biases on attention scores by distance, which all layers share, beside
    /// the position table; `None`: no biases.
    pub relative: Option<RelativeOptions>,
    /// Layers as in ModernBERT, without a position table; `None`: as in BERT.
    pub modern: Option<ModernLayers>,
    /// Number of token types: 2 for pairs of texts; `None`: the model does not see token types.
    pub type_vocab_size: Option<usize>,
    /// Dropout on embeddings, on each sub-layer's output and before the classifier.
    pub dropout: f32,
    /// Token that other programs pad short sequences with; batches here are packed.
    pub pad_token_id: u32,
    /// The head.
    pub head: EncoderHead,
}

/// Pre-norm layers with rotary positions and gated feed-forward networks, the first without a norm
/// before its attention. Heads have a norm after their first layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModernLayers {
    /// Frequencies in layers that see all tokens.
    pub rotary: RotaryOptions,
    /// Frequencies in layers that see only the nearest tokens.
    pub window_rotary: RotaryOptions,
    /// Which layers those are.
    pub windows: Windows,
    /// Shift of the norms.
    pub norm_bias: Bias,
    /// Biases of attention.
    pub attention_bias: Bias,
    /// Biases of the feed-forward networks.
    pub ffn_bias: Bias,
    /// Bias of the first layer of heads.
    pub head_bias: Bias,
    /// Bias of the masked-LM logits.
    pub lm_bias: Bias,
    /// What a sequence classifier reads.
    pub classifier_pooling: ClassifierPooling,
}

/// What a classifier with layers as in ModernBERT reads of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassifierPooling {
    /// Its first token.
    Cls,
    /// The mean of its tokens.
    Mean,
}

named!(ClassifierPooling, "classifier_pooling", "cls" => Cls, "mean" => Mean);

impl EncoderConfig {
    /// BERT of the given sizes, with a masked-LM head and no dropout.
    pub fn new(
        vocab_size: usize,
        positions: usize,
        layers: usize,
        heads: usize,
        width: usize,
    ) -> Self {
        Self {
            vocab_size,
            hidden_size: width,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            intermediate_size: 4 * width,
            hidden_act: Activation::Gelu,
            embedding_size: None,
            lm_head_act: None,
            pooler_act: Activation::Tanh,
            layer_norm_eps: 1e-12,
            max_position_embeddings: positions,
            position_offset: 0,
            relative: None,
            modern: None,
            type_vocab_size: Some(2),
            dropout: 0.0,
            pad_token_id: 0,
            head: EncoderHead::MaskedLm,
        }
    }

    /// Approximate number of parameters, without biases and norms; a float, so that absurd sizes
    /// cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (c, f) = (self.hidden_size as f64, self.intermediate_size as f64);
        let (e, types) = (self.embedding_width() as f64, self.type_vocab_size.unwrap_or(0) as f64);
        let (positions, up_and_down) = match self.modern {
            Some(_) => (0.0, 3.0),
            None => (self.position_rows() as f64, 2.0),
        };
        let layers = self.num_hidden_layers as f64 * (4.0 * c * c + up_and_down * c * f);
        e * (self.vocab_size as f64 + positions + types) + layers + 2.0 * c * c
    }

    /// e: width of the embeddings.
    pub fn embedding_width(&self) -> usize {
        self.embedding_size.unwrap_or(self.hidden_size)
    }

    /// Whether a token may have this type: any, if the model does not see token types.
    pub fn has_token_type(&self, token_type: u32) -> bool {
        self.type_vocab_size.is_none_or(|types| (token_type as usize) < types)
    }

    /// Rows of the position table.
    pub fn position_rows(&self) -> usize {
        self.position_offset + self.max_position_embeddings
    }

    /// The positions, beside the position table, and the norms of its layers.
    pub(crate) fn options(&self) -> LayerOptions {
        let positions = match (self.modern, self.relative) {
            (Some(_), _) => Positions::Rotary,
            (None, Some(_)) => Positions::Relative,
            (None, None) => Positions::None,
        };
        let normalization = match self.modern {
            Some(ModernLayers { norm_bias: Bias::None, .. }) => Normalization::LayerNoBias,
            _ => Normalization::Layer,
        };
        LayerOptions { normalization, ..LayerOptions::standard(positions) }
    }

    /// Where the norms of its layers stand.
    pub(crate) fn norm(&self) -> NormPlacement {
        if self.modern.is_some() { NormPlacement::Pre } else { NormPlacement::Post }
    }

    /// The kind of its layers.
    pub(crate) fn variant(&self) -> LayerVariant {
        let Some(modern) = self.modern else {
            let relative = self.relative.unwrap_or(RelativeOptions::STANDARD);
            let attention = AttentionOptions { relative, ..AttentionOptions::STANDARD };
            return LayerVariant { attention, ..LayerVariant::STANDARD };
        };
        let attention = AttentionOptions {
            qkv_bias: modern.attention_bias,
            out_bias: modern.attention_bias,
            windows: modern.windows,
            rotary: modern.rotary,
            window_rotary: Some(modern.window_rotary),
            ..AttentionOptions::STANDARD
        };
        LayerVariant {
            attention,
            feed_forward: FeedForwardKind::Gated,
            ffn_bias: modern.ffn_bias,
            first_norm: FirstNorm::None,
            ..LayerVariant::STANDARD
        }
    }

    /// Checks sizes and options.
    /// # Errors
    /// [`crate::error::ModelConfigError`], if no such model can be built.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
            ("type_vocab_size", self.type_vocab_size.unwrap_or(1)),
            ("embedding_size", self.embedding_width()),
        ])?;
        let heads = self.num_attention_heads;
        check_heads(heads, self.hidden_size, "heads")?;
        self.variant().check(heads, self.hidden_size / heads, self.options().positions)?;
        check_size(self.num_hidden_layers, self.parameters_about())?;
        self.head.check()?;
        check_dropout(self.dropout)
    }
}
