//! Stories one by one, as the experiments on writing and on encoders read them.

use super::Lab;
use crate::config::{BertConfig, GptConfig};
use crate::data::corpus::stories::{HIDDEN_SHARE, Splits, Story, generate, texts};
use crate::data::masking::{Hide, Masking};
use crate::data::sequences::{documents, framed};
use crate::encode::Read;
use crate::error::Result;
use crate::model::{Architecture, Bert, Gpt, Model};
use crate::optim::{AdamConfig, Rate, Schedule};
use crate::text::{Purpose, Tokenizer, word_tokenizer_for};
use crate::train::{MemorySettings, train_gpt, train_masked};

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
    pub(super) fn settings(&self, seed: u64) -> MemorySettings {
        let Self { steps, lr, batch_tokens, .. } = *self;
        let rate =
            Rate { schedule: Schedule::Cosine, peak: lr, floor: 0.05 * lr, warmup: steps / 10, total: steps };
        MemorySettings { batch_tokens, rate, adam: AdamConfig::default(), seed }
    }
}

/// Stories, and a tokenizer of their words.
pub(super) struct StoryWords {
    pub(super) tokenizer: Tokenizer,
    pub(super) splits: Splits,
}

impl StoryWords {
    /// So many stories to learn from, and to measure by; the same for every seed of an experiment.
    pub(super) fn new(train: usize, held_out: usize, purpose: Purpose) -> Result<Self> {
        let splits = generate(train, held_out, 1);
        Ok(Self { tokenizer: word_tokenizer_for(texts(&splits.train), purpose)?, splits })
    }

    /// For a language model.
    pub(super) fn documents(&self, stories: &[Story]) -> Result<Vec<Vec<u32>>> {
        documents(&self.tokenizer, texts(stories))
    }

    /// For an encoder.
    pub(super) fn framed(&self, stories: &[Story]) -> Result<Vec<Read>> {
        framed(&self.tokenizer, texts(stories))
    }

    /// A GPT, trained on the training stories.
    pub(super) fn train_gpt(&self, lab: &mut Lab, size: Size, seed: u64) -> Result<(Gpt, Model)> {
        let vocabulary = self.tokenizer.vocab_size();
        let config = GptConfig::gpt2(vocabulary, LONGEST, size.layers, size.heads, size.width);
        let mut model = Model::gpt(&config, seed)?;
        let Architecture::Gpt(gpt) = model.architecture.clone() else { unreachable!("a GPT was made") };
        let sequences = self.documents(&self.splits.train)?;
        train_gpt(&gpt, &mut model.params, &sequences, &size.settings(seed), |p| lab.step(p.step, p.steps))?;
        Ok((gpt, model))
    }

    /// What a BERT of this size is, for masked words.
    pub(super) fn bert_config(&self, size: Size) -> BertConfig {
        BertConfig::new(self.tokenizer.vocab_size(), LONGEST, size.layers, size.heads, size.width)
    }

    /// A BERT, trained on words that are masked in these texts.
    pub(super) fn train_bert(
        &self,
        lab: &mut Lab,
        texts: &[Read],
        size: Size,
        seed: u64,
    ) -> Result<(Bert, Model)> {
        let (bert, mut model) = new_bert(&self.bert_config(size), seed)?;
        let masking = Masking::new(&self.tokenizer, HIDDEN_SHARE, Hide::Tokens, seed)?;
        train_masked(&bert, &mut model.params, texts, &masking, &size.settings(seed), |p| {
            lab.step(p.step, p.steps)
        })?;
        Ok((bert, model))
    }
}

/// A BERT with random weights.
pub(super) fn new_bert(config: &BertConfig, seed: u64) -> Result<(Bert, Model)> {
    let model = Model::bert(config, seed)?;
    let Architecture::Bert(bert) = model.architecture.clone() else { unreachable!("a BERT was made") };
    Ok((bert, model))
}
