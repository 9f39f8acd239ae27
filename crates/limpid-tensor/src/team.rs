//! A persistent team of threads: [`run`] splits a job into numbered tasks, and returns when all are done.
//!
//! Which thread does which task is left to chance (each takes the next number), so a disturbed core does not
//! hold up the others. The bits do not depend on it: tasks write disjoint parts of the output, and how a job is
//! split depends on its shape alone, never on the number of threads.
//!
//! An idle worker spins for a few microseconds (the next operation of a step follows at once), then yields,
//! then parks: it does not steal a core from other programs.
//!
//! One job runs at a time. A second caller (another thread, or a task that calls `run` itself) does its tasks
//! on its own thread, with the same result.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::{self, Thread};

/// Spins before yielding, and yields before parking.
const SPINS: u32 = 4_000;
const YIELDS: u32 = 200;

/// One job: tasks 0..count of `work`.
#[derive(Clone, Copy)]
struct Job {
    /// Borrowed from the caller of [`run`], who does not return while a worker is inside.
    work: *const (dyn Fn(usize) + Sync),
    count: usize,
}

/// What the caller and the workers share.
///
/// `gate` is (epoch << 32) | (closed << 31) | workers inside. A worker enters only through an open gate whose
/// epoch it has not seen, by adding one; the caller closes the gate when no task is left and waits until
/// nobody is inside. A worker that wakes late finds the gate closed: nobody waits for it.
struct Shared {
    gate: AtomicU64,
    next: AtomicUsize,
    job: UnsafeCell<Option<Job>>,
    sleeping: AtomicUsize,
    /// Set by a worker whose task panicked.
    panicked: AtomicUsize,
}

// SAFETY: `job` is written only by the holder of the team's lock while the gate is closed and nobody is inside,
// and read only by workers inside an open gate; the gate's Release/Acquire pairs order the two. The raw pointer
// in it is to a `Sync` closure.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

const CLOSED: u64 = 1 << 31;
const INSIDE: u64 = CLOSED - 1;

struct Team {
    shared: &'static Shared,
    workers: Vec<Thread>,
}

fn team() -> &'static Mutex<Team> {
    static TEAM: OnceLock<Mutex<Team>> = OnceLock::new();
    TEAM.get_or_init(|| {
        let shared: &'static Shared = Box::leak(Box::new(Shared {
            gate: AtomicU64::new(CLOSED),
            next: AtomicUsize::new(0),
            job: UnsafeCell::new(None),
            sleeping: AtomicUsize::new(0),
            panicked: AtomicUsize::new(0),
        }));
        Mutex::new(Team { shared, workers: Vec::new() })
    })
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

/// How many threads a job may use, the caller included: what [`set_threads`] said, or `LIMPID_THREADS`, or the
/// number of cores.
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let asked = std::env::var("LIMPID_THREADS").ok().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
            let n = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
            THREADS.store(n, Ordering::Relaxed);
            n
        }
        n => n,
    }
}

/// Sets how many threads a job may use. The bits of every result stay the same.
pub fn set_threads(n: usize) {
    THREADS.store(n.max(1), Ordering::Relaxed);
}

/// Does tasks `0..count` of `work`, on several threads, and returns when all are done.
///
/// # Panics
/// If a task panics.
pub fn run(count: usize, work: impl Fn(usize) + Sync) {
    let threads = threads().min(count);
    if threads <= 1 {
        return (0..count).for_each(work);
    }
    let Some(mut team) = try_lock(team()) else {
        return (0..count).for_each(work);
    };
    team.hire(threads - 1);
    let shared = team.shared;
    let work: &(dyn Fn(usize) + Sync) = &work;
    // SAFETY: only the lifetime changes. The pointer is used by workers inside the gate only, and `Closing`
    // below, even when a task panics on this thread, waits until nobody is inside before `work` goes away.
    let work_static: *const (dyn Fn(usize) + Sync) =
        unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) };
    // SAFETY: we hold the team's lock and the gate is closed with nobody inside, so no one else looks at `job`.
    unsafe { *shared.job.get() = Some(Job { work: work_static, count }) };
    shared.next.store(0, Ordering::Relaxed);
    let epoch = (shared.gate.load(Ordering::Relaxed) >> 32) + 1;
    // SeqCst: a worker either sees the open gate before it parks, or is counted in `sleeping` before we look.
    shared.gate.store(epoch << 32, Ordering::SeqCst);
    if shared.sleeping.load(Ordering::SeqCst) > 0 {
        team.workers.iter().take(threads - 1).for_each(Thread::unpark);
    }
    let closing = Closing(shared);
    loop {
        let task = shared.next.fetch_add(1, Ordering::Relaxed);
        if task >= count {
            break;
        }
        work(task);
    }
    drop(closing);
    if shared.panicked.swap(0, Ordering::Relaxed) > 0 {
        panic!("a task of a parallel operation panicked on a worker thread (its message is above)");
    }
}

