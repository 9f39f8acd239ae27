//! Laws of the scheduler, on random histories: every admitted job ends exactly once, bounds hold
//! at every step, nobody starves, and a prompt is always cut at the same places.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

const LIMITS: Limits =
    Limits { queue_tokens: 2_000, memory: 100, running: 4, step: Duration::from_millis(20) };

fn job(id: JobId, model: usize, client: u64, tokens: usize, memory: u64, kind: Kind) -> Job {
    Job { id, flow: Flow { model, client }, tokens, memory, deadline: None, kind }
}

fn pass(id: JobId, client: u64, rows: usize) -> Job {
    job(id, 0, client, rows, 0, Kind::Pass { rows })
}

fn generation(id: JobId, client: u64, tokens: usize, memory: u64) -> Job {
    job(id, 1, client, tokens, memory, written(id, tokens))
}

/// Half of the generations have a source to encode first.
fn written(id: JobId, prompt: usize) -> Kind {
    Kind::Generation { source: if id.is_multiple_of(2) { 0 } else { 3 }, prompt }
}

/// A generation as the engine sees it: what it asks for, and what it was given.
#[derive(Default)]
struct Thread {
    steps_left: usize,
    prompt: usize,
    opened: bool,
    given: Vec<Range<usize>>,
}

/// Runs a scheduler with simulated generations, and checks its invariants at every step.
struct Simulation {
    scheduler: Scheduler,
    now: Duration,
    admitted: BTreeMap<JobId, Job>,
    threads: BTreeMap<JobId, Thread>,
    ended: BTreeMap<JobId, &'static str>,
}

impl Simulation {
    fn new(limits: Limits) -> Self {
        Self {
            scheduler: Scheduler::new(limits),
            now: Duration::ZERO,
            admitted: BTreeMap::new(),
            threads: BTreeMap::new(),
            ended: BTreeMap::new(),
        }
    }

    fn submit(&mut self, jobs: &[Job]) -> Result<(), Refusal> {
        let before = self.scheduler.load();
        let result = self.scheduler.submit(jobs);
        match result {
            Ok(()) => self.admitted.extend(jobs.iter().map(|job| (job.id, *job))),
            Err(_) => assert_eq!(self.scheduler.load(), before, "all or nothing"),
        }
        result
    }

    fn end(&mut self, id: JobId, how: &'static str) {
        assert!(self.admitted.contains_key(&id), "{id} was never admitted");
        assert_eq!(self.ended.insert(id, how), None, "{id} ended twice");
    }

    /// One step: plans it, computes it, and lets the threads ask for more.
    fn step(&mut self) -> Plan {
        self.now += Duration::from_millis(10);
        let plan = self.scheduler.plan(self.now);
        for (id, why) in &plan.ended {
            self.threads.remove(id);
            self.end(*id, if *why == Ended::Expired { "expired" } else { "cancelled" });
        }
        for id in &plan.started {
            let prompt = self.admitted[id].tokens;
            let thread = Thread { steps_left: 1 + *id as usize % 5, prompt, ..Thread::default() };
            self.threads.insert(*id, thread);
        }
        for work in &plan.work {
            match &work.what {
                What::Pass => {
                    self.scheduler.finish(work.job);
                    self.end(work.job, "done");
                }
                What::Open => {
                    let thread = self.threads.get_mut(&work.job).expect("it was started");
                    assert!(!std::mem::replace(&mut thread.opened, true), "opened twice");
                    self.advanced(work.job, None);
                }
                What::Advance(ranges) => self.advanced(work.job, Some(ranges[0].clone())),
            }
        }
        self.check();
        plan
    }

