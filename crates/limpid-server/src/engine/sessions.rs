//! The generations of one model, in shards: each core advances those of one.
//!
//! Small weights are in the caches of every core, so each core computes the rows of its own
//! generations from beginning to end, without waiting for the others at every product. Large ones
//! come from memory and are read once for all: one shard, whose products all cores share. A
//! generation that runs alone has all cores either way.

use super::job::{GenerationEntry, JobError};
use super::prefixes::{Place, Prefixes};
use super::shard::{Active, NewPrefix, Outcome, Shard, Stepped, Todo};
use crate::models::ServedModel;
use crate::scheduler::{JobId, What, Work};
use limpid::generate::{Cost, DecoderSlots, EncoderDecoderSlots, KvFormat, RecurrentSlots, Slots};
use limpid::model::{Model, Stack};
use limpid_tensor::team;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

/// Bytes of weights that every core reads for itself.
const CACHED_WEIGHTS: usize = 128 << 20;

/// The generations of one model.
pub struct ModelSessions<'m> {
    served: &'m ServedModel,
    /// None for an encoder, which generates nothing.
    shards: Vec<Mutex<Shard<'m>>>,
    /// The shard of each generation.
    homes: HashMap<JobId, Home>,
    prefixes: Option<Prefixes>,
}

#[derive(Clone, Copy)]
struct Home {
    shard: usize,
    client: u64,
    /// Tokens of its prompt that another one began with, until the first chunk.
    known: usize,
}

/// What a step of a model gives.
#[derive(Default)]
pub struct ModelStep {
    /// What became of each generation.
    pub outcomes: Vec<(JobId, Outcome)>,
    /// Generations whose first tokens need no computing, and how many.
    pub reused: Vec<(JobId, usize)>,
    /// Rows that were computed.
    pub rows: usize,
}

/// Sequences of a model, with keys and values in f32, which all generations share.
fn slots(served: &ServedModel) -> Option<Box<dyn Slots + Send + '_>> {
    let (weights, most) = (served.pipeline.weights(), usize::MAX);
    match &served.pipeline.model().stack {
        Stack::Decoder(model) => Some(Box::new(DecoderSlots::new(model, weights, most))),
        Stack::EncoderDecoder(model) => {
            Some(Box::new(EncoderDecoderSlots::new(model, weights, most)))
        }
        Stack::Recurrent(model) => Some(Box::new(RecurrentSlots::new(model, weights, most))),
        Stack::Encoder(_) => None,
    }
}

impl<'m> ModelSessions<'m> {
    /// None yet; beginnings of prompts take at most so many bytes.
    pub fn new(served: &'m ServedModel, prefix_bytes: u64) -> Self {
        let model = served.pipeline.model();
        let cached = 4 * model.params.count() <= CACHED_WEIGHTS;
        let count = if cached { team::threads() } else { 1 };
        let shard = |_| {
            let slots = slots(served)?;
            Some(Mutex::new(Shard { slots, active: BTreeMap::new() }))
        };
        let one = Cost { source: 0, prompt: 1, new_tokens: 0, sequences: 1 };
        let decoder = matches!(model.stack, Stack::Decoder(_)) && prefix_bytes > 0;
        Self {
            served,
            shards: (0..count).filter_map(shard).collect(),
            homes: HashMap::new(),
            prefixes: decoder.then(|| Prefixes::new(prefix_bytes, memory(model, &one))),
        }
    }

