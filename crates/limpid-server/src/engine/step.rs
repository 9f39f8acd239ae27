//! The loop of the engine's thread: plan, compute, answer.

use super::job::{Entry, GenerationEntry, JobError, Pass, PassOutput, PassSender, Reply};
use super::sessions::{ModelSessions, Rows};
use super::{GenerationEvent, RemoteSessions, Shared, State};
use crate::models::ServedModel;
use crate::scheduler::{Ended, JobId, Plan, What, Work};
use limpid::encode::Normalization;
use limpid_tensor::tensor::Tensor;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

/// How long a step waits for generations that select their tokens, so that they share it.
const GATHER: Duration = Duration::from_millis(1);

/// Runs until the scheduler drains and everything has ended.
pub(super) fn run(shared: &Arc<Shared>, runtime: &tokio::runtime::Handle) {
    let models = Arc::clone(&shared.models);
    let mut sessions: Vec<ModelSessions> =
        models.iter().map(|model| ModelSessions::new(&model.pipeline)).collect();
    loop {
        let (plan, taken) = next_step(shared);
        let Some(taken) = taken else { return };
        for (job, model) in taken.closed {
            sessions[model].close(job);
        }
        for (job, model, generate, events) in taken.started {
            start(shared, runtime, (job, model, generate, events));
        }
        let begun = Instant::now();
        for (model, served) in models.iter().enumerate() {
            let work: Vec<&Work> = plan.work.iter().filter(|work| work.model == model).collect();
            compute(shared, served, &mut sessions[model], &work);
        }
        if !plan.work.is_empty() {
            shared.metrics.step(begun.elapsed(), &plan);
            shared.lock().scheduler.stepped(begun.elapsed());
        }
    }
}

/// What the loop takes out of the state with a plan.
#[derive(Default)]
struct Taken {
    closed: Vec<(JobId, usize)>,
    started: Vec<(JobId, usize, super::Generate, super::EventSender)>,
}

/// Waits for something to do. Nothing is taken when there will never be anything again.
fn next_step(shared: &Shared) -> (Plan, Option<Taken>) {
    let mut state = shared.lock();
    loop {
        let gather_until = Instant::now() + GATHER;
        while state.scheduler.thinking() > 0 && Instant::now() < gather_until {
            let left = gather_until.saturating_duration_since(Instant::now());
            state = wait(shared, state, left);
        }
        let plan = state.scheduler.plan(shared.now());
        let taken = take(&mut state, &plan);
        if !plan.work.is_empty() || !plan.started.is_empty() || !taken.closed.is_empty() {
            return (plan, Some(taken));
        }
        if state.scheduler.is_drained() {
            return (plan, None);
        }
        state.idle = true;
        let deadline = state.scheduler.next_deadline();
        let left = deadline.map(|deadline| deadline.saturating_sub(shared.now()));
        state = wait(shared, state, left.unwrap_or(Duration::from_secs(3_600)));
        state.idle = false;
    }
}

fn wait<'s>(
    shared: &'s Shared,
    state: MutexGuard<'s, State>,
    timeout: Duration,
) -> MutexGuard<'s, State> {
    let waited = shared.work.wait_timeout(state, timeout);
    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
}

/// Ends and starts jobs as planned.
fn take(state: &mut State, plan: &Plan) -> Taken {
    let mut taken = Taken::default();
    for (job, why) in &plan.ended {
        let error = match why {
            Ended::Cancelled => JobError::Cancelled,
            Ended::Expired => JobError::Expired,
        };
        if let Some(model) = fail(state, *job, error) {
            taken.closed.push((*job, model));
        }
    }
    for job in &plan.started {
        if let Some(Entry::Generation(entry)) = state.jobs.get_mut(job)
            && let Some(generate) = entry.generate.take()
        {
            taken.started.push((*job, entry.model, generate, entry.events.clone()));
        }
    }
    taken.closed.extend(std::mem::take(&mut state.finished));
    taken
}

/// Ends a job with an error; gives the model of a generation.
fn fail(state: &mut State, job: JobId, error: JobError) -> Option<usize> {
    match state.jobs.remove(&job)? {
        Entry::Generation(entry) => {
            let _ = entry.events.send(GenerationEvent::Done(Err(error)));
            Some(entry.model)
        }
        Entry::Pass(_, answer) => {
            let _ = answer.send(Err(error));
            None
        }
    }
}

/// Starts the thread of a generation.
fn start(
    shared: &Arc<Shared>,
    runtime: &tokio::runtime::Handle,
    (job, model, generate, events): (JobId, usize, super::Generate, super::EventSender),
) {
    let shared = Arc::clone(shared);
    runtime.spawn_blocking(move || {
        let _ = events.send(GenerationEvent::Started(Instant::now()));
        let served = shared.models.get(model);
        let sessions = RemoteSessions {
            shared: &shared,
            job,
            vocab_size: served.logits,
            longest: served.longest,
        };
        let ran = catch_unwind(AssertUnwindSafe(|| generate(&sessions, &events)));
        if ran.is_err() {
            let _ = events.send(GenerationEvent::Done(Err(JobError::Internal)));
        }
        shared.finish(job);
    });
}