    /// Computes a range of its tokens; without one, its source and the whole prompt.
    fn advanced(&mut self, id: JobId, range: Option<Range<usize>>) {
        let thread = self.threads.get_mut(&id).expect("it was started");
        let (whole, range) = match range {
            Some(range) => (false, range),
            None => (true, 0..thread.prompt),
        };
        let covered = thread.given.last().map_or(0, |last| last.end);
        if covered < thread.prompt {
            assert_eq!(range.start, covered, "chunks follow each other");
            thread.given.push(range.clone());
            if range.end < thread.prompt {
                return;
            }
        } else {
            assert_eq!((whole, range), (false, 0..1));
        }
        thread.steps_left -= 1;
        if thread.steps_left == 0 {
            // However busy the scheduler was, the prompt was cut where its length says.
            let mut want = Vec::new();
            while want.last().is_none_or(|last: &Range<usize>| last.end < thread.prompt) {
                want.push(chunk(thread.prompt, want.last().map_or(0, |last| last.end)));
            }
            assert!(thread.opened || thread.given == want, "{:?}", thread.given);
            self.scheduler.finish(id);
            self.threads.remove(&id);
            self.end(id, "done");
        } else {
            self.scheduler.advance(id, vec![1]);
        }
    }

    fn check(&self) {
        let load = self.scheduler.load();
        let reserved: u64 = self.threads.keys().map(|id| self.admitted[id].memory).sum();
        assert_eq!(load.memory, reserved, "exactly what the running ones reserved");
        assert!(load.memory <= LIMITS.memory && load.running <= LIMITS.running, "{load:?}");
        assert!(load.queued_tokens <= LIMITS.queue_tokens, "{load:?}");
    }
}

#[derive(Clone, Debug)]
enum Action {
    Submit(Vec<(u8, u64, usize, u64, bool)>),
    Cancel(u64),
    Step,
}

fn action() -> impl Strategy<Value = Action> {
    let job = (0..3_u8, 0..3_u64, 1..700_usize, 0..130_u64, any::<bool>());
    prop_oneof![
        2 => proptest::collection::vec(job, 1..4).prop_map(Action::Submit),
        1 => (0..40_u64).prop_map(Action::Cancel),
        4 => Just(Action::Step),
    ]
}

proptest! {
    #[test]
    fn every_admitted_job_ends_exactly_once(
        actions in proptest::collection::vec(action(), 1..80)
    ) {
        let mut simulation = Simulation::new(LIMITS);
        let mut next = 0;
        for action in actions {
            match action {
                Action::Submit(specs) => {
                    let jobs: Vec<Job> = specs
                        .into_iter()
                        .map(|(model, client, tokens, memory, expires)| {
                            next += 1;
                            let kind = match model {
                                0 => Kind::Pass { rows: tokens },
                                _ => written(next, tokens),
                            };
                            let memory = if model == 0 { 0 } else { memory };
                            let deadline =
                                expires.then(|| simulation.now + Duration::from_millis(70));
                            let model = usize::from(model);
                            Job { deadline, ..job(next, model, client, tokens, memory, kind) }
                        })
                        .collect();
                    let _ = simulation.submit(&jobs);
                }
                Action::Cancel(id) => simulation.scheduler.cancel(id),
                Action::Step => _ = simulation.step(),
            }
        }
        simulation.scheduler.drain();
        let late = simulation.submit(&[pass(1_000, 0, 1)]);
        prop_assert_eq!(late, Err(Refusal::Draining));
        // No starvation: each step computes something, so a bounded number of steps is enough.
        for _ in 0..2_000 {
            if simulation.scheduler.is_idle() {
                break;
            }
            simulation.step();
        }
        prop_assert!(simulation.scheduler.is_idle());
        prop_assert_eq!(simulation.scheduler.load(), Load::default());
        prop_assert_eq!(simulation.ended.len(), simulation.admitted.len());
    }

    #[test]
    fn chunks_cover_a_prompt_and_none_has_one_row(length in 1..2_000_usize) {
        let mut done = 0;
        while done < length {
            let next = chunk(length, done);
            prop_assert_eq!(next.start, done);
            prop_assert!(next.len() <= CHUNK + 1);
            prop_assert!(next.len() > 1 || length == 1, "{:?} of {}", next, length);
            done = next.end;
        }
        prop_assert_eq!(done, length);
        prop_assert!(chunk(length, done).is_empty());
    }
}

