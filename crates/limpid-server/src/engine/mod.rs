//! The engine: one thread that computes the steps of all models.
//!
//! ```text
//! handlers ── submit ──▶ scheduler ──▶ step: rows of all generations, texts of all encoders
//!                          ▲                 │ logits
//!                          └── advance ── sampling, beams, stop strings of each generation
//! ```
//!
//! A generation is the library's own search ([`Generation`](limpid::generate::Generation)), so an
//! answer is the same as the command line's, whatever the strategy. Small models are computed in
//! shards, one for each core (`sessions`).

mod job;
mod prefixes;
mod sessions;
mod shard;
mod step;

pub use job::{
    Answered, EventSender, GenerationEvent, JobError, Listening, Pass, PassOutput, PassSender,
};
pub use sessions::memory;

use crate::metrics::Metrics;
use crate::models::Models;
use crate::scheduler::{Flow, Job, JobId, Kind, Limits, Load, Refusal, Scheduler};
use job::{Entry, GenerationEntry};
use limpid::generate::{Generated, PreparedGeneration};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// What the engine's thread and handlers share.
pub struct Shared {
    models: Arc<Models>,
    metrics: Arc<Metrics>,
    start: Instant,
    /// Bytes of beginnings of prompts of each model.
    prefix_bytes: u64,
    /// Bytes of keys and values that may have memory, in all models.
    memory: u64,
    state: Mutex<State>,
    /// The engine's thread waits for it.
    work: Condvar,
}

struct State {
    scheduler: Scheduler,
    jobs: HashMap<JobId, Entry>,
    next: JobId,
}

/// A handle to the engine's thread.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// Whose request it is, and until when it waits.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// Index of the model.
    pub model: usize,
    /// A hash of the client's key or address.
    pub client: u64,
    /// How long the request may take.
    pub timeout: Duration,
}

/// Cancels its jobs when it is dropped, unless they ended.
pub struct Guard {
    shared: Arc<Shared>,
    jobs: Vec<JobId>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.shared.cancel(&self.jobs);
    }
}

/// Generations that were admitted, each with its events.
pub struct Generations {
    /// The events of each.
    pub events: Vec<mpsc::UnboundedReceiver<GenerationEvent>>,
    /// Dropping it cancels them.
    pub guard: Guard,
}

/// Passes that were admitted, each with its answer.
pub struct Passes {
    /// The answer of each.
    pub answers: Vec<oneshot::Receiver<Result<Answered, JobError>>>,
    /// Dropping it cancels them.
    pub guard: Guard,
}

impl Engine {
    /// Starts the thread. Beginnings of prompts take at most `prefix_bytes` for each model.
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        models: Arc<Models>,
        limits: Limits,
        prefix_bytes: u64,
        metrics: Arc<Metrics>,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let memory = limits.memory + prefix_bytes * models.iter().count() as u64;
        let state = State { scheduler: Scheduler::new(limits), jobs: HashMap::new(), next: 0 };
        let shared = Arc::new(Shared {
            models,
            metrics,
            start: Instant::now(),
            prefix_bytes,
            memory,
            state: Mutex::new(state),
            work: Condvar::new(),
        });
        let engine = Self { shared: Arc::clone(&shared) };
        let thread =
            std::thread::Builder::new().name("engine".into()).spawn(move || step::run(&shared))?;
        Ok((engine, thread))
    }

    /// Admits the generations of a request, all or none.
    /// # Errors
    /// A [`Refusal`].
    pub fn generate(
        &self,
        origin: Origin,
        generations: Vec<PreparedGeneration>,
        listening: Listening,
    ) -> Result<Generations, Refusal> {
        let Origin { model, client, .. } = origin;
        let served = self.shared.models.get(model);
        let (mut events, mut entries) = (Vec::new(), Vec::new());
        for prepared in generations {
            let (sender, receiver) = mpsc::unbounded_channel();
            events.push(receiver);
            let cost = prepared.cost();
            let memory = memory(served.pipeline.model(), &cost);
            let kind = Kind::Generation { source: cost.source, prompt: cost.prompt };
            let prepared = Some(prepared);
            let entry = GenerationEntry { model, client, events: sender, listening, prepared };
            entries.push((cost.tokens(), memory, kind, Entry::Generation(Box::new(entry))));
        }
        let guard = self.submit(origin, entries)?;
        Ok(Generations { events, guard })
    }

    /// Admits the passes of a request, all or none.
    /// # Errors
    /// A [`Refusal`].
    pub fn pass(&self, origin: Origin, passes: Vec<Pass>) -> Result<Passes, Refusal> {
        let (mut answers, mut entries) = (Vec::new(), Vec::new());
        for pass in passes {
            let (sender, receiver) = oneshot::channel();
            answers.push(receiver);
            let rows = pass.rows().max(1);
            entries.push((rows, 0, Kind::Pass { rows }, Entry::Pass(pass, sender)));
        }
        let guard = self.submit(origin, entries)?;
        Ok(Passes { answers, guard })
    }

    fn submit(
        &self,
        Origin { model, client, timeout }: Origin,
        entries: Vec<(usize, u64, Kind, Entry)>,
    ) -> Result<Guard, Refusal> {
        let deadline = Some(self.shared.now() + timeout);
        let mut state = self.shared.lock();
        let first = state.next;
        let job = |(i, (tokens, memory, kind, _)): (usize, &(usize, u64, Kind, Entry))| Job {
            id: first + i as u64,
            flow: Flow { model, client },
            tokens: *tokens,
            memory: *memory,
            deadline,
            kind: *kind,
        };
        let jobs: Vec<Job> = entries.iter().enumerate().map(job).collect();
        state.scheduler.submit(&jobs)?;
        state.next += jobs.len() as u64;
        let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
        state.jobs.extend(ids.iter().copied().zip(entries.into_iter().map(|entry| entry.3)));
        drop(state);
        self.shared.work.notify_one();
        Ok(Guard { shared: Arc::clone(&self.shared), jobs: ids })
    }

    /// Admits nothing any more.
    pub fn drain(&self) {
        self.shared.lock().scheduler.drain();
        self.shared.work.notify_one();
    }

    /// Whether everything that was admitted has ended.
    pub fn is_idle(&self) -> bool {
        self.shared.lock().jobs.is_empty()
    }

    /// How full it is.
    pub fn load(&self) -> Load {
        self.shared.lock().scheduler.load()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock but by a bug; the state is still whole then.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn cancel(&self, jobs: &[JobId]) {
        let mut state = self.lock();
        for job in jobs {
            if state.jobs.contains_key(job) {
                state.scheduler.cancel(*job);
            }
        }
        drop(state);
        self.work.notify_one();
    }

    /// Generations ended: their memory is free before their answers are sent.
    fn finish(&self, ended: Vec<(JobId, Result<Vec<Generated>, JobError>)>) {
        let mut state = self.lock();
        let mut answers = Vec::with_capacity(ended.len());
        for (job, texts) in ended {
            state.scheduler.finish(job);
            if let Some(Entry::Generation(entry)) = state.jobs.remove(&job) {
                answers.push((entry.events, texts));
            }
        }
        drop(state);
        for (events, texts) in answers {
            let _ = events.send(GenerationEvent::Done(texts));
        }
    }
}
