//! One micro-batch of any task, and its loss.

use crate::data::batch::{LabelledBatch, LmBatch, MaskedBatch, PairBatch};
use crate::model::Stack;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::{Tape, Var};

/// One micro-batch of any task.
pub enum Batch {
    /// Sequences of a language model.
    Lm(LmBatch),
    /// Sentence pairs of an encoder-decoder.
    Pairs(PairBatch),
    /// Sequences with masked tokens, of an encoder.
    Masked(MaskedBatch),
    /// Labelled texts of a classifier.
    Labelled(LabelledBatch),
}

impl Batch {
    /// Terms of the loss: predicted tokens; for a classifier, texts.
    pub fn targets(&self) -> usize {
        match self {
            Batch::Lm(batch) => batch.targets.len(),
            Batch::Pairs(batch) => batch.targets.len(),
            Batch::Masked(batch) => batch.targets.len(),
            Batch::Labelled(batch) => batch.input.tokens.sequences(),
        }
    }

    /// Tokens that the model reads or predicts.
    pub fn tokens(&self) -> usize {
        match self {
            Batch::Lm(batch) => batch.targets.len(),
            Batch::Pairs(batch) => batch.source.tokens() + batch.targets.len(),
            Batch::Masked(batch) => batch.input.tokens.tokens(),
            Batch::Labelled(batch) => batch.input.tokens.tokens(),
        }
    }

    /// `spec.weight` · Σ −ln p over the targets.
    ///
    /// # Panics
    /// If the batch is of another task than the stack.
    pub fn loss(&self, stack: &Stack, tape: &mut Tape, spec: LossSpec) -> Var {
        match (self, stack) {
            (Batch::Lm(batch), Stack::Decoder(gpt)) => gpt.loss(tape, batch, spec),
            (Batch::Pairs(batch), Stack::EncoderDecoder(model)) => model.loss(tape, batch, spec),
            (Batch::Pairs(batch), Stack::Recurrent(model)) => model.loss(tape, batch, spec),
            (Batch::Masked(batch), Stack::Encoder(bert)) => bert.masked_loss(tape, batch, spec),
            (Batch::Labelled(batch), Stack::Encoder(bert)) => bert.class_loss(tape, batch, spec),
            (Batch::Labelled(batch), Stack::Decoder(gpt)) => gpt.class_loss(tape, batch, spec),
            _ => panic!("the batch is of another task than the model"),
        }
    }
}