/// The work of one model: its generations together, then its texts.
fn compute(shared: &Shared, served: &ServedModel, sessions: &mut ModelSessions, work: &[&Work]) {
    let begun = Instant::now();
    let mut rows = 0;
    for work in work.iter().filter(|work| work.what == What::Open) {
        rows += open(shared, sessions, work.job);
    }
    let advances: Vec<(JobId, &[Range<usize>])> = work
        .iter()
        .filter_map(|work| match &work.what {
            What::Advance(ranges) => Some((work.job, &ranges[..])),
            _ => None,
        })
        .collect();
    let prefill: usize =
        advances.iter().flat_map(|(_, ranges)| *ranges).map(Range::len).filter(|n| *n > 1).sum();
    advance(shared, sessions, &advances);
    rows += prefill;
    let jobs = work.iter().filter(|work| work.what == What::Pass).map(|work| work.job);
    rows += passes(shared, served, jobs.collect());
    if let Some(first) = work.first() {
        shared.lock().scheduler.measured(first.model, rows, begun.elapsed());
    }
}

/// Opens the session of a generation; gives the rows it encoded.
fn open(shared: &Shared, sessions: &mut ModelSessions, job: JobId) -> usize {
    let asked = match shared.lock().jobs.get_mut(&job) {
        Some(Entry::Generation(entry)) => {
            select(sessions, job, entry);
            entry.open.take()
        }
        _ => None,
    };
    let Some(sources) = asked else { return 0 };
    let opened = catch_unwind(AssertUnwindSafe(|| sessions.open(job, &sources)));
    answer(shared, sessions, job, opened.ok().map(|()| Reply::Opened));
    sources.iter().map(Vec::len).sum()
}

/// What a generation has selected since its last step, in order.
fn select(sessions: &mut ModelSessions, job: JobId, entry: &mut GenerationEntry) {
    for sequences in std::mem::take(&mut entry.select) {
        sessions.select(job, &sequences);
    }
}

/// Advances generations together.
fn advance(shared: &Shared, sessions: &mut ModelSessions, work: &[(JobId, &[Range<usize>])]) {
    let mut asked = Vec::new();
    let mut state = shared.lock();
    for (job, ranges) in work {
        if let Some(Entry::Generation(entry)) = state.jobs.get_mut(job) {
            select(sessions, *job, entry);
            let ends = entry.tokens.iter().zip(*ranges).all(|(all, range)| range.end == all.len());
            let tokens = match ends {
                true => std::mem::take(&mut entry.tokens),
                false => entry.tokens.clone(),
            };
            asked.push((*job, *ranges, ends, tokens));
        }
    }
    drop(state);
    let rows = asked.iter().map(|(job, ranges, _, tokens)| {
        let tokens = tokens.iter().zip(*ranges).map(|(tokens, range)| &tokens[range.clone()]);
        Rows { job: *job, tokens: tokens.collect() }
    });
    let rows: Vec<Rows> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let computed: Option<Vec<Tensor>> =
        catch_unwind(AssertUnwindSafe(|| sessions.advance(&rows))).ok();
    let mut computed = computed.map(Vec::into_iter);
    for (job, _, ends, _) in &asked {
        match (computed.as_mut().and_then(Iterator::next), ends) {
            (Some(logits), true) => {
                answer(shared, sessions, *job, Some(Reply::Logits(logits)));
            }
            (Some(_), false) => {}
            (None, _) => answer(shared, sessions, *job, None),
        }
    }
}

/// Answers a generation; without an answer it failed, and is dropped.
fn answer(shared: &Shared, sessions: &mut ModelSessions, job: JobId, reply: Option<Reply>) {
    let mut state = shared.lock();
    let Some(reply) = reply else {
        tracing::error!(job, "a step panicked");
        state.scheduler.finish(job);
        fail(&mut state, job, JobError::Internal);
        sessions.close(job);
        return;
    };
    if let Some(Entry::Generation(entry)) = state.jobs.get_mut(&job)
        && let Some(sender) = entry.reply.take()
    {
        let _ = sender.send(reply);
    }
}

/// Which passes of a model are computed together.
#[derive(Clone, Copy, PartialEq)]
enum Group {
    Embed(Normalization),
    HiddenStates,
    Classify,
    FillMask(usize),
    Call,
}

fn group(pass: &Pass) -> Group {
    match pass {
        Pass::Embed(_, normalization) => Group::Embed(*normalization),
        Pass::HiddenStates(_) => Group::HiddenStates,
        Pass::Classify(_) => Group::Classify,
        Pass::FillMask { top, .. } => Group::FillMask(*top),
        Pass::Call(..) => Group::Call,
    }
}

/// Computes passes, those of a kind together; gives their rows.
fn passes(shared: &Shared, served: &ServedModel, jobs: Vec<JobId>) -> usize {
    let mut state = shared.lock();
    let mut waiting: Vec<(JobId, Pass, PassSender)> = Vec::new();
    for job in jobs {
        match state.jobs.remove(&job) {
            Some(Entry::Pass(pass, answer)) => waiting.push((job, pass, answer)),
            _ => state.scheduler.finish(job),
        }
    }
    drop(state);
    let rows = waiting.iter().map(|(_, pass, _)| pass.rows()).sum();
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
        let outputs = outputs.unwrap_or_else(|_| {
            tracing::error!("a pass panicked");
            answers.iter().map(|_| Err(JobError::Internal)).collect()
        });
        let finished: Vec<Result<PassOutput, JobError>> = outputs;
        for (answer, output) in answers.into_iter().zip(finished) {
            let _ = answer.send(output);
        }
        let mut state = shared.lock();
        ids.into_iter().for_each(|job| state.scheduler.finish(job));
    }
    rows
}
