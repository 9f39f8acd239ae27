//! The scheduler: which rows are computed next. A pure state machine: time is an argument, no
//! thread, no model.
//!
//! ```text
//! submit ──▶ queue of each (model, client) ──▶ running ──▶ finish
//!   │ 429, 413, 503       │ deficit round-robin   │ source, prompt, advance, …
//!   ▼                     ▼                       ▼
//! refused             cancelled, expired      cancelled, expired
//! ```
//!
//! A **generation** is admitted with all the memory it can ever need, so nothing is preempted and
//! the bound is exact. Its source and prompt come first; then it asks for one row per sequence,
//! again and again.
//! A **pass** is one forward pass of known length: a text of an encoder.
//!
//! A step decodes every running sequence that waits for it, and fills the rest of its time with
//! chunks of prompts and with passes. Where a prompt is cut depends on its length alone
//! (`chunks`), so what else is running cannot change a bit of an answer.

mod chunks;
mod flows;
mod plan;
#[cfg(test)]
mod tests;

pub use chunks::{CHUNK, chunk};
pub use plan::{Ended, Plan, What, Work};

use flows::Flows;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Names a job; a later job has a larger number.
pub type JobId = u64;

/// Whose jobs take turns: those of one client with one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// Index of the model.
    pub model: usize,
    /// The client: a hash of its key or address.
    pub client: u64,
}

/// What a job computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its source or prompt, then rows by [`Scheduler::advance`] until it finishes.
    Generation {
        /// Tokens of its source; none for a decoder.
        source: usize,
        /// Tokens of its prompt.
        prompt: usize,
    },
    /// One forward pass of so many rows.
    Pass {
        /// Rows.
        rows: usize,
    },
}

/// A unit of work: one prompt with its samples or beams, or one text.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// Whose it is.
    pub flow: Flow,
    /// Tokens it counts in the queue: read and generated.
    pub tokens: usize,
    /// Bytes of keys and values it can need; a pass keeps none.
    pub memory: u64,
    /// When it is given up, counted from the start of the server.
    pub deadline: Option<Duration>,
    /// What it computes.
    pub kind: Kind,
}

/// Bounds of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Tokens in the queue.
    pub queue_tokens: usize,
    /// Bytes of keys and values.
    pub memory: u64,
    /// Generations at once.
    pub running: usize,
    /// Time that chunks of prompts and passes may add to a step.
    pub step: Duration,
}

/// Why jobs were not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The queue is full.
    Overloaded {
        /// When its tokens will have been computed, as far as can be told.
        retry_after: Duration,
    },
    /// They would not fit into an empty queue.
    TooManyTokens {
        /// Tokens they have.
        tokens: usize,
        /// Tokens the queue takes.
        limit: usize,
    },
    /// One of them would not fit into empty memory.
    TooMuchMemory {
        /// Bytes it can need.
        bytes: u64,
        /// Bytes there are.
        limit: u64,
    },
    /// The server is shutting down.
    Draining,
}

/// A generation that runs.
struct Running {
    job: Job,
    asks: Option<Asks>,
}

/// The rows that a generation waits for.
enum Asks {
    /// Encodes so many source tokens, and appends the prompt.
    Open { rows: usize },
    /// Appends so many tokens to each sequence, those before `done` being computed.
    Advance { lengths: Vec<usize>, done: usize },
}

/// The state machine.
pub struct Scheduler {
    limits: Limits,
    flows: Flows,
    running: BTreeMap<JobId, Running>,
    /// Passes that the last plan handed out.
    passes: BTreeMap<JobId, Job>,
    cancelled: BTreeSet<JobId>,
    memory: u64,
    draining: bool,
    /// Seconds per row of each model, in chunks and passes.
    row_seconds: BTreeMap<usize, f64>,
    throughput: Throughput,
}

