//! What a run learns from: batches by number, a loss for each, and what is kept back for validation.

use super::config::{RunConfig, TaskKind};
use super::from::known_labels;
use super::labelled::LabelledExamples;
use super::masked::MaskedExamples;
use super::pairs::PairExamples;
use super::text::TextExamples;
use crate::data::batch::{LabelledBatch, LmBatch, MaskedBatch, PairBatch};
use crate::data::order::PairOrder;
use crate::error::Result;
use crate::eval::loss::pairs_loss;
use crate::model::Architecture;
use crate::text::Tokenizer;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Tape, Var};
use std::path::Path;

/// The part of the data that is kept for validation where nobody says how much.
pub(super) const USUAL_SHARE: f64 = 0.1;

/// What a model says while it learns: given, said, and what was right where that is known.
pub(super) type Sample = (String, String, Option<String>);

/// Examples of either kind.
pub enum Examples {
    /// A text.
    Text(TextExamples),
    /// Sentence pairs.
    Pairs(PairExamples),
    /// A text with words hidden.
    Masked(MaskedExamples),
    /// Labelled texts.
    Labelled(LabelledExamples),
}

/// Which examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// To learn from.
    Learnt,
    /// For validation.
    Kept,
}

/// One batch of either kind.
pub enum Batch {
    /// For a language model.
    Lm(LmBatch),
    /// For an encoder-decoder.
    Pairs(PairBatch),
    /// For an encoder.
    Masked(MaskedBatch),
    /// For a classifier.
    Labelled(LabelledBatch),
}

impl Batch {
    /// Tokens that are predicted; for a classifier, texts.
    pub fn targets(&self) -> usize {
        match self {
            Batch::Lm(batch) => batch.targets.len(),
            Batch::Pairs(batch) => batch.targets.len(),
            Batch::Masked(batch) => batch.targets.len(),
            Batch::Labelled(batch) => batch.labels.len(),
        }
    }

    /// Tokens that are read or predicted.
    pub fn tokens(&self) -> usize {
        match self {
            Batch::Lm(batch) => batch.targets.len(),
            Batch::Pairs(batch) => batch.source.tokens() + batch.targets.len(),
            Batch::Masked(batch) => batch.input.tokens.tokens(),
            Batch::Labelled(batch) => batch.input.tokens.tokens(),
        }
    }

    /// weight · Σ −ln p.
    pub fn loss(&self, architecture: &Architecture, tape: &mut Tape, spec: LossSpec) -> Var {
        match (self, architecture) {
            (Batch::Lm(batch), Architecture::Gpt(gpt)) => gpt.loss(tape, batch, spec),
            (Batch::Pairs(batch), Architecture::Seq2Seq(model)) => model.loss(tape, batch, spec),
            (Batch::Masked(batch), Architecture::Bert(bert)) => bert.masked_loss(tape, batch, spec),
            (Batch::Labelled(batch), Architecture::Bert(bert)) => bert.class_loss(tape, batch, spec),
            (Batch::Pairs(batch), Architecture::Rnn(model)) => model.loss(tape, batch, spec),
            _ => unreachable!("batches and model are made from one configuration"),
        }
    }
}

/// A loss in nats, over how many tokens, and of how much text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Validation {
    /// Mean of −ln p a token.
    pub loss: f64,
    /// Tokens.
    pub tokens: usize,
    /// The same in bits a character, for a text.
    pub bits_per_character: Option<f64>,
    /// The part of the hidden words, or of the labels, that is right.
    pub accuracy: Option<f64>,
    /// Macro F1 of the labels.
    pub macro_f1: Option<f64>,
    /// The part of the pairs of texts of which it is known whether the second follows the first.
    pub pair_accuracy: Option<f64>,
}

