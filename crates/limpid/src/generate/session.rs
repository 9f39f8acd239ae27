//! Sessions of the three autoregressive stacks: prompts in one pass, then a token at a time. What
//! came before is kept: cached keys and values, or the hidden state of a recurrent model; and the
//! encoded source.

use super::Session;
use crate::data::batch::Packed;
use crate::model::encoder_decoder::Memory;
use crate::model::recurrent::RecurrentMemory;
use crate::model::{Decoder, EncoderDecoder, Recurrent, Seq2Seq};
use crate::nn::KvCache;
use limpid_tensor::ops::RecurrentState;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// Sequences that a decoder generates.
pub struct DecoderSession<'a> {
    model: &'a Decoder,
    params: &'a Params,
    caches: Vec<KvCache>,
    capacity: usize,
}

impl<'a> DecoderSession<'a> {
    /// `sequences` empty sequences of at most `capacity` tokens.
    pub fn new(model: &'a Decoder, params: &'a Params, sequences: usize, capacity: usize) -> Self {
        let capacity = capacity.min(model.config().max_position_embeddings);
        Self { model, params, caches: model.caches(sequences, capacity), capacity }
    }
}

impl Session for DecoderSession<'_> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let input = Packed::continuing(tokens, self.caches[0].lengths());
        let mut tape = Tape::inference(self.params);
        let hidden = self.model.hidden(&mut tape, &input, Some(&mut self.caches));
        // Only the last position of each sequence predicts the next token.
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    fn select(&mut self, sequences: &[usize]) {
        self.caches.iter_mut().for_each(|cache| cache.select(sequences));
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Target sequences that an encoder-decoder generates.
pub struct EncoderDecoderSession<'a> {
    model: &'a EncoderDecoder,
    params: &'a Params,
    memory: Memory,
    caches: Vec<KvCache>,
    capacity: usize,
}

impl<'a> EncoderDecoderSession<'a> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn new<S: AsRef<[u32]>>(
        model: &'a EncoderDecoder,
        params: &'a Params,
        sources: &[S],
        capacity: usize,
    ) -> Self {
        let source = Packed::new(sources);
        let mut tape = Tape::inference(params);
        let encoded = model.encode(&mut tape, &source);
        let memory = model.memory(&mut tape, &encoded, &source);
        let capacity = capacity.min(model.config().max_position_embeddings);
        let caches = model.caches(sources.len(), capacity);
        Self { model, params, memory, caches, capacity }
    }
}

impl Session for EncoderDecoderSession<'_> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let input = Packed::continuing(tokens, self.caches[0].lengths());
        let mut tape = Tape::inference(self.params);
        let hidden = self.model.decode(&mut tape, &input, &self.memory, Some(&mut self.caches));
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    fn select(&mut self, sequences: &[usize]) {
        self.caches.iter_mut().for_each(|cache| cache.select(sequences));
        // The source's rows stay where they are: only which sequence attends to which changes.
        self.memory.spans = sequences.iter().map(|i| self.memory.spans[*i]).collect();
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Target sequences that a recurrent encoder-decoder generates.
pub struct RecurrentSession<'a> {
    model: &'a Recurrent,
    params: &'a Params,
    /// Its states are those after the tokens so far.
    memory: RecurrentMemory,
    capacity: usize,
}

impl<'a> RecurrentSession<'a> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn new<S: AsRef<[u32]>>(
        model: &'a Recurrent,
        params: &'a Params,
        sources: &[S],
        capacity: usize,
    ) -> Self {
        let memory = model.encode(&mut Tape::inference(params), &Packed::new(sources));
        Self { model, params, memory, capacity: capacity.min(model.config().max_length) }
    }
}

impl Session for RecurrentSession<'_> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let input = Packed::new(tokens);
        let mut tape = Tape::inference(self.params);
        let RecurrentMemory { source, states } = &self.memory;
        let (hidden, states) = self.model.decode(&mut tape, &input, source.as_ref(), states);
        self.memory.states = states;
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    fn select(&mut self, sequences: &[usize]) {
        let mut tape = Tape::inference(self.params);
        let rows: Arc<[u32]> = sequences.iter().map(|i| *i as u32).collect();
        for state in self.memory.states.iter_mut().flatten() {
            let (h, c) =
                (tape.rows(&state.h, &rows), state.c.as_ref().map(|c| tape.rows(c, &rows)));
            *state = RecurrentState { h, c };
        }
        if let Some(source) = &mut self.memory.source {
            // The source's rows stay where they are: only which sequence attends to which changes.
            source.spans = sequences.iter().map(|i| source.spans[*i]).collect();
        }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<'a> Seq2Seq<'a> {
    /// Encodes the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn session<S: AsRef<[u32]>>(
        &self,
        params: &'a Params,
        sources: &[S],
        capacity: usize,
    ) -> Box<dyn Session + 'a> {
        match *self {
            Seq2Seq::Transformer(model) => {
                Box::new(EncoderDecoderSession::new(model, params, sources, capacity))
            }
            Seq2Seq::Recurrent(model) => {
                Box::new(RecurrentSession::new(model, params, sources, capacity))
            }
        }
    }
}
