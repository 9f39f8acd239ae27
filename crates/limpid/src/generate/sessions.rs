//! Where sessions come from: a model of this thread's own, or one whose steps are shared.

use super::{Batch, DecoderSlots, EncoderDecoderSlots, Session};
use crate::model::{Decoder, Seq2Seq};
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::packed_weights::Weights;

/// Opens the sessions of a generation.
///
/// A model with its weights is one. A server is another: its sessions hand their tokens to a thread
/// that computes those of all callers together, and a generation is the same either way.
pub trait Sessions: Sync {
    /// A session without sequences yet, each of at most `capacity` tokens.
    fn open<'s>(&'s self, capacity: usize) -> Box<dyn Session + 's>;
}

/// With keys and values in this format.
impl Sessions for (&Decoder, Weights<'_>, KvFormat) {
    fn open<'s>(&'s self, capacity: usize) -> Box<dyn Session + 's> {
        let slots = DecoderSlots::new(self.0, self.1, capacity).with_kv_format(self.2);
        Box::new(Batch::over::<[u32; 0]>(slots, &[]))
    }
}

/// With keys and values in this format; a recurrent model has none.
impl Sessions for (Seq2Seq<'_>, Weights<'_>, KvFormat) {
    fn open<'s>(&'s self, capacity: usize) -> Box<dyn Session + 's> {
        let (model, weights, format) = *self;
        match model {
            Seq2Seq::Transformer(model) => {
                let slots = EncoderDecoderSlots::new(model, weights, capacity);
                Box::new(Batch::over::<[u32; 0]>(slots.with_kv_format(format), &[]))
            }
            Seq2Seq::Recurrent(_) => model.session::<[u32; 0]>(weights, &[], capacity),
        }
    }
}

/// What a generation can need at most, known before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Tokens of the source of an encoder-decoder.
    pub source: usize,
    /// The first tokens of the decoder.
    pub prompt: usize,
    /// New tokens per sequence.
    pub new_tokens: usize,
    /// Sequences in memory at once: samples or beams.
    pub sequences: usize,
}

impl Cost {
    /// Tokens that are read and generated.
    pub fn tokens(&self) -> usize {
        self.source + self.prompt + self.sequences * self.new_tokens
    }
}