impl Examples {
    /// Reads what `config` names, cut by `tokenizer`. `cache` is a folder for its tokens; `progress` hears of bytes that are done.
    pub fn read(
        config: &RunConfig,
        tokenizer: &Tokenizer,
        cache: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Self> {
        // One file after another, and so many bytes of all of them.
        let (mut before, mut last) = (0, 0);
        let progress = &mut |done: u64| {
            if done < last {
                before += last;
            }
            last = done;
            progress(before + done);
        };
        match config.task {
            TaskKind::Gpt => TextExamples::read(config, tokenizer, cache, progress).map(Examples::Text),
            TaskKind::Translate => {
                PairExamples::read(config, tokenizer, cache, progress).map(Examples::Pairs)
            }
            TaskKind::Bert => MaskedExamples::read(config, tokenizer, cache, progress).map(Examples::Masked),
            TaskKind::Classify => {
                let known = known_labels(config)?;
                LabelledExamples::read(config, tokenizer, known, cache, progress).map(Examples::Labelled)
            }
        }
    }

    /// The `k` batches of a step, from 0: a function of seed and step alone.
    pub fn of_step(&mut self, step: u64, k: u64) -> Vec<Batch> {
        let numbers = step * k..(step + 1) * k;
        match self {
            Examples::Text(text) => numbers.map(|n| Batch::Lm(text.batch(n))).collect(),
            Examples::Pairs(pairs) => numbers.map(|n| Batch::Pairs(pairs.batch(n))).collect(),
            Examples::Masked(masked) => masked.of_step(step).into_iter().map(Batch::Masked).collect(),
            Examples::Labelled(labelled) => numbers.map(|n| Batch::Labelled(labelled.batch(n))).collect(),
        }
    }

    /// How often the data has been gone through before batch `n`.
    pub fn epoch(&mut self, n: u64) -> f64 {
        match self {
            Examples::Text(text) => text.epoch(n),
            Examples::Pairs(pairs) => epoch_of(pairs.order(), n),
            Examples::Masked(masked) => masked.epoch(n),
            Examples::Labelled(labelled) => epoch_of(labelled.order(), n),
        }
    }

    /// How many batches `epochs` times through the data are.
    pub fn batches_in(&mut self, epochs: u64) -> u64 {
        match self {
            Examples::Text(text) => text.batches_in(epochs),
            Examples::Pairs(pairs) => (0..epochs).map(|epoch| pairs.order().batches_of(epoch) as u64).sum(),
            Examples::Masked(masked) => masked.batches_in(epochs),
            Examples::Labelled(labelled) => {
                (0..epochs).map(|epoch| labelled.order().batches_of(epoch) as u64).sum()
            }
        }
    }

    /// The loss on all that was kept back, without dropout and smoothing.
    pub fn validate(&self, architecture: &Architecture, params: &Params) -> Validation {
        let found = match (self, architecture) {
            (Examples::Text(text), Architecture::Gpt(gpt)) => text.validate((gpt, params)),
            (Examples::Pairs(pairs), Architecture::Seq2Seq(model)) => {
                pairs_loss((model, params), pairs.validation())
            }
            (Examples::Pairs(pairs), Architecture::Rnn(model)) => {
                pairs_loss((model, params), pairs.validation())
            }
            (Examples::Masked(masked), Architecture::Bert(bert)) => {
                let found = masked.validate((bert, params));
                let (loss, tokens) = (found.loss.mean(), found.loss.tokens);
                return Validation {
                    loss,
                    tokens,
                    accuracy: Some(found.accuracy()),
                    pair_accuracy: found.pair_accuracy(),
                    ..Validation::default()
                };
            }
            (Examples::Labelled(labelled), Architecture::Bert(bert)) => {
                let (loss, confusion) = labelled.validate((bert, params));
                let (accuracy, macro_f1) = (Some(confusion.accuracy()), Some(confusion.macro_mean().f1));
                let (loss, tokens) = (loss.mean(), loss.tokens);
                return Validation { loss, tokens, accuracy, macro_f1, ..Validation::default() };
            }
            _ => unreachable!("examples and model are made from one configuration"),
        };
        let bits_per_character = match self {
            Examples::Text(text) => Some(text.bits_per_character(&found)),
            _ => None,
        };
        Validation { loss: found.mean(), tokens: found.tokens, bits_per_character, ..Validation::default() }
    }

    /// How many tokens stand for something that is not in the vocabulary, of how many: of what is learnt from, and of what is kept back.
    pub fn unknown(&self, unknown: u32) -> [(usize, usize); 2] {
        [Part::Learnt, Part::Kept].map(|part| {
            let mut found = (0, 0);
            let mut count = |ids: &[u32]| {
                found.0 += ids.iter().filter(|id| **id == unknown).count();
                found.1 += ids.len();
            };
            match self {
                Examples::Text(text) => text.each(part, &mut count),
                Examples::Pairs(pairs) => pairs.each(part, &mut count),
                Examples::Masked(masked) => masked.each(part, &mut count),
                Examples::Labelled(labelled) => labelled.each(part, &mut count),
            }
            found
        })
    }

    /// How much there is, in words.
    pub fn describe(&self) -> String {
        match self {
            Examples::Text(text) => text.describe(),
            Examples::Pairs(pairs) => pairs.describe(),
            Examples::Masked(masked) => masked.describe(),
            Examples::Labelled(labelled) => labelled.describe(),
        }
    }

    /// The labels of a classifier; of others none.
    pub fn labels(&self) -> &[String] {
        match self {
            Examples::Labelled(labelled) => labelled.labels(),
            _ => &[],
        }
    }
}

pub(super) fn epoch_of(order: &mut PairOrder, n: u64) -> f64 {
    let (epoch, place) = order.epoch(n);
    epoch as f64 + place as f64 / order.batches_of(epoch) as f64
}
