//! The queue: deficit round-robin over (model, client), in tokens.
//!
//! Each flow in turn is granted a quantum of tokens, and starts jobs while it can pay for them. So
//! a client with long jobs gets as many tokens as one with many short ones.

use super::{Flow, Job, JobId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Tokens that a flow is granted in its turn.
const QUANTUM: usize = 256;

/// The jobs of one flow, the oldest first.
#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    deficit: usize,
}

/// What becomes of a job whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// It starts.
    Taken,
    /// There is no room for it now; it keeps its turn.
    Blocked,
}

/// All flows with jobs.
#[derive(Default)]
pub struct Flows {
    queues: BTreeMap<Flow, Queue>,
    /// Whose turn it is.
    order: VecDeque<Flow>,
    tokens: usize,
}

impl Flows {
    /// Tokens of all jobs.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// All jobs.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.queues.values().flat_map(|queue| &queue.jobs)
    }

    pub fn contains(&self, id: JobId) -> bool {
        self.jobs().any(|job| job.id == id)
    }

    pub fn push(&mut self, job: Job) {
        let flow = job.flow;
        self.tokens += job.tokens;
        self.queues.entry(flow).or_default().jobs.push_back(job);
        if !self.order.contains(&flow) {
            self.order.push_back(flow);
        }
    }

    /// Takes out the jobs for which `drop` holds.
    pub fn remove(&mut self, mut drop: impl FnMut(&Job) -> bool) -> Vec<JobId> {
        let mut removed = Vec::new();
        for queue in self.queues.values_mut() {
            queue.jobs.retain(|job| {
                let dropped = drop(job);
                if dropped {
                    removed.push(job.id);
                    self.tokens -= job.tokens;
                }
                !dropped
            });
        }
        self.forget_empty();
        removed
    }

    /// Offers jobs in their turn, until each flow is empty or blocked.
    pub fn offer(&mut self, mut offer: impl FnMut(&Job) -> Offer) {
        let mut blocked = BTreeSet::new();
        loop {
            let open = || self.order.iter().filter(|flow| !blocked.contains(*flow));
            let payable = |flow: &&Flow| self.missing(**flow) == 0;
            let Some(flow) = open().find(payable).copied() else {
                let Some(missing) = open().map(|flow| self.missing(*flow)).min() else { return };
                let (open, rounds): (Vec<Flow>, _) =
                    (open().copied().collect(), missing.div_ceil(QUANTUM));
                for flow in open {
                    self.queue(flow).deficit += rounds * QUANTUM;
                }
                continue;
            };
            let job = self.queue(flow).jobs[0];
            if offer(&job) == Offer::Blocked {
                blocked.insert(flow);
                continue;
            }
            let queue = self.queue(flow);
            queue.jobs.pop_front();
            queue.deficit -= job.tokens;
            self.tokens -= job.tokens;
            self.forget_empty();
            if self.queues.contains_key(&flow) && self.missing(flow) > 0 {
                self.order.retain(|other| *other != flow);
                self.order.push_back(flow);
            }
        }
    }

    /// The flow whose turn was blocked is first in the next round.
    pub fn move_to_front(&mut self, flow: Flow) {
        if self.order.contains(&flow) {
            self.order.retain(|other| *other != flow);
            self.order.push_front(flow);
        }
    }

    /// Tokens that a flow lacks to pay for its next job.
    fn missing(&self, flow: Flow) -> usize {
        let queue = &self.queues[&flow];
        queue.jobs[0].tokens.saturating_sub(queue.deficit)
    }

    fn queue(&mut self, flow: Flow) -> &mut Queue {
        self.queues.get_mut(&flow).expect("a flow in the order has jobs")
    }

    /// An empty flow keeps no deficit: it cannot save up for a burst.
    fn forget_empty(&mut self) {
        self.queues.retain(|_, queue| !queue.jobs.is_empty());
        self.order.retain(|flow| self.queues.contains_key(flow));
    }
}
