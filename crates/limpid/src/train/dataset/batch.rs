//! One micro-batch of any task, and its loss.

use crate::data::batch::{
    AnswerBatch, LabelledBatch, LmBatch, MaskedBatch, PairBatch, TaggedBatch,
};
use crate::model::Stack;
use limpid_tensor::kernels::cross_entropy::IGNORE;
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
    /// Labelled tokens of a token classifier.
    Tagged(TaggedBatch),
    /// Questions with contexts and answers.
    Answers(AnswerBatch),
}

impl Batch {
    /// Terms of the loss: predicted tokens; labelled tokens; for a classifier of texts and question
    /// answering, sequences.
    pub fn targets(&self) -> usize {
        match self {
            Batch::Lm(batch) => batch.targets.len(),
            Batch::Pairs(batch) => batch.targets.len(),
            Batch::Masked(batch) => batch.targets.len(),
            Batch::Labelled(batch) => batch.input.tokens.sequences(),
            Batch::Tagged(batch) => batch.labels.iter().filter(|label| **label != IGNORE).count(),
            Batch::Answers(batch) => batch.answers.len(),
        }
    }

    /// Tokens that the model reads or predicts.
    pub fn tokens(&self) -> usize {
        match self {
            Batch::Lm(batch) => batch.targets.len(),
            Batch::Pairs(batch) => batch.source.tokens() + batch.targets.len(),
            Batch::Masked(batch) => batch.input.tokens.tokens(),
            Batch::Labelled(batch) => batch.input.tokens.tokens(),
            Batch::Tagged(batch) => batch.input.tokens.tokens(),
            Batch::Answers(batch) => batch.input.tokens.tokens(),
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
            (Batch::Tagged(batch), Stack::Encoder(bert)) => bert.token_loss(tape, batch, spec),
            (Batch::Answers(batch), Stack::Encoder(bert)) => {
                bert.answer_loss(tape, batch, spec.weight)
            }
            _ => panic!("the batch is of another task than the model"),
        }
    }
}
