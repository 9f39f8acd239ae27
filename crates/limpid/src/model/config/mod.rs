//! Configurations: one validated value per stack, with the names of Hugging Face's `config.json`.
//!
//! A configuration says what a stack computes, not how files store it.
//!
//! ```
//! use limpid::model::Model;
//! use limpid::model::config::DecoderConfig;
//!
//! let config = DecoderConfig { dropout: 0.1, ..DecoderConfig::gpt2(1000, 64, 2, 4, 32) };
//! let model = Model::new(&config, 0)?;
//! assert!(DecoderConfig { num_attention_heads: 5, ..config }.validate().is_err());
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod check;
mod decoder;
mod encoder;
mod encoder_decoder;
mod head;
mod recurrent;

pub use decoder::DecoderConfig;
pub use encoder::{ClassifierPooling, EncoderConfig, ModernLayers};
pub use encoder_decoder::{EmbeddingNorm, EmbeddingScale, EncoderDecoderConfig, OutputScale};
pub use head::{DecoderHead, EncoderHead, LabelActivation, Labels, ProblemType};
pub use recurrent::{Cell, Directions, MAX_RECURRENT_LAYERS, RecurrentAttention, RecurrentConfig};

use crate::error::Result;

/// Whether two roles share one weight matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// One matrix in both roles.
    Shared,
    /// A matrix for each role.
    Separate,
}

/// The configuration of any stack.
#[derive(Clone, Debug, PartialEq)]
pub enum StackConfig {
    /// A decoder: a language model.
    Decoder(DecoderConfig),
    /// An encoder-decoder Transformer.
    EncoderDecoder(EncoderDecoderConfig),
    /// An encoder.
    Encoder(EncoderConfig),
    /// A recurrent encoder-decoder.
    Recurrent(RecurrentConfig),
}

impl StackConfig {
    /// Approximate number of parameters; a float, so that absurd sizes cannot overflow.
    pub fn parameters_about(&self) -> f64 {
        match self {
            StackConfig::Decoder(config) => config.parameters_about(),
            StackConfig::EncoderDecoder(config) => config.parameters_about(),
            StackConfig::Encoder(config) => config.parameters_about(),
            StackConfig::Recurrent(config) => config.parameters_about(),
        }
    }

    /// The labels of a sequence classifier.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            StackConfig::Decoder(config) => config.labels(),
            StackConfig::Encoder(EncoderConfig {
                head: EncoderHead::Classifier(labels), ..
            }) => Some(labels),
            _ => None,
        }
    }

    /// Checks sizes and options.
    /// # Errors
    /// [`crate::error::ModelConfigError`], if no such model can be built.
    pub fn validate(&self) -> Result<()> {
        match self {
            StackConfig::Decoder(config) => config.validate(),
            StackConfig::EncoderDecoder(config) => config.validate(),
            StackConfig::Encoder(config) => config.validate(),
            StackConfig::Recurrent(config) => config.validate(),
        }
    }
}

/// A stack's configuration is a configuration of any stack.
macro_rules! stack_config {
    ($($variant:ident($config:ty)),*) => {$(
        impl From<$config> for StackConfig {
            fn from(config: $config) -> Self {
                StackConfig::$variant(config)
            }
        }
        impl From<&$config> for StackConfig {
            fn from(config: &$config) -> Self {
                StackConfig::$variant(config.clone())
            }
        }
    )*};
}
stack_config!(
    Decoder(DecoderConfig),
    EncoderDecoder(EncoderDecoderConfig),
    Encoder(EncoderConfig),
    Recurrent(RecurrentConfig)
);
