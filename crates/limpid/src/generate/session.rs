//! Sessions of the three autoregressive stacks: a batch of sequences in an order, over [`Slots`].

use super::Session;
use super::recurrent_slots::RecurrentSlots;
use super::slots::{DecoderSlots, EncoderDecoderSlots, Slot, Slots};
use crate::model::{Decoder, EncoderDecoder, Recurrent, Seq2Seq};
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::tensor::Tensor;

/// Sequences of a model in the order of a batch.
pub struct Batch<S> {
    slots: S,
    order: Vec<Slot>,
}

/// Sequences that a decoder generates.
pub type DecoderSession<'a> = Batch<DecoderSlots<'a>>;

/// Target sequences that an encoder-decoder generates.
pub type EncoderDecoderSession<'a> = Batch<EncoderDecoderSlots<'a>>;

/// Target sequences that a recurrent encoder-decoder generates.
pub type RecurrentSession<'a> = Batch<RecurrentSlots<'a>>;

impl<'a> Batch<DecoderSlots<'a>> {
    /// `sequences` empty sequences of at most `capacity` tokens.
    pub fn new(
        model: &'a Decoder,
        weights: impl Into<Weights<'a>>,
        sequences: usize,
        capacity: usize,
    ) -> Self {
        Self::over(DecoderSlots::new(model, weights, capacity), &vec![[0_u32; 0]; sequences])
    }
}

impl<'a> Batch<EncoderDecoderSlots<'a>> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn new<T: AsRef<[u32]>>(
        model: &'a EncoderDecoder,
        weights: impl Into<Weights<'a>>,
        sources: &[T],
        capacity: usize,
    ) -> Self {
        Self::over(EncoderDecoderSlots::new(model, weights, capacity), sources)
    }
}

impl<'a> Batch<RecurrentSlots<'a>> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn new<T: AsRef<[u32]>>(
        model: &'a Recurrent,
        weights: impl Into<Weights<'a>>,
        sources: &[T],
        capacity: usize,
    ) -> Self {
        Self::over(RecurrentSlots::new(model, weights, capacity), sources)
    }
}

impl<S: Slots> Batch<S> {
    /// A batch with an empty sequence for each source.
    pub fn over<T: AsRef<[u32]>>(slots: S, sources: &[T]) -> Self {
        let mut batch = Self { slots, order: Vec::new() };
        batch.join(&sources.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        batch
    }
}

impl<S: Slots> Session for Batch<S> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        assert_eq!(tokens.len(), self.order.len(), "advance: tokens for every sequence");
        let tokens: Vec<(Slot, &[u32])> =
            self.order.iter().copied().zip(tokens.iter().map(Vec::as_slice)).collect();
        self.slots.advance(&tokens)
    }

    fn select(&mut self, sequences: &[usize]) {
        let mut taken = vec![false; self.order.len()];
        let select = |i: &usize| match std::mem::replace(&mut taken[*i], true) {
            false => self.order[*i],
            true => self.slots.fork(self.order[*i]),
        };
        let order = sequences.iter().map(select).collect();
        let before = std::mem::replace(&mut self.order, order);
        let dropped = before.into_iter().zip(taken).filter(|(_, taken)| !taken);
        dropped.for_each(|(slot, _)| self.slots.close(slot));
    }

    fn join(&mut self, sources: &[&[u32]]) {
        if !sources.is_empty() {
            self.order.extend(self.slots.open(sources));
        }
    }

    fn capacity(&self) -> usize {
        self.slots.capacity()
    }
}

impl<'a> Seq2Seq<'a> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn session<T: AsRef<[u32]>>(
        &self,
        weights: impl Into<Weights<'a>>,
        sources: &[T],
        capacity: usize,
    ) -> Box<dyn Session + 'a> {
        match *self {
            Seq2Seq::Transformer(model) => {
                Box::new(EncoderDecoderSession::new(model, weights, sources, capacity))
            }
            Seq2Seq::Recurrent(model) => {
                Box::new(RecurrentSession::new(model, weights, sources, capacity))
            }
        }
    }
}
