//! Generations of one model that advance together: their sequences, and one pass for all rows of a
//! step.

use super::job::{EventSender, Listening, forward};
use super::{JobError, prefixes::BLOCK};
use crate::scheduler::JobId;
use limpid::generate::{Generated, Generation, Progress, Slot, Slots};
use limpid_tensor::team;
use limpid_tensor::tensor::Tensor;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// A generation that runs.
pub struct Active<'m> {
    pub generation: Generation<'m>,
    pub events: EventSender,
    pub listening: Listening,
    /// Its sequences; none before its source is encoded.
    pub slots: Vec<Slot>,
    /// Whether the blocks of its prompt are to be remembered when it is computed.
    pub remember: bool,
}

/// What is computed for a generation in a step.
pub enum Todo {
    /// Its source is encoded, and its prompt appended.
    Open,
    /// These of the tokens that it asks for, for each sequence.
    Advance(Vec<Range<usize>>),
}

/// What a step leaves of a generation.
pub enum Outcome {
    /// More of its prompt is to come.
    Unfinished,
    /// It asks for so many tokens for each sequence.
    Asks(Vec<usize>),
    /// It ended.
    Done(Vec<Generated>),
    /// It failed.
    Failed(JobError),
}

/// A prompt whose blocks are at this place from now on.
pub struct NewPrefix {
    pub job: JobId,
    pub prompt: Vec<u32>,
    pub slot: Slot,
}

/// What a step of a shard gives.
#[derive(Default)]
pub struct Stepped {
    pub outcomes: Vec<(JobId, Outcome)>,
    pub prefixes: Vec<NewPrefix>,
}

/// Generations whose rows are computed together.
pub struct Shard<'m> {
    pub slots: Box<dyn Slots + Send + 'm>,
    pub active: BTreeMap<JobId, Active<'m>>,
}

impl<'m> Shard<'m> {
    /// Adds a generation; with a known beginning of its prompt, that is shared.
    pub fn start(&mut self, job: JobId, mut active: Active<'m>, known: Option<(Slot, usize)>) {
        match known {
            Some((slot, tokens)) => active.slots = vec![self.slots.fork_prefix(slot, tokens)],
            // A decoder has nothing to encode.
            None if active.generation.source().is_empty() => active.slots = self.slots.open(&[&[]]),
            None => {}
        }
        self.active.insert(job, active);
    }

    /// Ends a generation.
    pub fn close(&mut self, job: JobId) {
        if let Some(active) = self.active.remove(&job) {
            active.slots.into_iter().for_each(|slot| self.slots.close(slot));
        }
    }

    /// Computes the rows of a step in one pass, and lets the generations select their tokens. A
    /// panic fails those that were part of it.
    pub fn step(&mut self, work: &BTreeMap<JobId, Todo>) -> Stepped {
        let computed = catch_unwind(AssertUnwindSafe(|| self.advance(work)));
        let Ok(mut logits) = computed else {
            tracing::error!(generations = work.len(), "a step panicked");
            let failed = |job: &JobId| (*job, Outcome::Failed(JobError::Internal));
            let outcomes = work.keys().map(failed).collect();
            work.keys().for_each(|job| self.close(*job));
            return Stepped { outcomes, prefixes: Vec::new() };
        };
        let prefixes = self.remember(work);
        if logits.try_data_mut().is_none() {
            logits = Tensor::new(logits.shape(), logits.data());
        }
        let selected = self.select(work, &mut logits);
        let outcomes =
            selected.into_iter().map(|(job, selected)| (job, self.settle(job, selected)));
        Stepped { outcomes: outcomes.collect(), prefixes }
    }

    /// Encodes sources and appends tokens: logits after the last one of each sequence.
    fn advance(&mut self, work: &BTreeMap<JobId, Todo>) -> Tensor {
        let Self { slots, active } = self;
        let opening = |job: &&JobId| active[*job].slots.is_empty();
        let opening: Vec<JobId> = work.keys().filter(opening).copied().collect();
        let sources: Vec<&[u32]> =
            opening.iter().map(|job| active[job].generation.source()).collect();
        if !sources.is_empty() {
            let opened = slots.open(&sources);
            for (job, slot) in opening.iter().zip(opened) {
                active.get_mut(job).expect("it is there").slots.push(slot);
            }
        }
        let mut rows: Vec<(Slot, &[u32])> = Vec::new();
        for (job, todo) in work {
            let Active { generation, slots, .. } = &active[job];
            let given = slots.iter().copied().zip(generation.input());
            match todo {
                Todo::Open => rows.extend(given.map(|(slot, tokens)| (slot, &tokens[..]))),
                Todo::Advance(ranges) => rows.extend(
                    given.zip(ranges).map(|((slot, tokens), range)| (slot, &tokens[range.clone()])),
                ),
            }
        }
        slots.advance(&rows)
    }

