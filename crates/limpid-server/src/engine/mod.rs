//! The engine: one thread that computes the steps of all models.
//!
//! ```text
//! handlers ── submit ──▶ scheduler ──▶ step: rows of all generations, texts of all encoders
//!                          ▲                 │ logits
//!                          └── advance ── threads of generations: sampling, beams, stop strings
//! ```
//!
//! A generation is the library's own function on a thread of its own, with sessions whose steps the
//! engine computes ([`RemoteSessions`]): so an answer is the same as the command line's, whatever
//! the strategy. Threads sleep while the engine computes.

mod job;
mod remote;
mod sessions;
mod step;

pub use job::{EventSender, Generate, GenerationEvent, JobError, Pass, PassOutput, PassSender};
pub use remote::RemoteSessions;
pub use sessions::memory;

use crate::metrics::Metrics;
use crate::models::Models;
use crate::scheduler::{Flow, Job, JobId, Kind, Limits, Load, Refusal, Scheduler};
use job::{Entry, GenerationEntry, Reply};
use limpid::generate::Cost;
use limpid_tensor::tensor::Tensor;
use std::collections::HashMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// What the engine's thread, handlers and generations share.
pub struct Shared {
    models: Arc<Models>,
    metrics: Arc<Metrics>,
    start: Instant,
    state: Mutex<State>,
    /// The engine's thread waits for it.
    work: Condvar,
}

struct State {
    scheduler: Scheduler,
    jobs: HashMap<JobId, Entry>,
    next: JobId,
    /// Generations whose sessions are no longer needed, with their models.
    finished: Vec<(JobId, usize)>,
    /// The engine's thread has nothing to compute.
    idle: bool,
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
    pub answers: Vec<oneshot::Receiver<Result<PassOutput, JobError>>>,
    /// Dropping it cancels them.
    pub guard: Guard,
}

impl Engine {
    /// Starts the thread. Generations run on the blocking threads of `runtime`.
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        models: Arc<Models>,
        limits: Limits,
        metrics: Arc<Metrics>,
        runtime: tokio::runtime::Handle,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let state = State {
            scheduler: Scheduler::new(limits),
            jobs: HashMap::new(),
            next: 0,
            finished: Vec::new(),
            idle: false,
        };
        let shared = Arc::new(Shared {
            models,
            metrics,
            start: Instant::now(),
            state: Mutex::new(state),
            work: Condvar::new(),
        });
        let engine = Self { shared: Arc::clone(&shared) };
        let thread = std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || step::run(&shared, &runtime))?;
        Ok((engine, thread))
    }

    /// Admits the generations of a request, all or none.
    /// # Errors
    /// A [`Refusal`].
    pub fn generate(
        &self,
        origin: Origin,
        generations: Vec<(Cost, Generate)>,
    ) -> Result<Generations, Refusal> {
        let Origin { model, .. } = origin;
        let served = self.shared.models.get(model);
        let (mut events, mut entries) = (Vec::new(), Vec::new());
        for (cost, generate) in generations {
            let (sender, receiver) = mpsc::unbounded_channel();
            events.push(receiver);
            let memory = memory(served.pipeline.model(), &cost);
            let entry = Entry::Generation(GenerationEntry {
                model,
                events: sender,
                generate: Some(generate),
                open: None,
                select: Vec::new(),
                tokens: Vec::new(),
                reply: None,
            });
            entries.push((cost.tokens(), memory, Kind::Generation, entry));
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

    /// A generation asks to open sequences, and waits for them.
    fn open(&self, job: JobId, sources: &[&[u32]]) {
        let rows = sources.iter().map(|source| source.len()).sum();
        self.ask(job, |entry, scheduler| {
            entry.open = Some(sources.iter().map(|source| source.to_vec()).collect());
            scheduler.open(job, rows);
        });
    }

    /// A generation appends tokens, and waits for logits; none if it was dropped.
    fn advance(&self, job: JobId, tokens: Vec<Vec<u32>>) -> Option<Tensor> {
        let reply = self.ask(job, |entry, scheduler| {
            let lengths = tokens.iter().map(Vec::len).collect();
            entry.tokens = tokens;
            scheduler.advance(job, lengths);
        });
        match reply {
            Some(Reply::Logits(logits)) => Some(logits),
            _ => None,
        }
    }

    fn select(&self, job: JobId, sequences: &[usize]) {
        if let Some(Entry::Generation(entry)) = self.lock().jobs.get_mut(&job) {
            entry.select.push(sequences.to_vec());
        }
    }

    /// Asks the engine for something, and waits for the answer; none if the job was dropped.
    fn ask(
        &self,
        job: JobId,
        ask: impl FnOnce(&mut GenerationEntry, &mut Scheduler),
    ) -> Option<Reply> {
        let (sender, receiver) = sync_channel(1);
        let mut state = self.lock();
        let State { scheduler, jobs, .. } = &mut *state;
        let Some(Entry::Generation(entry)) = jobs.get_mut(&job) else { return None };
        entry.reply = Some(sender);
        ask(entry, scheduler);
        // The engine waits a moment for those that select tokens: the last one wakes it.
        let wakes = state.idle || state.scheduler.thinking() == 0;
        drop(state);
        if wakes {
            self.work.notify_one();
        }
        // The sender is dropped with the job.
        receiver.recv().ok()
    }

    /// A generation ended.
    fn finish(&self, job: JobId) {
        let mut state = self.lock();
        if let Some(Entry::Generation(entry)) = state.jobs.remove(&job) {
            state.finished.push((job, entry.model));
        }
        state.scheduler.finish(job);
        drop(state);
        self.work.notify_one();
    }
}
