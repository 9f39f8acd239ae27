//! What a BERT is.

use super::{check_dropout, check_heads, check_positive, check_size};
use crate::error::{Error, Result};
use limpid_tensor::kernels::activation::Activation;

/// An encoder-only Transformer, with BERT's names.
#[derive(Clone, Debug, PartialEq)]
pub struct BertConfig {
    /// v.
    pub vocab_size: usize,
    /// c.
    pub hidden_size: usize,
    /// Layers.
    pub num_hidden_layers: usize,
    /// h.
    pub num_attention_heads: usize,
    /// f, usually 4·c.
    pub intermediate_size: usize,
    /// Activation of the feed-forward layers and of the head for masked words.
    pub hidden_act: Activation,
    /// ε of the layer norms.
    pub layer_norm_eps: f32,
    /// The longest sequence there is a position for.
    pub max_position_embeddings: usize,
    /// How many kinds of text a sequence may hold: 2 for pairs.
    pub type_vocab_size: usize,
    /// Dropout on embeddings, on each sub-layer's output and before a classifier.
    pub dropout: f32,
    /// Fills short sequences in other programs; ours needs none.
    pub pad_token_id: u32,
    /// What stands on top of the encoder.
    pub head: BertHead,
}

/// What stands on top of the encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BertHead {
    /// Nothing: a vector for every token.
    Bare,
    /// The pooler: one vector for the text, from `[CLS]`. `BertModel`.
    Pooler,
    /// Scores of words for masked places. `BertForMaskedLM`.
    MaskedLm,
    /// The same, and, on the pooler, whether the second text follows the first. `BertForPreTraining`.
    PreTraining,
    /// One of these labels for the text, on the pooler. `BertForSequenceClassification`.
    Classifier(Vec<String>),
}

impl BertHead {
    /// Whether `[CLS]` has a layer of its own.
    pub fn has_pooler(&self) -> bool {
        matches!(self, Self::Pooler | Self::PreTraining | Self::Classifier(_))
    }

    /// Whether it can fill masks.
    pub fn fills_masks(&self) -> bool {
        matches!(self, Self::MaskedLm | Self::PreTraining)
    }
}

impl BertConfig {
    /// BERT's shape of the given size, for masked words.
    pub fn new(vocab_size: usize, positions: usize, layers: usize, heads: usize, width: usize) -> Self {
        Self {
            vocab_size,
            hidden_size: width,
            num_hidden_layers: layers,
            num_attention_heads: heads,
            intermediate_size: 4 * width,
            hidden_act: Activation::Gelu,
            layer_norm_eps: 1e-12,
            max_position_embeddings: positions,
            type_vocab_size: 2,
            dropout: 0.0,
            pad_token_id: 0,
            head: BertHead::MaskedLm,
        }
    }

    /// About how many parameters that makes: without biases and norms, in a number that cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        let (c, f) = (self.hidden_size as f64, self.intermediate_size as f64);
        let tables =
            self.vocab_size as f64 + self.max_position_embeddings as f64 + self.type_vocab_size as f64;
        c * tables + self.num_hidden_layers as f64 * (4.0 * c * c + 2.0 * c * f) + 2.0 * c * c
    }

    /// Refuses what cannot work.
    pub fn validate(&self) -> Result<()> {
        check_positive(&[
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
            ("type_vocab_size", self.type_vocab_size),
        ])?;
        check_heads(self.num_attention_heads, self.hidden_size, "heads")?;
        check_size(self.num_hidden_layers, self.parameters_about())?;
        if let BertHead::Classifier(labels) = &self.head
            && labels.len() < 2
        {
            return Err(Error::config(format!(
                "a classifier needs two labels or more, there {}",
                if labels.is_empty() { "are none" } else { "is one" }
            ))
            .hint("give examples of at least two classes"));
        }
        check_dropout(self.dropout)
    }
}