/// Closes the gate and waits until nobody is inside.
struct Closing(&'static Shared);

impl Drop for Closing {
    fn drop(&mut self) {
        // When this thread's task panicked, the others need not begin the rest.
        self.0.next.store(usize::MAX / 2, Ordering::Relaxed);
        self.0.gate.fetch_or(CLOSED, Ordering::AcqRel);
        let mut turns = 0_u32;
        while self.0.gate.load(Ordering::Acquire) & INSIDE > 0 {
            turns += 1;
            if turns < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

fn try_lock(team: &'static Mutex<Team>) -> Option<MutexGuard<'static, Team>> {
    match team.try_lock() {
        Ok(team) => Some(team),
        // A job that panicked left the team in order: `Closing` waited for everybody.
        Err(TryLockError::Poisoned(team)) => Some(team.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Team {
    /// Starts workers until there are `n`. They live as long as the program.
    fn hire(&mut self, n: usize) {
        while self.workers.len() < n {
            let (shared, number) = (self.shared, self.workers.len());
            let worker = thread::Builder::new()
                .name(format!("limpid-{}", number + 1))
                .spawn(move || serve(shared, number))
                .expect("the system refused to start a thread");
            self.workers.push(worker.thread().clone());
        }
    }
}

/// A worker's life: wait for an open gate, go in, take tasks, go out.
fn serve(shared: &'static Shared, number: usize) {
    let mut seen = 0;
    loop {
        let epoch = wait_for_job(shared, seen);
        seen = epoch;
        // Workers beyond the number in force sit the job out.
        if number + 1 >= threads() || !enter(shared, epoch) {
            continue;
        }
        // SAFETY: we are inside an open gate of this epoch, so the caller has written `job` and waits for us.
        let job = unsafe { (*shared.job.get()).expect("an open gate has a job") };
        // SAFETY: as above: the closure lives until we are out.
        let work = unsafe { &*job.work };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            loop {
                let task = shared.next.fetch_add(1, Ordering::Relaxed);
                if task >= job.count {
                    break;
                }
                work(task);
            }
        }));
        if outcome.is_err() {
            shared.panicked.fetch_add(1, Ordering::Relaxed);
        }
        shared.gate.fetch_sub(1, Ordering::AcqRel);
    }
}

fn wait_for_job(shared: &Shared, seen: u64) -> u64 {
    let fresh = |gate: u64| (gate >> 32 != seen && gate & CLOSED == 0).then_some(gate >> 32);
    for turn in 0..SPINS + YIELDS {
        if let Some(epoch) = fresh(shared.gate.load(Ordering::Acquire)) {
            return epoch;
        }
        if turn < SPINS { std::hint::spin_loop() } else { thread::yield_now() }
    }
    shared.sleeping.fetch_add(1, Ordering::SeqCst);
    let epoch = loop {
        if let Some(epoch) = fresh(shared.gate.load(Ordering::SeqCst)) {
            break epoch;
        }
        thread::park();
    };
    shared.sleeping.fetch_sub(1, Ordering::SeqCst);
    epoch
}

fn enter(shared: &Shared, epoch: u64) -> bool {
    let open = |gate: u64| (gate >> 32 == epoch && gate & CLOSED == 0).then_some(gate + 1);
    shared.gate.fetch_update(Ordering::AcqRel, Ordering::Acquire, open).is_ok()
}

/// A slice that tasks write disjoint parts of.
///
/// [`for_each_chunk`] is the safe way to split an output; this is for kernels whose parts are not contiguous.
/// A copy refers to the same elements: the promise of [`Parts::part`] covers all copies together.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    start: *mut f32,
    len: usize,
    slice: std::marker::PhantomData<&'a mut [f32]>,
}

// SAFETY: `part` is unsafe and its callers promise disjoint ranges, so threads never share an element.
unsafe impl Sync for Parts<'_> {}
// SAFETY: as above.
unsafe impl Send for Parts<'_> {}

impl<'a> Parts<'a> {
    /// Wraps a slice for the time of one job.
    pub fn new(slice: &'a mut [f32]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: std::marker::PhantomData }
    }

    /// Elements `from .. from + len`.
    ///
    /// # Panics
    /// If the range is not inside the slice.
    ///
    /// # Safety
    /// While the part lives, no other part that overlaps it may be in use, on any thread.
    #[track_caller]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, from: usize, len: usize) -> &mut [f32] {
        assert!(from <= self.len && len <= self.len - from, "part {from}+{len} of {} elements", self.len);
        // SAFETY: in bounds by the line above; disjoint by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), len) }
    }

    /// The first element's address, for kernels that walk with strides.
    pub fn as_mut_ptr(&self) -> *mut f32 {
        self.start
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Calls `work(i, chunk)` for each chunk of `len` elements (the last may be shorter), on several threads.
pub fn for_each_chunk(slice: &mut [f32], len: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let (total, len) = (slice.len(), len.max(1));
    let parts = Parts::new(slice);
    run(total.div_ceil(len), |i| {
        // SAFETY: chunk i is elements i·len .. (i+1)·len, and every i is taken once.
        let chunk = unsafe { parts.part(i * len, len.min(total - i * len)) };
        work(i, chunk);
    });
}

/// Rows a task should take so that it is worth a hand-over: about 16k elements, whole rows.
///
/// It depends on the shape alone, so partial sums per task are the same at any number of threads.
pub fn rows_per_task(row_len: usize) -> usize {
    (16_384 / row_len.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests run side by side and `set_threads` is global: those that set it take turns.
    static TURN: Mutex<()> = Mutex::new(());

    #[test]
    fn every_task_is_done_once_at_any_number_of_threads() {
        let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
        for threads in [1, 2, 3, 4, 7] {
            set_threads(threads);
            for count in [0, 1, 2, 5, 64, 1000] {
                let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                run(count, |i| {
                    done[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(
                    done.iter().all(|n| n.load(Ordering::Relaxed) == 1),
                    "{threads} threads, {count} tasks"
                );
            }
        }
        set_threads(2);
    }

    #[test]
    fn ten_thousand_small_jobs_in_a_row_are_all_complete() {
        let mut values = vec![0.0_f32; 64];
        for round in 1..=10_000 {
            for_each_chunk(&mut values, 7, |_, chunk| chunk.iter_mut().for_each(|x| *x += 1.0));
            assert!(values.iter().all(|x| *x == round as f32), "round {round}");
        }
    }

    #[test]
    fn a_task_may_run_a_job_of_its_own() {
        let total = AtomicUsize::new(0);
        run(8, |_| {
            run(8, |_| {
                total.fetch_add(1, Ordering::Relaxed);
            })
        });
        assert_eq!(total.load(Ordering::Relaxed), 64);
    }

    #[test]
    fn a_panicking_task_panics_the_caller_and_leaves_the_team_usable() {
        let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
        set_threads(3);
        for _ in 0..20 {
            let outcome = std::panic::catch_unwind(|| run(16, |i| assert!(i != 11, "task eleven")));
            assert!(outcome.is_err());
            let done = AtomicUsize::new(0);
            run(16, |_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(done.load(Ordering::Relaxed), 16);
        }
        set_threads(2);
    }

    #[test]
    fn several_callers_at_once_each_get_their_whole_result() {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let mut values = vec![0.0_f32; 100];
                        for_each_chunk(&mut values, 9, |i, chunk| chunk.fill(i as f32));
                        assert!(values.iter().enumerate().all(|(at, x)| *x == (at / 9) as f32));
                    }
                });
            }
        });
    }
}
