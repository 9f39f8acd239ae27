//! Four stacks: a decoder, an encoder, an encoder-decoder and a recurrent encoder-decoder.
//!
//! A stack composes layers from a typed configuration and runs them over packed batches. It
//! declares its parameters under canonical names of its own (`layers.0.self_attention.qkv.weight`);
//! the families of [`crate::hub`] map them to the tensors of a file. The values live outside, in
//! [`limpid_tensor::params::Params`].
//!
//! ```
//! use limpid::data::batch::Packed;
//! use limpid::model::config::DecoderConfig;
//! use limpid::model::Model;
//! use limpid_tensor::tape::Tape;
//!
//! let model = Model::new(DecoderConfig::gpt2(100, 16, 2, 4, 32), 0)?;
//! let decoder = model.decoder().expect("made from a decoder's configuration");
//! let mut tape = Tape::inference(&model.params);
//! let hidden = decoder.hidden(&mut tape, &Packed::new(&[vec![5, 7, 11]]), None);
//! let logits = decoder.logits(&mut tape, &hidden);
//! assert_eq!(logits.rows_cols(), (3, 100));
//! # Ok::<(), limpid::error::Error>(())
//! ```

pub mod config;
pub mod decoder;
pub mod encoder;
pub mod encoder_decoder;
mod heads;
mod pretrained;
pub mod recurrent;
mod seq2seq;

pub use decoder::Decoder;
pub use encoder::Encoder;
pub use encoder_decoder::EncoderDecoder;
pub use pretrained::NewHead;
pub use recurrent::Recurrent;
pub use seq2seq::Seq2Seq;

use crate::data::batch::EncoderInput;
use crate::error::Result;
use crate::model::config::{Labels, StackConfig};
use limpid_tensor::params::{Params, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};

/// Which parameters a model has, and its forward pass; the values live in [`Params`].
#[derive(Clone, Debug)]
pub enum Stack {
    /// A decoder: a language model.
    Decoder(Decoder),
    /// An encoder-decoder Transformer.
    EncoderDecoder(EncoderDecoder),
    /// An encoder.
    Encoder(Encoder),
    /// A recurrent encoder-decoder.
    Recurrent(Recurrent),
}

impl Stack {
    /// Declares the parameters of a stack.
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &StackConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        Ok(match config {
            StackConfig::Decoder(config) => Stack::Decoder(Decoder::new(config, builder)?),
            StackConfig::EncoderDecoder(config) => {
                Stack::EncoderDecoder(EncoderDecoder::new(config, builder)?)
            }
            StackConfig::Encoder(config) => Stack::Encoder(Encoder::new(config, builder)?),
            StackConfig::Recurrent(config) => Stack::Recurrent(Recurrent::new(config, builder)?),
        })
    }

    /// Its configuration.
    pub fn config(&self) -> StackConfig {
        match self {
            Stack::Decoder(decoder) => decoder.config().into(),
            Stack::EncoderDecoder(model) => model.config().into(),
            Stack::Encoder(encoder) => encoder.config().into(),
            Stack::Recurrent(model) => model.config().into(),
        }
    }

    /// What kind of model it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Stack::Decoder(decoder) if decoder.labels().is_some() => {
                "a decoder with a classification head"
            }
            Stack::Decoder(_) => "a decoder (language model)",
            Stack::EncoderDecoder(_) => "an encoder-decoder (translation)",
            Stack::Encoder(encoder) => encoder.config().head.kind(),
            Stack::Recurrent(_) => "a recurrent encoder-decoder (translation)",
        }
    }

    /// The decoder, if it is one.
    pub fn decoder(&self) -> Option<&Decoder> {
        if let Stack::Decoder(decoder) = self { Some(decoder) } else { None }
    }

    /// The encoder, if it is one.
    pub fn encoder(&self) -> Option<&Encoder> {
        if let Stack::Encoder(encoder) = self { Some(encoder) } else { None }
    }

    /// The encoder-decoder Transformer, if it is one.
    pub fn encoder_decoder(&self) -> Option<&EncoderDecoder> {
        if let Stack::EncoderDecoder(model) = self { Some(model) } else { None }
    }

    /// The recurrent encoder-decoder, if it is one.
    pub fn recurrent(&self) -> Option<&Recurrent> {
        if let Stack::Recurrent(model) = self { Some(model) } else { None }
    }

    /// The language model, if it is a decoder with that head.
    pub fn language_model(&self) -> Option<&Decoder> {
        match self {
            Stack::Decoder(decoder) if decoder.labels().is_none() => Some(decoder),
            _ => None,
        }
    }

    /// The logits of a sequence classifier for each text: (n) -> (sequences, labels).
    /// # Panics
    /// If it is not a sequence classifier.
    #[track_caller]
    pub fn class_logits(&self, t: &mut Tape, input: &EncoderInput) -> Var {
        match self {
            Stack::Encoder(encoder) => {
                let hidden = encoder.hidden(t, input);
                encoder.class_logits(t, &hidden, input)
            }
            Stack::Decoder(decoder) => {
                let hidden = decoder.hidden(t, &input.tokens, None);
                decoder.class_logits(t, &hidden, &input.tokens)
            }
            _ => panic!("a sequence classifier was expected, found {}", self.kind()),
        }
    }

    /// The labels of a sequence classifier.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            Stack::Decoder(decoder) => decoder.labels(),
            Stack::Encoder(encoder) => encoder.classes(),
            Stack::EncoderDecoder(_) | Stack::Recurrent(_) => None,
        }
    }

    /// Size of the (source) vocabulary.
    pub fn vocab_size(&self) -> usize {
        match self {
            Stack::Decoder(decoder) => decoder.config().vocab_size,
            Stack::EncoderDecoder(model) => model.config().vocab_size,
            Stack::Encoder(encoder) => encoder.config().vocab_size,
            Stack::Recurrent(model) => model.config().vocab_size,
        }
    }
}

