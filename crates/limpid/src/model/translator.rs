//! Models that read one text and write another, whatever they are made of: what translating, measuring and drawing alignments need.

use super::{Architecture, Rnn, Seq2Seq};
use crate::data::batch::{Packed, PairBatch};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::{Tape, Var};

/// An encoder-decoder of either kind.
#[derive(Clone, Copy, Debug)]
pub enum Translator<'a> {
    /// Attention throughout.
    Transformer(&'a Seq2Seq),
    /// Recurrent layers.
    Rnn(&'a Rnn),
}

impl<'a> From<&'a Seq2Seq> for Translator<'a> {
    fn from(model: &'a Seq2Seq) -> Self {
        Translator::Transformer(model)
    }
}

impl<'a> From<&'a Rnn> for Translator<'a> {
    fn from(model: &'a Rnn) -> Self {
        Translator::Rnn(model)
    }
}

impl Architecture {
    /// The model as a translator, if it is one.
    pub fn translator(&self) -> Option<Translator<'_>> {
        match self {
            Architecture::Seq2Seq(model) => Some(model.into()),
            Architecture::Rnn(model) => Some(model.into()),
            _ => None,
        }
    }
}

impl Translator<'_> {
    /// v of the source.
    pub fn vocab_size(&self) -> usize {
        match self {
            Translator::Transformer(model) => model.config().vocab_size,
            Translator::Rnn(model) => model.config().vocab_size,
        }
    }

    /// v of the target.
    pub fn decoder_vocab_size(&self) -> usize {
        match self {
            Translator::Transformer(model) => model.config().decoder_vocab_size,
            Translator::Rnn(model) => model.config().decoder_vocab_size,
        }
    }

    /// The longest text, in tokens.
    pub fn longest(&self) -> usize {
        match self {
            Translator::Transformer(model) => model.config().max_position_embeddings,
            Translator::Rnn(model) => model.config().max_length,
        }
    }

    /// Fills short sequences in other programs, and is never said.
    pub fn pad(&self) -> u32 {
        match self {
            Translator::Transformer(model) => model.config().pad_token_id,
            Translator::Rnn(model) => model.config().pad_token_id,
        }
    }

    /// Ends a sentence.
    pub fn end(&self) -> u32 {
        match self {
            Translator::Transformer(model) => model.config().eos_token_id,
            Translator::Rnn(model) => model.config().eos_token_id,
        }
    }

    /// What the decoder is given first.
    pub fn start(&self) -> u32 {
        match self {
            Translator::Transformer(model) => model.config().decoder_start_token_id,
            Translator::Rnn(model) => model.config().decoder_start_token_id,
        }
    }

    /// weight · Σ −ln p(target token).
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        match self {
            Translator::Transformer(model) => model.loss(t, batch, spec),
            Translator::Rnn(model) => model.loss(t, batch, spec),
        }
    }

    /// Scores over the target vocabulary for what comes after each token of `input`, (n, v).
    #[track_caller]
    pub fn scores(&self, t: &mut Tape, source: &Packed, input: &Packed) -> Var {
        match self {
            Translator::Transformer(model) => {
                let encoded = model.encode(t, source);
                let memory = model.memory(t, &encoded, source);
                let hidden = model.decode(t, input, &memory, None);
                model.logits(t, &hidden)
            }
            Translator::Rnn(model) => {
                let memory = model.encode(t, source);
                let (hidden, _) = model.decode(t, input, memory.source.as_ref(), &memory.states);
                model.logits(t, &hidden)
            }
        }
    }
}
