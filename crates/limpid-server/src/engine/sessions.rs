//! The sessions of one model, one for each generation: where rows become logits.
//!
//! This file alone knows how the past of sequences is kept.

use crate::scheduler::JobId;
use limpid::generate::Session;
use limpid::model::{Model, Stack};
use limpid_tensor::tensor::Tensor;
use std::collections::HashMap;

/// Tokens for the sequences of one generation.
pub struct Rows<'r> {
    /// Whose.
    pub job: JobId,
    /// New tokens of each sequence.
    pub tokens: Vec<&'r [u32]>,
}

/// The open sessions of one model.
pub struct ModelSessions<'m> {
    model: &'m Model,
    open: HashMap<JobId, Box<dyn Session + 'm>>,
}

impl<'m> ModelSessions<'m> {
    /// None yet.
    pub fn new(model: &'m Model) -> Self {
        Self { model, open: HashMap::new() }
    }

    /// Opens the session of a generation and encodes its sources.
    pub fn open(&mut self, job: JobId, sources: &[Vec<u32>], capacity: usize) {
        let sources: Vec<&[u32]> = sources.iter().map(Vec::as_slice).collect();
        let params = &self.model.params;
        let session: Box<dyn Session + 'm> =
            match (&self.model.stack, self.model.stack.translator()) {
                (Stack::Decoder(decoder), _) => Box::new(limpid::generate::DecoderSession::new(
                    decoder,
                    params,
                    sources.len(),
                    capacity,
                )),
                (_, Some(translator)) => translator.session(params, &sources, capacity),
                _ => unreachable!("an encoder generates nothing"),
            };
        self.open.insert(job, session);
    }

    /// Keeps these sequences of a generation, in this order.
    pub fn select(&mut self, job: JobId, sequences: &[usize]) {
        if let Some(session) = self.open.get_mut(&job) {
            session.select(sequences);
        }
    }

    /// Appends tokens, and gives the logits of the next ones: (sequences, v) for each generation.
    pub fn advance(&mut self, rows: &[Rows]) -> Vec<Tensor> {
        let advance = |rows: &Rows| {
            let session = self.open.get_mut(&rows.job).expect("it was opened");
            let tokens: Vec<Vec<u32>> = rows.tokens.iter().map(|tokens| tokens.to_vec()).collect();
            session.advance(&tokens)
        };
        rows.iter().map(advance).collect()
    }

    /// Forgets a generation.
    pub fn close(&mut self, job: JobId) {
        self.open.remove(&job);
    }
}

/// Bytes of keys and values, or of states, that a generation can need.
pub fn memory(model: &Model, cost: &limpid::generate::Cost) -> u64 {
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
