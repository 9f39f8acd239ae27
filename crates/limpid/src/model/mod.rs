//! Models: each a screenful of composition over packed batches. The numbers live outside, in
//! [`limpid_tensor::params::Params`].

pub mod bert;
pub mod gpt;
pub mod rnn;
pub mod seq2seq;
mod translator;

pub use bert::Bert;
pub use gpt::Gpt;
pub use rnn::Rnn;
pub use seq2seq::Seq2Seq;
pub use translator::Translator;

use crate::config::{BertConfig, BertHead, GptConfig, RnnConfig, Seq2SeqConfig};
use crate::error::Result;
use crate::nn::{Builder, FileTensor};
use limpid_tensor::params::Params;

/// How a model computes.
#[derive(Clone, Debug)]
pub enum Architecture {
    /// Decoder only.
    Gpt(Gpt),
    /// Encoder and decoder.
    Seq2Seq(Seq2Seq),
    /// Encoder only.
    Bert(Bert),
    /// Encoder and decoder, recurrent.
    Rnn(Rnn),
}

impl Architecture {
    /// What kind it is, in words.
    pub fn kind(&self) -> &'static str {
        match self {
            Architecture::Gpt(_) => "a language model (GPT)",
            Architecture::Seq2Seq(_) => "an encoder-decoder (translation)",
            Architecture::Bert(bert) => match bert.config().head {
                BertHead::Bare | BertHead::Pooler => "an encoder (BERT)",
                BertHead::MaskedLm | BertHead::PreTraining => "an encoder for masked words (BERT)",
                BertHead::Classifier(_) => "a classifier (BERT)",
            },
            Architecture::Rnn(_) => "a recurrent encoder-decoder (translation)",
        }
    }

    /// Tokens that it can read.
    pub fn vocab_size(&self) -> usize {
        match self {
            Architecture::Gpt(gpt) => gpt.config().vocab_size,
            Architecture::Seq2Seq(seq2seq) => seq2seq.config().vocab_size,
            Architecture::Bert(bert) => bert.config().vocab_size,
            Architecture::Rnn(rnn) => rnn.config().vocab_size,
        }
    }
}

/// A model with its numbers, and the names files know them by.
pub struct Model {
    /// How it computes.
    pub architecture: Architecture,
    /// Its numbers.
    pub params: Params,
    /// How files store them.
    pub files: Vec<FileTensor>,
}

impl Model {
    /// A GPT with random weights.
    pub fn gpt(config: &GptConfig, seed: u64) -> Result<Self> {
        let mut builder = Builder::default();
        let gpt = Gpt::new(config, &mut builder)?;
        let (params, files) = builder.build(seed);
        Ok(Self { architecture: Architecture::Gpt(gpt), params, files })
    }

    /// An encoder-decoder with random weights.
    pub fn seq2seq(config: &Seq2SeqConfig, seed: u64) -> Result<Self> {
        let mut builder = Builder::default();
        let seq2seq = Seq2Seq::new(config, &mut builder)?;
        let (params, files) = builder.build(seed);
        Ok(Self { architecture: Architecture::Seq2Seq(seq2seq), params, files })
    }

    /// A BERT with random weights.
    pub fn bert(config: &BertConfig, seed: u64) -> Result<Self> {
        let mut builder = Builder::default();
        let bert = Bert::new(config, &mut builder)?;
        let (params, files) = builder.build(seed);
        Ok(Self { architecture: Architecture::Bert(bert), params, files })
    }

    /// A recurrent encoder-decoder with random weights.
    pub fn rnn(config: &RnnConfig, seed: u64) -> Result<Self> {
        let mut builder = Builder::default();
        let rnn = Rnn::new(config, &mut builder)?;
        let (params, files) = builder.build(seed);
        Ok(Self { architecture: Architecture::Rnn(rnn), params, files })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_tensor::params::Params;

    /// Counts without allocating half a gigabyte: the builder knows.
    fn count(declare: impl FnOnce(&mut Builder)) -> usize {
        let mut builder = Builder::default();
        declare(&mut builder);
        let (params, _): (Params, _) = builder.build_zeroed();
        params.count()
    }

    #[test]
    fn gpt1_has_116_534_784_parameters() {
        let config = GptConfig::gpt1(40_478, 512, 12, 12, 768);
        assert_eq!(count(|b| drop(Gpt::new(&config, b).unwrap())), 116_534_784);
    }

    #[test]
    fn gpt2_has_124_439_808_parameters() {
        let config = GptConfig::gpt2(50_257, 1024, 12, 12, 768);
        assert_eq!(count(|b| drop(Gpt::new(&config, b).unwrap())), 124_439_808);
    }

    #[test]
    fn bert_base_has_109_482_240_parameters_in_encoder_and_pooler() {
        let config = BertConfig { head: BertHead::Pooler, ..BertConfig::new(30_522, 512, 12, 12, 768) };
        assert_eq!(count(|b| drop(Bert::new(&config, b).unwrap())), 109_482_240);
        // The head for masked words: a layer, a norm and a bias for each token, instead of the pooler.
        let head = 768 * 768 + 768 + 2 * 768 + 30_522;
        let config = BertConfig { head: BertHead::MaskedLm, ..config };
        assert_eq!(count(|b| drop(Bert::new(&config, b).unwrap())), 109_482_240 - (768 * 768 + 768) + head);
    }

    #[test]
    fn the_base_transformer_has_63_082_496_parameters() {
        let config = Seq2SeqConfig::new(37_000, 6, 8, 512, 2048);
        assert_eq!(count(|b| drop(Seq2Seq::new(&config, b).unwrap())), 63_082_496);
    }
}
