//! The sequences of one model: those of all generations advance in one pass.
//!
//! This file alone knows how the past of sequences is kept.

use crate::scheduler::JobId;
use limpid::generate::{Cost, DecoderSlots, EncoderDecoderSlots, RecurrentSlots, Slot, Slots};
use limpid::model::{Model, Stack};
use limpid::pipeline::Pipeline;
use limpid_tensor::tensor::Tensor;
use std::collections::HashMap;

/// Tokens for the sequences of one generation.
pub struct Rows<'r> {
    /// Whose.
    pub job: JobId,
    /// New tokens of each sequence.
    pub tokens: Vec<&'r [u32]>,
}

/// The sequences of one model.
pub struct ModelSessions<'m> {
    /// None for an encoder, which generates nothing.
    slots: Option<Box<dyn Slots + 'm>>,
    open: HashMap<JobId, Vec<Slot>>,
}

impl<'m> ModelSessions<'m> {
    /// None yet.
    pub fn new(pipeline: &'m Pipeline) -> Self {
        let weights = pipeline.weights();
        let slots: Option<Box<dyn Slots + 'm>> = match &pipeline.model().stack {
            Stack::Decoder(model) => Some(Box::new(DecoderSlots::new(model, weights, usize::MAX))),
            Stack::EncoderDecoder(model) => {
                Some(Box::new(EncoderDecoderSlots::new(model, weights, usize::MAX)))
            }
            Stack::Recurrent(model) => {
                Some(Box::new(RecurrentSlots::new(model, weights, usize::MAX)))
            }
            Stack::Encoder(_) => None,
        };
        Self { slots, open: HashMap::new() }
    }

    fn slots(&mut self) -> &mut (dyn Slots + 'm) {
        self.slots.as_deref_mut().expect("an encoder generates nothing")
    }

    /// Opens sequences for a generation, after those it has, and encodes their sources.
    pub fn open(&mut self, job: JobId, sources: &[Vec<u32>]) {
        let sources: Vec<&[u32]> = sources.iter().map(Vec::as_slice).collect();
        let slots = self.slots().open(&sources);
        self.open.entry(job).or_default().extend(slots);
    }

    /// Keeps these sequences of a generation, in this order. One that is kept twice is forked.
    pub fn select(&mut self, job: JobId, sequences: &[usize]) {
        let Some(before) = self.open.remove(&job) else { return };
        let mut taken = vec![false; before.len()];
        let slots = self.slots();
        let select = |i: &usize| match std::mem::replace(&mut taken[*i], true) {
            false => before[*i],
            true => slots.fork(before[*i]),
        };
        let order: Vec<Slot> = sequences.iter().map(select).collect();
        let dropped = before.iter().zip(taken).filter(|(_, taken)| !taken);
        dropped.for_each(|(slot, _)| slots.close(*slot));
        self.open.insert(job, order);
    }

    /// Appends tokens in one pass, and gives the logits of the next ones: (sequences, v) for each
    /// generation.
    pub fn advance(&mut self, rows: &[Rows]) -> Vec<Tensor> {
        let mut tokens: Vec<(Slot, &[u32])> = Vec::new();
        for rows in rows {
            tokens.extend(self.open[&rows.job].iter().copied().zip(rows.tokens.iter().copied()));
        }
        let logits = self.slots().advance(&tokens);
        let v = logits.rows_cols().1;
        let mut from = 0;
        let split = |rows: &Rows| {
            let count = rows.tokens.len();
            let data = &logits.data()[from * v..(from + count) * v];
            from += count;
            Tensor::new([count, v], data)
        };
        rows.iter().map(split).collect()
    }

    /// Forgets a generation.
    pub fn close(&mut self, job: JobId) {
        for slot in self.open.remove(&job).unwrap_or_default() {
            self.slots().close(slot);
        }
    }
}

/// Bytes of keys and values, or of states, that a generation can need.
pub fn memory(model: &Model, cost: &Cost) -> u64 {
    const F32: usize = 4;
    let tokens = cost.prompt + cost.new_tokens;
    let floats = match &model.stack {
        Stack::Decoder(decoder) => {
            let config = decoder.config();
            let width = config.kv_heads() * config.head_dim();
            cost.sequences * tokens * config.num_hidden_layers * 2 * width
        }
        Stack::EncoderDecoder(model) => {
            let config = model.config();
            let per_token = config.decoder_layers * 2 * config.d_model;
            (cost.sequences * tokens + cost.source) * per_token
        }
        Stack::Recurrent(model) => {
            let config = model.config();
            let states = cost.sequences * config.num_layers * 2 * config.hidden_size;
            states + cost.source * config.source_width()
        }
        Stack::Encoder(_) => 0,
    };
    (floats * F32) as u64
}