    /// Starts a generation; gives the tokens of its prompt that are known.
    pub fn start(&mut self, job: JobId, entry: &mut GenerationEntry) -> Result<usize, JobError> {
        let prepared = entry.prepared.take().ok_or(JobError::Internal)?;
        if prepared.kv_format() != KvFormat::F32 {
            return Err(JobError::KvFormat(prepared.kv_format()));
        }
        let (prompt, client) = (prepared.prompt(), entry.client);
        let known = self.prefixes.as_mut().and_then(|known| known.find(client, prompt));
        let remember = self.prefixes.as_ref().is_some_and(|known| known.wants(client, prompt));
        let generation = prepared.begin(self.served.pipeline.tokenizer())?;
        let (events, listening, slots) = (entry.events.clone(), entry.listening, Vec::new());
        let active = Active { generation, events, listening, slots, remember };
        let (shard, beginning) = match known {
            Some((Place { shard, slot }, tokens)) => (shard, Some((slot, tokens))),
            None => {
                let load = |i: &usize| lock(&self.shards[*i]).active.len();
                ((0..self.shards.len()).min_by_key(load).ok_or(JobError::Internal)?, None)
            }
        };
        lock(&self.shards[shard]).start(job, active, beginning);
        let known = beginning.map_or(0, |(_, tokens)| tokens);
        self.homes.insert(job, Home { shard, client, known });
        Ok(known)
    }

    /// Forgets a generation.
    pub fn close(&mut self, job: JobId) {
        if let Some(home) = self.homes.remove(&job) {
            lock(&self.shards[home.shard]).close(job);
        }
    }

    /// Computes the generations of a step: each shard on a core of its own.
    pub fn step(&mut self, work: &[&Work]) -> ModelStep {
        let mut found = ModelStep::default();
        let mut todo: Vec<BTreeMap<JobId, Todo>> =
            self.shards.iter().map(|_| BTreeMap::new()).collect();
        for work in work {
            let Some(home) = self.homes.get_mut(&work.job) else { continue };
            let what = match &work.what {
                What::Pass => continue,
                What::Open => Todo::Open,
                What::Advance(ranges) => {
                    let mut ranges = ranges.clone();
                    let known = std::mem::take(&mut home.known);
                    if known >= ranges[0].end {
                        found.reused.push((work.job, known));
                        continue;
                    }
                    ranges[0].start = ranges[0].start.max(known);
                    found.rows += ranges.iter().map(|range| range.len()).sum::<usize>();
                    Todo::Advance(ranges)
                }
            };
            todo[home.shard].insert(work.job, what);
        }
        let busy: Vec<usize> = (0..todo.len()).filter(|i| !todo[*i].is_empty()).collect();
        let stepped: Vec<Mutex<Stepped>> = busy.iter().map(|_| Mutex::default()).collect();
        let run = |i: usize| {
            *lock(&stepped[i]) = lock(&self.shards[busy[i]]).step(&todo[busy[i]]);
        };
        match busy.len() {
            // Alone, it has all cores for its products.
            0 | 1 => (0..busy.len()).for_each(run),
            several => team::run(several, run),
        }
        for (shard, stepped) in busy.iter().zip(stepped) {
            let stepped = stepped.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
            for NewPrefix { job, prompt, slot } in stepped.prefixes {
                self.remember(job, &prompt, Place { shard: *shard, slot });
            }
            found.outcomes.extend(stepped.outcomes);
        }
        for (job, outcome) in &found.outcomes {
            if matches!(outcome, Outcome::Done(_) | Outcome::Failed(_)) {
                self.homes.remove(job);
            }
        }
        found
    }

    fn remember(&mut self, job: JobId, prompt: &[u32], place: Place) {
        let dropped = match (&mut self.prefixes, self.homes.get(&job)) {
            // Another one may have come first in the same step.
            (Some(known), Some(home)) if known.wants(home.client, prompt) => {
                known.insert(home.client, prompt, place)
            }
            _ => vec![place],
        };
        for Place { shard, slot } in dropped {
            lock(&self.shards[shard]).slots.close(slot);
        }
    }

    /// Bytes of keys and values that have memory, those of ended generations among them.
    pub fn bytes_in_memory(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).slots.bytes_in_memory() as u64).sum()
    }

    /// Gives the memory of ended generations back to the system.
    pub fn trim(&mut self) {
        self.shards.iter().for_each(|shard| lock(shard).slots.trim());
    }

    /// Bytes of beginnings of prompts.
    pub fn prefix_bytes(&self) -> u64 {
        self.prefixes.as_ref().map_or(0, Prefixes::bytes)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
