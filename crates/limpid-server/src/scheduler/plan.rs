//! One step: who is dropped, who starts, and which rows are computed.

use super::flows::Offer;
use super::{Asks, Flow, Job, JobId, Kind, Running, Scheduler, chunk};
use std::ops::Range;
use std::time::Duration;

/// Seconds per row of a model that was not measured yet.
const GUESSED_ROW_SECONDS: f64 = 50e-6;

/// Why a job was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Its client left.
    Cancelled,
    /// Its deadline passed.
    Expired,
}

/// Work for one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Whose.
    pub job: JobId,
    /// Index of its model.
    pub model: usize,
    /// What.
    pub what: What,
}

/// What is computed for a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Its source is encoded, and its prompt appended.
    Open,
    /// These of the tokens that it asked to append, for each sequence.
    Advance(Vec<Range<usize>>),
    /// Its forward pass.
    Pass,
}

/// What a step does.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Jobs that are given up.
    pub ended: Vec<(JobId, Ended)>,
    /// Generations that begin.
    pub started: Vec<JobId>,
    /// What is computed.
    pub work: Vec<Work>,
}

impl Scheduler {
    /// The next step. Every pass in it must be followed by [`Scheduler::finish`].
    pub fn plan(&mut self, now: Duration) -> Plan {
        let mut plan = Plan::default();
        self.drop_ended(now, &mut plan);
        self.decode(&mut plan);
        self.start_generations(&mut plan);
        let budget = self.limits.step.as_secs_f64();
        // Neither prompts nor passes may keep the other waiting.
        let passes = self.flows.jobs().any(|job| matches!(job.kind, Kind::Pass { .. }));
        let used = self.prefill(if passes { budget / 2.0 } else { budget }, &mut plan);
        if passes {
            self.start_passes(budget - used, &mut plan);
        }
        plan
    }

    fn drop_ended(&mut self, now: Duration, plan: &mut Plan) {
        let cancelled = std::mem::take(&mut self.cancelled);
        let ended = |job: &Job| match (cancelled.contains(&job.id), job.deadline) {
            (true, _) => Some(Ended::Cancelled),
            (false, Some(deadline)) if deadline <= now => Some(Ended::Expired),
            _ => None,
        };
        self.flows.remove(|job| match ended(job) {
            Some(why) => {
                plan.ended.push((job.id, why));
                true
            }
            None => false,
        });
        let memory = &mut self.memory;
        self.running.retain(|id, running| match ended(&running.job) {
            Some(why) => {
                *memory -= running.job.memory;
                plan.ended.push((*id, why));
                false
            }
            None => true,
        });
    }

    /// One row for every sequence that waits for it.
    fn decode(&mut self, plan: &mut Plan) {
        for (id, running) in &mut self.running {
            if let Some(Asks::Advance { lengths, done: 0 }) = &running.asks
                && lengths.iter().all(|length| *length <= 1)
            {
                let ranges = lengths.iter().map(|length| 0..*length).collect();
                let model = running.job.flow.model;
                plan.work.push(Work { job: *id, model, what: What::Advance(ranges) });
                running.asks = None;
            }
        }
    }

    /// Sources and chunks of prompts, the oldest generation first; at least one of them. Gives the
    /// seconds they are expected to take.
    fn prefill(&mut self, budget: f64, plan: &mut Plan) -> f64 {
        let mut used = 0.0;
        for (id, running) in &mut self.running {
            let model = running.job.flow.model;
            let seconds = self.row_seconds.get(&model).copied().unwrap_or(GUESSED_ROW_SECONDS);
            let rows = running.next_rows();
            if rows == 0 || (used > 0.0 && used + rows as f64 * seconds > budget) {
                continue;
            }
            used += rows as f64 * seconds;
            let what = running.take_chunk();
            plan.work.push(Work { job: *id, model, what });
        }
        used
    }

    /// Starts generations as far as there is memory.
    fn start_generations(&mut self, plan: &mut Plan) {
        let Self { flows, running, memory, limits, .. } = self;
        let mut stuck: Option<Flow> = None;
        flows.offer(|job| {
            let Kind::Generation { source, prompt } = job.kind else { return Offer::Blocked };
            // A large job waits for memory in front of all others: none may pass it.
            let fits = *memory + job.memory <= limits.memory;
            if stuck.is_some() || !fits || running.len() >= limits.running {
                stuck.get_or_insert(job.flow);
                return Offer::Blocked;
            }
            let asks = match source {
                0 => Asks::Advance { lengths: vec![prompt], done: 0 },
                rows => Asks::Open { rows },
            };
            running.insert(job.id, Running { job: *job, asks: Some(asks) });
            plan.started.push(job.id);
            *memory += job.memory;
            Offer::Taken
        });
        if let Some(flow) = stuck {
            flows.move_to_front(flow);
        }
    }

    /// Starts passes as far as there is time; at least one.
    fn start_passes(&mut self, budget: f64, plan: &mut Plan) {
        let Self { flows, passes, memory, row_seconds, .. } = self;
        let mut used = 0.0;
        flows.offer(|job| {
            let Kind::Pass { rows } = job.kind else { return Offer::Blocked };
            let Flow { model, .. } = job.flow;
            let seconds = row_seconds.get(&model).copied().unwrap_or(GUESSED_ROW_SECONDS);
            let needed = rows as f64 * seconds;
            if used > 0.0 && used + needed > budget {
                return Offer::Blocked;
            }
            used += needed;
            passes.insert(job.id, *job);
            plan.work.push(Work { job: job.id, model, what: What::Pass });
            *memory += job.memory;
            Offer::Taken
        });
    }
}

impl Running {
    /// Rows of the next chunk; 0 if it asks for none.
    fn next_rows(&self) -> usize {
        match &self.asks {
            None => 0,
            Some(Asks::Open { rows }) => (*rows).max(1),
            Some(Asks::Advance { lengths, done }) => match lengths[..] {
                [length] => chunk(length, *done).len(),
                _ => lengths.iter().sum(),
            },
        }
    }

    /// The next chunk; it asks for what follows it. Several sequences at once are not cut.
    fn take_chunk(&mut self) -> What {
        match self.asks.take() {
            Some(Asks::Advance { lengths, done }) => match lengths[..] {
                [length] => {
                    let range = chunk(length, done);
                    if range.end < length {
                        self.asks = Some(Asks::Advance { lengths, done: range.end });
                    }
                    What::Advance(vec![range])
                }
                _ => What::Advance(lengths.iter().map(|length| 0..*length).collect()),
            },
            _ => What::Open,
        }
    }
}
