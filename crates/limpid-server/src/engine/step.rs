//! The loop of the engine's thread: plan, compute, answer.

use super::job::{Answered, Entry, GenerationEntry, JobError, Pass, PassOutput, PassSender};
use super::sessions::ModelSessions;
use super::shard::Outcome;
use super::{GenerationEvent, Shared, State};
use crate::models::ServedModel;
use crate::scheduler::{Ended, JobId, Plan, What, Work};
use limpid::encode::Normalization;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// Runs until the scheduler drains and everything has ended.
pub(super) fn run(shared: &Arc<Shared>) {
    let models = Arc::clone(&shared.models);
    let mut sessions: Vec<ModelSessions> =
        models.iter().map(|model| ModelSessions::new(model, shared.prefix_bytes)).collect();
    let trim = |sessions: &mut [ModelSessions]| sessions.iter_mut().for_each(ModelSessions::trim);
    while let Some((plan, taken)) = next_step(shared, || trim(&mut sessions)) {
        for (job, model) in taken.closed {
            sessions[model].close(job);
        }
        for (job, mut entry) in taken.started {
            let _ = entry.events.send(GenerationEvent::Started(Instant::now()));
            match sessions[entry.model].start(job, &mut entry) {
                Ok(known) => shared.metrics.reused(known),
                Err(error) => shared.finish(vec![(job, Err(error))]),
            }
        }
        if plan.work.is_empty() {
            continue;
        }
        let begun = Instant::now();
        for (model, served) in models.iter().enumerate() {
            let work: Vec<&Work> = plan.work.iter().filter(|work| work.model == model).collect();
            generate(shared, model, &mut sessions[model], &work);
            encode(shared, model, served, &work);
        }
        // Models that were busy one after another would each keep what they used.
        if sessions.iter().map(ModelSessions::bytes_in_memory).sum::<u64>() > shared.memory {
            trim(&mut sessions);
        }
        let bytes = sessions.iter().map(ModelSessions::prefix_bytes).sum();
        shared.metrics.step(begun.elapsed(), &plan, bytes);
        shared.lock().scheduler.stepped(begun.elapsed());
    }
}

/// What the loop takes out of the state with a plan.
#[derive(Default)]
struct Taken {
    closed: Vec<(JobId, usize)>,
    started: Vec<(JobId, GenerationEntry)>,
}

/// With nothing to do for so long, memory is given back.
const IDLE: Duration = Duration::from_secs(2);

/// Waits for something to do; none if there will never be anything again. Calls `idle` once if
/// there is nothing for some time.
fn next_step(shared: &Shared, idle: impl FnOnce()) -> Option<(Plan, Taken)> {
    let mut state = shared.lock();
    let mut idle = Some(idle);
    loop {
        let plan = state.scheduler.plan(shared.now());
        let taken = take(&mut state, &plan);
        if !plan.work.is_empty() || !taken.started.is_empty() || !taken.closed.is_empty() {
            return Some((plan, taken));
        }
        if state.scheduler.is_drained() {
            return None;
        }
        let deadline = state.scheduler.next_deadline();
        let left = deadline.map(|deadline| deadline.saturating_sub(shared.now()));
        let left = left.unwrap_or(Duration::from_secs(3_600));
        let timeout = if idle.is_some() { left.min(IDLE) } else { left };
        let (woken, timed_out) = wait(shared, state, timeout);
        state = woken;
        if let Some(idle) = idle.take_if(|_| timed_out && timeout == IDLE) {
            drop(state);
            idle();
            state = shared.lock();
        }
    }
}

/// Waits for a sign; also tells whether none came in time.
fn wait<'s>(
    shared: &'s Shared,
    state: MutexGuard<'s, State>,
    timeout: Duration,
) -> (MutexGuard<'s, State>, bool) {
    let waited = shared.work.wait_timeout(state, timeout);
    let (state, waited) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
    (state, waited.timed_out())
}

