//! A view over both encoder-decoders: what translation, evaluation and alignment need of either.

use super::config::Tie;
use super::{EncoderDecoder, Recurrent, Stack};
use crate::data::batch::{Packed, PairBatch};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};

/// An encoder-decoder of either kind.
#[derive(Clone, Copy, Debug)]
pub enum Seq2Seq<'a> {
    /// A Transformer.
    Transformer(&'a EncoderDecoder),
    /// A recurrent model.
    Recurrent(&'a Recurrent),
}

impl<'a> From<&'a EncoderDecoder> for Seq2Seq<'a> {
    fn from(model: &'a EncoderDecoder) -> Self {
        Seq2Seq::Transformer(model)
    }
}

impl<'a> From<&'a Recurrent> for Seq2Seq<'a> {
    fn from(model: &'a Recurrent) -> Self {
        Seq2Seq::Recurrent(model)
    }
}

impl Stack {
    /// The model as an encoder-decoder, if it is one.
    pub fn translator(&self) -> Option<Seq2Seq<'_>> {
        match self {
            Stack::EncoderDecoder(model) => Some(model.into()),
            Stack::Recurrent(model) => Some(model.into()),
            _ => None,
        }
    }
}

/// The same expression for a model of either kind.
macro_rules! either {
    ($seq2seq:ident, $model:ident => $value:expr) => {
        match $seq2seq {
            Seq2Seq::Transformer($model) => $value,
            Seq2Seq::Recurrent($model) => $value,
        }
    };
}

impl Seq2Seq<'_> {
    /// Size of the source vocabulary.
    pub fn vocab_size(&self) -> usize {
        either!(self, model => model.config().vocab_size)
    }

    /// Size of the target vocabulary.
    pub fn decoder_vocab_size(&self) -> usize {
        either!(self, model => model.config().decoder_vocab_size)
    }

    /// Maximum length of a text, in tokens.
    pub fn longest(&self) -> usize {
        match self {
            Seq2Seq::Transformer(model) => model.config().max_position_embeddings,
            Seq2Seq::Recurrent(model) => model.config().max_length,
        }
    }

    /// The padding token, which is never generated.
    pub fn pad(&self) -> u32 {
        either!(self, model => model.config().pad_token_id)
    }

    /// The token that ends a text.
    pub fn end(&self) -> u32 {
        either!(self, model => model.config().eos_token_id)
    }

    /// The first input of the decoder.
    pub fn start(&self) -> u32 {
        either!(self, model => model.config().decoder_start_token_id)
    }

    /// weight · Σ −ln p(target token).
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        either!(self, model => model.loss(t, batch, spec))
    }

    /// Logits over the target vocabulary after each token of `input`, (n, v).
    #[track_caller]
    pub fn scores(&self, t: &mut Tape, source: &Packed, input: &Packed) -> Var {
        match self {
            Seq2Seq::Transformer(model) => {
                let encoded = model.encode(t, source);
                let memory = model.memory(t, &encoded, source);
                let hidden = model.decode(t, input, &memory, None);
                model.logits(t, &hidden)
            }
            Seq2Seq::Recurrent(model) => {
                let memory = model.encode(t, source);
                let (hidden, _) = model.decode(t, input, memory.source.as_ref(), &memory.states);
                model.logits(t, &hidden)
            }
        }
    }
}

/// Declares the embedding tables of source and target, with these numbers of tokens; or one for
/// both.
pub(super) fn embedding_tables(
    builder: &mut ParamsBuilder,
    tie: Tie,
    [source, target]: [usize; 2],
    width: usize,
    init: Init,
) -> [ParamId; 2] {
    match tie {
        Tie::Shared => [builder.add_weight("shared_embedding.weight", [source, width], init); 2],
        Tie::Separate => [
            builder.add_weight("encoder.token_embedding.weight", [source, width], init),
            builder.add_weight("decoder.token_embedding.weight", [target, width], init),
        ],
    }
}
