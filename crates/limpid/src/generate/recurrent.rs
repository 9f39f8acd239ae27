//! Generation with a recurrent encoder-decoder: the source is encoded once, and the tokens before
//! are a hidden state.

use super::{EncoderDecoderSession, Session};
use crate::data::batch::Packed;
use crate::model::recurrent::RecurrentMemory;
use crate::model::{Recurrent, Seq2Seq};
use limpid_tensor::ops::RecurrentState;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

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