/// Ends and starts jobs as planned.
fn take(state: &mut State, plan: &Plan) -> Taken {
    let mut taken = Taken::default();
    for (job, why) in &plan.ended {
        let error = match why {
            Ended::Cancelled => JobError::Cancelled,
            Ended::Expired => JobError::Expired,
        };
        match state.jobs.remove(job) {
            Some(Entry::Generation(entry)) => {
                let _ = entry.events.send(GenerationEvent::Done(Err(error)));
                taken.closed.push((*job, entry.model));
            }
            Some(Entry::Pass(_, answer)) => _ = answer.send(Err(error)),
            None => {}
        }
    }
    for job in &plan.started {
        if let Some(Entry::Generation(entry)) = state.jobs.get_mut(job) {
            let (events, prepared) = (entry.events.clone(), entry.prepared.take());
            taken.started.push((*job, GenerationEntry { events, prepared, ..**entry }));
        }
    }
    taken
}

/// The generations of one model.
fn generate(shared: &Shared, model: usize, sessions: &mut ModelSessions, work: &[&Work]) {
    let begun = Instant::now();
    let step = sessions.step(work);
    let mut ended = Vec::new();
    let mut state = shared.lock();
    for (job, tokens) in step.reused {
        state.scheduler.reuse(job, tokens);
    }
    for (job, outcome) in step.outcomes {
        match outcome {
            Outcome::Unfinished => {}
            Outcome::Asks(lengths) => state.scheduler.advance(job, lengths),
            Outcome::Done(texts) => ended.push((job, Ok(texts))),
            Outcome::Failed(error) => ended.push((job, Err(error))),
        }
    }
    state.scheduler.measured(model, step.rows, begun.elapsed());
    drop(state);
    shared.finish(ended);
}

/// Which passes of a model are computed together.
#[derive(Clone, Copy, PartialEq)]
enum Group {
    Embed(Normalization),
    HiddenStates,
    Classify,
    Rerank,
    FillMask(usize),
    Call,
}

fn group(pass: &Pass) -> Group {
    match pass {
        Pass::Embed(_, normalization) => Group::Embed(*normalization),
        Pass::HiddenStates(_) => Group::HiddenStates,
        Pass::Classify(_) => Group::Classify,
        Pass::Rerank(_) => Group::Rerank,
        Pass::FillMask { top, .. } => Group::FillMask(*top),
        Pass::Call(..) => Group::Call,
    }
}

/// The passes of one model, those of a kind together.
fn encode(shared: &Shared, model: usize, served: &ServedModel, work: &[&Work]) {
    let begun = Instant::now();
    let mut state = shared.lock();
    let mut waiting: Vec<(JobId, Pass, PassSender)> = Vec::new();
    for work in work.iter().filter(|work| work.what == What::Pass) {
        match state.jobs.remove(&work.job) {
            Some(Entry::Pass(pass, answer)) => waiting.push((work.job, pass, answer)),
            _ => state.scheduler.finish(work.job),
        }
    }
    drop(state);
    let rows: usize = waiting.iter().map(|(_, pass, _)| pass.rows()).sum();
    while !waiting.is_empty() {
        let kind = group(&waiting[0].1);
        let (together, rest): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, pass, _)| group(pass) == kind);
        waiting = rest;
        let (mut ids, mut inputs, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for (job, pass, answer) in together {
            ids.push(job);
            inputs.push(pass);
            answers.push(answer);
        }
        let outputs = catch_unwind(AssertUnwindSafe(|| served.compute(inputs)));
        let outputs: Vec<Result<PassOutput, JobError>> = outputs.unwrap_or_else(|_| {
            tracing::error!("a pass panicked");
            answers.iter().map(|_| Err(JobError::Internal)).collect()
        });
        let mut state = shared.lock();
        ids.into_iter().for_each(|job| state.scheduler.finish(job));
        drop(state);
        for (answer, output) in answers.into_iter().zip(outputs) {
            let answered = output.map(|output| Answered { output, started: begun });
            let _ = answer.send(answered);
        }
    }
    if rows > 0 {
        shared.lock().scheduler.measured(model, rows, begun.elapsed());
    }
}