/// A stack with its parameters.
pub struct Model {
    /// Its structure and forward pass.
    pub stack: Stack,
    /// Its parameters.
    pub params: Params,
    /// The `model_type` it was loaded with, and is saved with; `None` for a new model, which is
    /// saved as the first family of [`crate::hub`] that can hold it.
    pub model_type: Option<&'static str>,
}

impl Model {
    /// A model with initial weights, from the configuration of any stack.
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: impl Into<StackConfig>, seed: u64) -> Result<Self> {
        let mut builder = Params::builder();
        let stack = Stack::new(&config.into(), &mut builder)?;
        Ok(Self { stack, params: builder.build(seed), model_type: None })
    }

    /// The decoder, if that is its stack.
    pub fn decoder(&self) -> Option<&Decoder> {
        self.stack.decoder()
    }

    /// The encoder, if that is its stack.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.stack.encoder()
    }

    /// The encoder-decoder Transformer, if that is its stack.
    pub fn encoder_decoder(&self) -> Option<&EncoderDecoder> {
        self.stack.encoder_decoder()
    }

    /// The recurrent encoder-decoder, if that is its stack.
    pub fn recurrent(&self) -> Option<&Recurrent> {
        self.stack.recurrent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::{DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead};
    use limpid_tensor::params::Role;

    /// Trained parameters; nothing is allocated.
    fn count(config: impl Into<StackConfig>) -> usize {
        let mut builder = Params::builder();
        Stack::new(&config.into(), &mut builder).unwrap();
        let trained = builder.iter().filter(|(_, spec)| spec.role == Role::Trained);
        trained.map(|(_, spec)| spec.shape.len()).sum()
    }

    #[test]
    fn gpt1_has_116_534_784_parameters() {
        let config = DecoderConfig {
            norm: crate::nn::NormPlacement::Post,
            ..DecoderConfig::gpt2(40_478, 512, 12, 12, 768)
        };
        assert_eq!(count(&config), 116_534_784);
    }

    #[test]
    fn gpt2_has_124_439_808_parameters() {
        let config = DecoderConfig::gpt2(50_257, 1024, 12, 12, 768);
        assert_eq!(count(&config), 124_439_808);
    }

    #[test]
    fn bert_base_has_109_482_240_parameters_in_encoder_and_pooler() {
        let config = EncoderConfig {
            head: EncoderHead::Pooler,
            ..EncoderConfig::new(30_522, 512, 12, 12, 768)
        };
        assert_eq!(count(&config), 109_482_240);
        // The masked-LM head instead of the pooler: a layer, a norm and a bias per token.
        let head = 768 * 768 + 768 + 2 * 768 + 30_522;
        let config = EncoderConfig { head: EncoderHead::MaskedLm, ..config };
        assert_eq!(count(&config), 109_482_240 - (768 * 768 + 768) + head);
    }

    #[test]
    fn the_base_transformer_has_63_082_496_parameters() {
        let config = EncoderDecoderConfig::new(37_000, 6, 8, 512, 2048);
        assert_eq!(count(&config), 63_082_496);
    }
}
