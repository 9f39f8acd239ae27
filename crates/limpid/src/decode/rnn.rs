//! A recurrent encoder-decoder writing: the source is read once, and all that is kept of what was written is a state.

use super::{Seq2SeqSession, Session};
use crate::data::batch::Packed;
use crate::model::rnn::RnnMemory;
use crate::model::{Rnn, Translator};
use limpid_tensor::ops::State;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// Translations that a recurrent model is writing.
pub struct RnnSession<'a> {
    model: &'a Rnn,
    params: &'a Params,
    /// Its states are those after what has been written.
    memory: RnnMemory,
    capacity: usize,
}

impl<'a> RnnSession<'a> {
    /// Reads the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn new<S: AsRef<[u32]>>(model: &'a Rnn, params: &'a Params, sources: &[S], capacity: usize) -> Self {
        let memory = model.encode(&mut Tape::inference(params), &Packed::new(sources));
        Self { model, params, memory, capacity: capacity.min(model.config().max_length) }
    }
}

impl Session for RnnSession<'_> {
    #[track_caller]
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let input = Packed::new(tokens);
        let mut tape = Tape::inference(self.params);
        let RnnMemory { source, states } = &self.memory;
        let (hidden, states) = self.model.decode(&mut tape, &input, source.as_ref(), states);
        self.memory.states = states;
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    fn select(&mut self, sequences: &[usize]) {
        let mut tape = Tape::inference(self.params);
        let rows: Arc<[u32]> = sequences.iter().map(|i| *i as u32).collect();
        for state in self.memory.states.iter_mut().flatten() {
            let (h, c) = (tape.rows(&state.h, &rows), state.c.as_ref().map(|c| tape.rows(c, &rows)));
            *state = State { h, c };
        }
        if let Some(source) = &mut self.memory.source {
            // The source's rows stay where they are: only who looks at which of them changes.
            source.spans = sequences.iter().map(|i| source.spans[*i]).collect();
        }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

impl<'a> Translator<'a> {
    /// Reads the sources; the targets are empty and grow to at most `capacity` tokens.
    pub fn session<S: AsRef<[u32]>>(
        &self,
        params: &'a Params,
        sources: &[S],
        capacity: usize,
    ) -> Box<dyn Session + 'a> {
        match *self {
            Translator::Transformer(model) => Box::new(Seq2SeqSession::new(model, params, sources, capacity)),
            Translator::Rnn(model) => Box::new(RnnSession::new(model, params, sources, capacity)),
        }
    }
}
