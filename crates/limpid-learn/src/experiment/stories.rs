//! Stories one by one, as the experiments on writing and on encoders read them.

use super::Lab;
use super::train::train_to_end;
use crate::corpus::stories::{MASKING_PROBABILITY, Splits, Story, generate, texts};
use crate::error::Result;
use limpid::data::batch::EncodedText;
use limpid::data::masking::{MaskUnit, Masking};
use limpid::data::sequences::{documents, encode_each};
use limpid::model::config::{DecoderConfig, EncoderConfig};
use limpid::model::{Decoder, Encoder, Model};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::{Purpose, Tokenizer, word_tokenizer_for};
use limpid::train::TrainerConfig;
use limpid::train::dataset::{Batching, InMemoryDataset};

/// Positions of the models: no story is longer.
pub(super) const LONGEST: usize = 192;

/// The size of a model, and how long it is trained.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) width: usize,
    pub(super) steps: u64,
    pub(super) lr: f32,
    /// Tokens of a batch; a story has some 130.
    pub(super) batch_tokens: usize,
}

impl Size {
    /// A warm-up of a tenth, a cosine after it.
    pub(super) fn settings(&self, seed: u64) -> (Batching, TrainerConfig) {
        let Self { steps, lr, batch_tokens, .. } = *self;
        let rate = LearningRate {
            schedule: Schedule::Cosine,
            peak: lr,
            floor: 0.05 * lr,
            warmup: steps / 10,
            total: steps,
        };
        (Batching { tokens: batch_tokens, seed }, TrainerConfig::new(rate, seed))
    }
}

/// Stories, and a tokenizer of their words.
pub(super) struct StoryWords {
    pub(super) tokenizer: Tokenizer,
    pub(super) splits: Splits,
}

impl StoryWords {
    /// So many stories for training, and to measure by; the same for every seed of an experiment.
    pub(super) fn new(train: usize, held_out: usize, purpose: Purpose) -> Result<Self> {
        let splits = generate(train, held_out, 1);
        Ok(Self { tokenizer: word_tokenizer_for(texts(&splits.train), purpose)?, splits })
    }

    /// For a language model.
    pub(super) fn documents(&self, stories: &[Story]) -> Result<Vec<Vec<u32>>> {
        Ok(documents(&self.tokenizer, texts(stories))?)
    }

    /// For an encoder.
    pub(super) fn encode_each(&self, stories: &[Story]) -> Result<Vec<EncodedText>> {
        Ok(encode_each(&self.tokenizer, texts(stories))?)
    }

    /// A GPT, trained on the training stories.
    pub(super) fn train_gpt(
        &self,
        lab: &mut Lab,
        name: &str,
        size: Size,
        seed: u64,
    ) -> Result<(Decoder, Model)> {
        let vocabulary = self.tokenizer.vocab_size();
        let config = DecoderConfig::gpt2(vocabulary, LONGEST, size.layers, size.heads, size.width);
        let model = Model::new(&config, seed)?;
        let gpt = model.decoder().expect("a decoder").clone();
        let sequences = self.documents(&self.splits.train)?;
        let (batching, config) = size.settings(seed);
        let dataset = InMemoryDataset::language_model(&sequences, batching)?;
        let (model, _) =
            lab.train(name, model, |lab, model| train_to_end(lab, model, dataset, config))?;
        Ok((gpt, model))
    }

    /// What a BERT of this size is, for masked words.
    pub(super) fn bert_config(&self, size: Size) -> EncoderConfig {
        EncoderConfig::new(
            self.tokenizer.vocab_size(),
            LONGEST,
            size.layers,
            size.heads,
            size.width,
        )
    }

    /// A BERT, trained on words that are masked in these texts.
    pub(super) fn train_bert(
        &self,
        lab: &mut Lab,
        name: &str,
        texts: &[EncodedText],
        size: Size,
        seed: u64,
    ) -> Result<(Encoder, Model)> {
        let (bert, model) = new_bert(&self.bert_config(size), seed)?;
        let masking = Masking::new(&self.tokenizer, MASKING_PROBABILITY, MaskUnit::Token, seed)?;
        let (batching, config) = size.settings(seed);
        let dataset = InMemoryDataset::masked(texts, &masking, batching)?;
        let (model, _) =
            lab.train(name, model, |lab, model| train_to_end(lab, model, dataset, config))?;
        Ok((bert, model))
    }
}

/// A BERT with random weights.
pub(super) fn new_bert(config: &EncoderConfig, seed: u64) -> Result<(Encoder, Model)> {
    let model = Model::new(config, seed)?;
    let bert = model.encoder().expect("an encoder").clone();
    Ok((bert, model))
}
