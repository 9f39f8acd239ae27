//! Slots of a recurrent encoder-decoder: the past of a sequence is the state after its last token.

use super::slots::{Slot, SlotTable, Slots};
use crate::data::batch::Packed;
use crate::model::Recurrent;
use crate::model::recurrent::States;
use limpid_tensor::kernels::attention::Span;
use limpid_tensor::ops::{RecurrentState, SourceStates};
use limpid_tensor::packed_weights::Weights;
use limpid_tensor::tape::Var;
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// Target sequences that a recurrent encoder-decoder generates.
pub struct RecurrentSlots<'a> {
    model: &'a Recurrent,
    weights: Weights<'a>,
    /// With attention: keys and states of the tokens of all sources that are open.
    source: Option<(Tensor, Tensor)>,
    slots: SlotTable<Target>,
    capacity: usize,
}

/// A target sequence.
#[derive(Clone)]
struct Target {
    /// Hidden and cell states of every layer, one after another.
    states: Arc<[f32]>,
    /// The rows of its source.
    source: Span,
    len: usize,
}

impl<'a> RecurrentSlots<'a> {
    /// No sequences yet; each may grow to `capacity` tokens, as far as the model allows.
    pub fn new(model: &'a Recurrent, weights: impl Into<Weights<'a>>, capacity: usize) -> Self {
        let weights = weights.into();
        let capacity = capacity.min(model.config().max_length);
        Self { model, weights, source: None, slots: SlotTable::new(), capacity }
    }

    /// Puts the sources that are still open and new ones into one matrix, and gives the first row
    /// of the new ones.
    fn join_sources(&mut self, new: &SourceStates) -> usize {
        let mut kept: Vec<(Span, usize)> = Vec::new();
        let mut rows = 0;
        for target in self.slots.iter_mut() {
            let known = kept.iter().find(|(span, _)| *span == target.source);
            let start = known.map_or(rows, |(_, start)| *start);
            if known.is_none() {
                kept.push((target.source, rows));
                rows += target.source.len;
            }
            target.source.start = start;
        }
        let joined = |old: Option<&Tensor>, new: &Tensor| {
            let (count, width) = new.rows_cols();
            let mut all = Tensor::uninit([rows + count, width]);
            let (before, after) = all.data_mut().split_at_mut(rows * width);
            for (span, start) in &kept {
                let old = old.expect("kept sources have rows").data();
                before[start * width..][..span.len * width]
                    .copy_from_slice(&old[span.start * width..][..span.len * width]);
            }
            after.copy_from_slice(new.data());
            all
        };
        let (keys, values) = self.source.as_ref().map(|(keys, values)| (keys, values)).unzip();
        let both = (joined(keys, new.keys.value()), joined(values, new.values.value()));
        self.source = Some(both);
        rows
    }

    /// The states of some sequences as matrices.
    fn gather(&self, tokens: &[(Slot, &[u32])]) -> States {
        let config = self.model.config();
        let (n, h) = (tokens.len(), config.hidden_size);
        let mut part = 0;
        let mut next = || {
            let mut matrix = Tensor::uninit([n, h]);
            for (row, (slot, _)) in matrix.data_mut().chunks_exact_mut(h).zip(tokens) {
                row.copy_from_slice(&self.slots.get(*slot).states[part * h..][..h]);
            }
            part += 1;
            Var::constant(matrix)
        };
        let mut states = States::default();
        for state in states.iter_mut().take(config.num_layers) {
            let h = next();
            *state = Some(RecurrentState { h, c: config.cell.has_cell_state().then(&mut next) });
        }
        states
    }
}

/// The states of sequence `i`, as a [`Target`] has them.
fn states_of(states: &States, i: usize) -> Arc<[f32]> {
    let parts = states.iter().flatten().flat_map(|state| [Some(&state.h), state.c.as_ref()]);
    parts.flatten().flat_map(|part| part.value().row(i)).copied().collect()
}

impl Slots for RecurrentSlots<'_> {
    fn open(&mut self, sources: &[&[u32]]) -> Vec<Slot> {
        let packed = Packed::new(sources);
        let memory = self.model.encode(&mut self.weights.tape(), &packed);
        let first = memory.source.as_ref().map_or(0, |source| self.join_sources(source));
        let mut open = |(i, span): (usize, &Span)| {
            let source = Span { start: first + span.start, len: span.len };
            self.slots.insert(Target { states: states_of(&memory.states, i), source, len: 0 })
        };
        packed.spans.iter().enumerate().map(&mut open).collect()
    }

    #[track_caller]
    fn advance(&mut self, tokens: &[(Slot, &[u32])]) -> Tensor {
        for (slot, tokens) in tokens {
            let target = self.slots.get_mut(*slot);
            target.len += tokens.len();
            assert!(!tokens.is_empty(), "{slot:?} was given no tokens");
            assert!(
                target.len <= self.capacity,
                "{slot:?} outgrows its capacity of {} tokens",
                self.capacity
            );
        }
        let new: Vec<&[u32]> = tokens.iter().map(|(_, tokens)| *tokens).collect();
        let input = Packed::new(&new);
        let source = self.source.as_ref().map(|(keys, values)| SourceStates {
            keys: Var::constant(keys.clone()),
            values: Var::constant(values.clone()),
            spans: tokens.iter().map(|(slot, _)| self.slots.get(*slot).source).collect(),
        });
        let mut tape = self.weights.tape();
        let before = self.gather(tokens);
        let (hidden, after) = self.model.decode(&mut tape, &input, source.as_ref(), &before);
        for (i, (slot, _)) in tokens.iter().enumerate() {
            self.slots.get_mut(*slot).states = states_of(&after, i);
        }
        let last = tape.rows(&hidden, &input.last_rows());
        self.model.logits(&mut tape, &last).value().clone()
    }

    #[track_caller]
    fn fork(&mut self, slot: Slot) -> Slot {
        let target = self.slots.get(slot).clone();
        self.slots.insert(target)
    }

    #[track_caller]
    fn fork_prefix(&mut self, slot: Slot, tokens: usize) -> Slot {
        let len = self.len(slot);
        assert_eq!(tokens, len, "a state has no prefix: {tokens} tokens of {len}");
        self.fork(slot)
    }

    #[track_caller]
    fn close(&mut self, slot: Slot) {
        self.slots.remove(slot);
    }

    #[track_caller]
    fn len(&self, slot: Slot) -> usize {
        self.slots.get(slot).len
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn bytes_in_memory(&self) -> usize {
        let source = self.source.iter().flat_map(|(keys, values)| [keys, values]);
        let floats: usize = source.map(|tensor| tensor.data().len()).sum();
        let states: usize = self.slots.iter().map(|target| target.states.len()).sum();
        4 * (floats + states)
    }

    fn trim(&mut self) {
        if self.slots.iter().next().is_none() {
            self.source = None;
        }
    }
}