impl Scheduler {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            flows: Flows::default(),
            running: BTreeMap::new(),
            passes: BTreeMap::new(),
            cancelled: BTreeSet::new(),
            memory: 0,
            draining: false,
            row_seconds: BTreeMap::new(),
            throughput: Throughput::default(),
        }
    }

    /// Queues the jobs of a request, all or none.
    /// # Errors
    /// A [`Refusal`]; then nothing has changed.
    pub fn submit(&mut self, jobs: &[Job]) -> Result<(), Refusal> {
        if self.draining {
            return Err(Refusal::Draining);
        }
        let tokens: usize = jobs.iter().map(|job| job.tokens).sum();
        let (limit, bytes) = (self.limits.queue_tokens, self.limits.memory);
        if tokens > limit {
            return Err(Refusal::TooManyTokens { tokens, limit });
        }
        if let Some(job) = jobs.iter().find(|job| job.memory > bytes) {
            return Err(Refusal::TooMuchMemory { bytes: job.memory, limit: bytes });
        }
        if self.flows.tokens() + tokens > limit {
            let excess = (self.flows.tokens() + tokens - limit) as f64;
            let seconds = excess / self.throughput.tokens_per_second();
            let retry_after = Duration::from_secs_f64(seconds.clamp(1.0, 60.0));
            return Err(Refusal::Overloaded { retry_after });
        }
        jobs.iter().for_each(|job| self.flows.push(*job));
        Ok(())
    }

    /// A running generation asks to append so many tokens to each of its sequences.
    pub fn advance(&mut self, id: JobId, lengths: Vec<usize>) {
        if let Some(running) = self.running.get_mut(&id) {
            running.asks = Some(Asks::Advance { lengths, done: 0 });
        }
    }

    /// The first tokens of a prompt need no computing: another one began with them.
    pub fn reuse(&mut self, id: JobId, tokens: usize) {
        if let Some(Running { asks, job: Job { kind: Kind::Generation { prompt, .. }, .. } }) =
            self.running.get_mut(&id)
        {
            *asks = Some(Asks::Advance { lengths: vec![*prompt], done: tokens });
        }
    }

    /// Nobody waits for this job any more; the next plan drops it.
    pub fn cancel(&mut self, id: JobId) {
        if self.running.contains_key(&id) || self.flows.contains(id) {
            self.cancelled.insert(id);
        }
    }

    /// A job has ended: its memory is free.
    pub fn finish(&mut self, id: JobId) {
        let ended = self.running.remove(&id).map(|running| running.job);
        if let Some(job) = ended.or_else(|| self.passes.remove(&id)) {
            self.memory -= job.memory;
            self.throughput.tokens += job.tokens as f64;
        }
        self.cancelled.remove(&id);
    }

    /// A step took so long.
    pub fn stepped(&mut self, elapsed: Duration) {
        self.throughput.stepped(elapsed.as_secs_f64());
    }

    /// Chunks and passes of a model took so long.
    pub fn measured(&mut self, model: usize, rows: usize, elapsed: Duration) {
        if rows >= MEASURED_ROWS {
            let found = elapsed.as_secs_f64() / rows as f64;
            let known = self.row_seconds.entry(model).or_insert(found);
            *known += (found - *known) / 8.0;
        }
    }

    /// Admits nothing any more; what was admitted is computed.
    pub fn drain(&mut self) {
        self.draining = true;
    }

    /// Whether there is nothing to compute.
    pub fn is_idle(&self) -> bool {
        self.flows.is_empty() && self.running.is_empty() && self.passes.is_empty()
    }

    /// Whether there is nothing to compute, and will never be.
    pub fn is_drained(&self) -> bool {
        self.draining && self.is_idle()
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Duration> {
        let running = self.running.values().map(|running| &running.job);
        running.chain(self.flows.jobs()).filter_map(|job| job.deadline).min()
    }

    /// What is in it now.
    pub fn load(&self) -> Load {
        Load {
            queued_jobs: self.flows.jobs().count(),
            queued_tokens: self.flows.tokens(),
            running: self.running.len(),
            memory: self.memory,
        }
    }
}

/// How full a scheduler is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Jobs in the queue.
    pub queued_jobs: usize,
    /// Their tokens.
    pub queued_tokens: usize,
    /// Generations that run.
    pub running: usize,
    /// Bytes of keys and values that are reserved.
    pub memory: u64,
}

/// Fewer rows than this say more about overhead than about rows.
const MEASURED_ROWS: usize = 8;

/// Tokens of finished jobs per second of work, recent work counting more.
#[derive(Default)]
struct Throughput {
    tokens: f64,
    seconds: f64,
}

impl Throughput {
    /// Seconds after which what is known counts half.
    const WINDOW: f64 = 30.0;

    fn stepped(&mut self, seconds: f64) {
        self.seconds += seconds;
        if self.seconds > Self::WINDOW {
            (self.tokens, self.seconds) = (self.tokens / 2.0, self.seconds / 2.0);
        }
    }

    fn tokens_per_second(&self) -> f64 {
        // Before anything was measured: a guess on the slow side.
        if self.seconds < 0.1 { 500.0 } else { (self.tokens / self.seconds).max(1.0) }
    }
}