#[test]
fn what_never_fits_is_told_apart_from_what_does_not_fit_now() {
    let mut simulation = Simulation::new(LIMITS);
    assert_eq!(
        simulation.submit(&[pass(1, 0, 2_001)]),
        Err(Refusal::TooManyTokens { tokens: 2_001, limit: 2_000 })
    );
    assert_eq!(
        simulation.submit(&[generation(2, 0, 5, 101)]),
        Err(Refusal::TooMuchMemory { bytes: 101, limit: 100 })
    );
    simulation.submit(&[pass(3, 0, 2_000)]).unwrap();
    let full = simulation.submit(&[pass(4, 0, 1)]);
    assert!(matches!(full, Err(Refusal::Overloaded { retry_after })
        if retry_after >= Duration::from_secs(1)));
}

#[test]
fn a_large_generation_is_not_passed_by_small_ones_forever() {
    let mut simulation = Simulation::new(LIMITS);
    let mut id = 0;
    let mut small = |simulation: &mut Simulation| {
        id += 1;
        let _ = simulation.submit(&[generation(id, 1, 10, 40)]);
    };
    (0..4).for_each(|_| small(&mut simulation));
    simulation.step();
    simulation.submit(&[generation(1_000, 2, 10, 100)]).unwrap();
    // The other client's quantum is 256 tokens: after 26 of its jobs it is the large one's turn.
    let mut before = 0;
    while !simulation.ended.contains_key(&1_000) {
        small(&mut simulation);
        simulation.step();
        before = simulation.ended.len();
        assert!(before < 60, "small generations pass the large one forever");
    }
    assert!(before > 10);
}

#[test]
fn a_client_with_one_short_job_does_not_wait_for_another_client_s_backlog() {
    let mut simulation = Simulation::new(LIMITS);
    for id in 1..=10 {
        simulation.submit(&[pass(id, 1, 190)]).unwrap();
    }
    // 20 ms at the guessed 50 µs per row: 400 rows, two jobs per step.
    simulation.step();
    simulation.submit(&[pass(11, 2, 20)]).unwrap();
    simulation.step();
    assert!(simulation.ended.contains_key(&11));
    assert!(!simulation.scheduler.is_idle(), "the backlog is still there");
}

#[test]
fn tokens_are_shared_evenly_between_clients_with_long_and_short_jobs() {
    let limits = Limits { queue_tokens: 100_000, ..LIMITS };
    let mut scheduler = Scheduler::new(limits);
    for id in 0..100 {
        scheduler.submit(&[pass(2 * id, 1, 300), pass(2 * id + 1, 2, 30)]).unwrap();
    }
    let mut computed = [0, 0];
    for _ in 0..7 {
        for work in scheduler.plan(Duration::ZERO).work {
            computed[work.job as usize % 2] += if work.job % 2 == 0 { 300 } else { 30 };
            scheduler.finish(work.job);
        }
    }
    let [long, short] = computed.map(f64::from);
    assert!((long / short - 1.0).abs() < 0.5, "{computed:?}");
}

#[test]
fn decoding_goes_on_while_a_long_prompt_and_passes_are_computed() {
    let mut simulation = Simulation::new(Limits { queue_tokens: 10_000, ..LIMITS });
    simulation.submit(&[generation(4, 1, 1, 1)]).unwrap();
    (0..3).for_each(|_| _ = simulation.step());
    simulation.submit(&[generation(14, 2, 1_500, 1), pass(10, 3, 900)]).unwrap();
    simulation.step();
    let plan = simulation.step();
    let of = |job| plan.work.iter().any(|work| work.job == job);
    assert!(of(4) && of(14), "{plan:?}");
    assert!(simulation.ended.contains_key(&10));
}

#[test]
fn an_expired_job_ends_whether_it_waits_or_runs() {
    let mut simulation = Simulation::new(Limits { running: 1, ..LIMITS });
    let deadline = Some(Duration::from_millis(25));
    let running = Job { deadline, ..generation(4, 1, 1_000, 1) };
    simulation.submit(&[running, Job { deadline, ..generation(9, 1, 5, 1) }]).unwrap();
    (0..3).for_each(|_| _ = simulation.step());
    assert_eq!(simulation.ended.values().collect::<Vec<_>>(), [&"expired", &"expired"]);
    assert_eq!(simulation.scheduler.load(), Load::default());
}