    /// Keeps the blocks of prompts that were computed now.
    fn remember(&mut self, work: &BTreeMap<JobId, Todo>) -> Vec<NewPrefix> {
        let Self { slots, active } = self;
        let mut found = Vec::new();
        for (job, todo) in work {
            let active = active.get_mut(job).expect("it is there");
            if active.remember && todo.ends(&active.generation) {
                active.remember = false;
                let prompt = active.generation.input()[0].clone();
                let tokens = prompt.len() / BLOCK * BLOCK;
                let slot = slots.fork_prefix(active.slots[0], tokens);
                found.push(NewPrefix { job: *job, prompt, slot });
            }
        }
        found
    }

    /// Every generation takes its logits, in parallel; none where more of a prompt is to come.
    fn select(
        &mut self,
        work: &BTreeMap<JobId, Todo>,
        logits: &mut Tensor,
    ) -> Vec<(JobId, Option<Result<Progress, JobError>>)> {
        let v = logits.rows_cols().1;
        let mut rest = logits.data_mut();
        let mut selecting = Vec::with_capacity(work.len());
        let active = self.active.iter_mut();
        for (job, active) in active.filter(|(job, _)| work.contains_key(job)) {
            let (own, others) = rest.split_at_mut(active.slots.len() * v);
            rest = others;
            let ends = work[job].ends(&active.generation);
            selecting.push(Mutex::new((*job, active, own, ends, None)));
        }
        team::run(selecting.len(), |i| {
            let mut one = selecting[i].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let (_, active, own, ends, selected) = &mut *one;
            if *ends {
                *selected = Some(active.select(own, v));
            }
        });
        let found = |one: Mutex<(JobId, _, _, _, Option<Result<Progress, JobError>>)>| {
            let (job, _, _, _, found) =
                one.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
            (job, found)
        };
        selecting.into_iter().map(found).collect()
    }

    /// The sequences of a generation after it selected its tokens.
    fn settle(&mut self, job: JobId, selected: Option<Result<Progress, JobError>>) -> Outcome {
        let kept = match selected {
            None => return Outcome::Unfinished,
            Some(Ok(Progress::Running(kept))) => kept,
            Some(Ok(Progress::Done(texts))) => {
                self.close(job);
                return Outcome::Done(texts);
            }
            Some(Err(error)) => {
                self.close(job);
                return Outcome::Failed(error);
            }
        };
        let Self { slots, active } = self;
        let active = active.get_mut(&job).expect("it is there");
        if kept.iter().copied().ne(0..active.slots.len()) {
            let before = std::mem::take(&mut active.slots);
            let mut taken = vec![false; before.len()];
            for i in kept {
                active.slots.push(match std::mem::replace(&mut taken[i], true) {
                    false => before[i],
                    true => slots.fork(before[i]),
                });
            }
            let dropped = before.iter().zip(taken).filter(|(_, taken)| !taken);
            dropped.for_each(|(slot, _)| slots.close(*slot));
        }
        Outcome::Asks(active.generation.input().iter().map(Vec::len).collect())
    }
}

impl Todo {
    /// Whether nothing is left of what the generation asked for.
    fn ends(&self, generation: &Generation) -> bool {
        match self {
            Todo::Open => true,
            Todo::Advance(ranges) => {
                let asked = generation.input().iter().zip(ranges);
                asked.into_iter().all(|(tokens, range)| range.end == tokens.len())
            }
        }
    }
}

impl Active<'_> {
    fn select(&mut self, logits: &mut [f32], v: usize) -> Result<Progress, JobError> {
        let Self { generation, events, listening, .. } = self;
        let mut on_event = |event: limpid::generate::Event| forward(event, events);
        let listens = *listening == Listening::Events;
        let step = || {
            let on_event: Option<limpid::generate::OnEvent> =
                if listens { Some(&mut on_event) } else { None };
            generation.step(logits, v, on_event)
        };
        match catch_unwind(AssertUnwindSafe(step)) {
            Ok(progress) => Ok(progress?),
            Err(_) => {
                tracing::error!("a selection of tokens panicked");
                Err(JobError::Internal)
            }
        }
    }
}
