//! A persistent thread team: [`run`] executes a parallel loop of numbered tasks and returns when
//! all are done.
//!
//! ```
//! use limpid_tensor::team;
//!
//! let mut squares = vec![0.0; 1000];
//! team::for_each_chunk(&mut squares, 100, |i, chunk| {
//!     chunk.iter_mut().enumerate().for_each(|(j, x)| *x = ((100 * i + j) as f32).powi(2));
//! });
//! assert_eq!(squares[999], 999.0 * 999.0);
//! ```
//!
//! Each thread takes the next task number when it is free, so a slow core does not hold up the
//! others. Results are bit-identical for any number of threads: tasks write disjoint parts of the
//! output, and how a loop is split into tasks depends on the shapes alone.
//!
//! An idle worker spins for a few microseconds (the next operation of a training step follows at
//! once), then yields, then parks, so that it does not occupy a core that other programs could use.
//!
//! One parallel loop runs at a time. A second caller (another thread, or a task that calls [`run`]
//! itself) executes its tasks on its own thread, with the same result.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::{self, Thread};

/// Number of spins before yielding, and of yields before parking.
const SPINS: u32 = 4_000;
const YIELDS: u32 = 200;

/// One parallel loop: tasks 0..count of `work`.
#[derive(Clone, Copy)]
struct ParallelLoop {
    /// Borrowed from the caller of [`run`], which does not return while a worker is inside.
    work: *const (dyn Fn(usize) + Sync),
    count: usize,
}

/// State shared by the caller and the workers.
///
/// `gate` is (epoch << 32) | (closed << 31) | number of workers inside. A worker enters only
/// through an open gate whose epoch it has not seen, by adding one; the caller closes the gate when
/// no task is left and waits until no worker is inside. A worker that wakes late finds the gate
/// closed, and the caller does not wait for it.
struct Shared {
    gate: AtomicU64,
    next: AtomicUsize,
    current: UnsafeCell<Option<ParallelLoop>>,
    sleeping: AtomicUsize,
    /// Number of workers whose task panicked.
    panicked: AtomicUsize,
}

// SAFETY: `current` is written only by the holder of the team's lock while the gate is closed and
// no worker is inside, and read only by workers inside an open gate; the gate's Release/Acquire
// pairs order the two. The raw pointer in it is to a `Sync` closure.
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
            current: UnsafeCell::new(None),
            sleeping: AtomicUsize::new(0),
            panicked: AtomicUsize::new(0),
        }));
        Mutex::new(Team { shared, workers: Vec::new() })
    })
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Number of threads of a parallel loop, the caller included: the value of [`set_threads`], or one
/// per core by default.
pub fn threads() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let n = default_threads();
            THREADS.store(n, Ordering::Relaxed);
            n
        }
        n => n,
    }
}

/// Sets the number of threads of a parallel loop, the caller included (0 counts as 1). It may be
/// changed at any time, and results are bit-identical for any value.
pub fn set_threads(n: usize) {
    THREADS.store(n.max(1), Ordering::Relaxed);
}

#[cfg(not(test))]
fn default_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// `scripts/valgrind` runs the crate's unit tests on one thread with `LIMPID_THREADS`; the library
/// itself reads no environment variable.
#[cfg(test)]
fn default_threads() -> usize {
    let n = std::env::var("LIMPID_THREADS").ok();
    let n = n.map(|n| n.parse().expect("LIMPID_THREADS is a number of threads"));
    n.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Executes tasks `0..count` of `work` on the team, and returns when all are done.
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
    team.spawn_workers(threads - 1);
    let shared = team.shared;
    let work: &(dyn Fn(usize) + Sync) = &work;
    // SAFETY: only the lifetime changes. The pointer is used by workers inside the gate only, and
    // `Closing` below waits until no worker is inside before `work` is dropped, also when a task
    // panics on this thread.
    let work_static: *const (dyn Fn(usize) + Sync) = unsafe {
        std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work)
    };
    // SAFETY: we hold the team's lock and the gate is closed with no worker inside, so no other
    // thread reads `current`.
    unsafe { *shared.current.get() = Some(ParallelLoop { work: work_static, count }) };
    shared.next.store(0, Ordering::Relaxed);
    let epoch = (shared.gate.load(Ordering::Relaxed) >> 32) + 1;
    // SeqCst: a worker either sees the open gate before it parks, or is counted in `sleeping`
    // before we look.
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

/// Closes the gate and waits until no worker is inside.
struct Closing(&'static Shared);

impl Drop for Closing {
    fn drop(&mut self) {
        // When this thread's task panicked, no further task is started.
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
        // A panicking task leaves the team consistent: `Closing` waited for all workers.
        Err(TryLockError::Poisoned(team)) => Some(team.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl Team {
    /// Starts workers until there are `n`. They live as long as the process.
    fn spawn_workers(&mut self, n: usize) {
        while self.workers.len() < n {
            let (shared, number) = (self.shared, self.workers.len());
            let worker = thread::Builder::new()
                .name(format!("limpid-{}", number + 1))
                .spawn(move || worker_loop(shared, number))
                .expect("the system refused to start a thread");
            self.workers.push(worker.thread().clone());
        }
    }
}

/// The main function of a worker: wait for an open gate, enter, take tasks, leave.
fn worker_loop(shared: &'static Shared, number: usize) {
    let mut seen = 0;
    loop {
        let epoch = wait_for_loop(shared, seen);
        seen = epoch;
        // Workers beyond the current number of threads skip this loop.
        if number + 1 >= threads() || !enter(shared, epoch) {
            continue;
        }
        // SAFETY: we are inside an open gate of this epoch, so the caller has written `current`
        // and waits for us.
        let current = unsafe { (*shared.current.get()).expect("an open gate has a loop") };
        // SAFETY: as above: the closure lives until we have left.
        let work = unsafe { &*current.work };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            loop {
                let task = shared.next.fetch_add(1, Ordering::Relaxed);
                if task >= current.count {
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

fn wait_for_loop(shared: &Shared, seen: u64) -> u64 {
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

/// A slice of which tasks write disjoint parts.
///
/// [`for_each_chunk`] is the safe way to split an output; this is for kernels whose parts are not
/// contiguous. A copy refers to the same elements: the contract of [`Parts::part`] covers all
/// copies together.
#[derive(Clone, Copy)]
pub struct Parts<'a> {
    start: *mut f32,
    len: usize,
    slice: std::marker::PhantomData<&'a mut [f32]>,
}

// SAFETY: `part` is unsafe and its callers promise disjoint ranges, so threads never share an
// element.
unsafe impl Sync for Parts<'_> {}
// SAFETY: as above.
unsafe impl Send for Parts<'_> {}

impl<'a> Parts<'a> {
    /// Wraps a slice for the duration of one parallel loop.
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
        assert!(
            from <= self.len && len <= self.len - from,
            "part {from}+{len} of {} elements",
            self.len
        );
        // SAFETY: in bounds by the line above; disjoint by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), len) }
    }

    /// The address of the first element, for kernels with strided access.
    pub fn as_mut_ptr(&self) -> *mut f32 {
        self.start
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the slice is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Calls `work(i, chunk)` for each chunk of `len` elements (the last may be shorter), on the team.
///
/// # Panics
/// If a task panics.
pub fn for_each_chunk(slice: &mut [f32], len: usize, work: impl Fn(usize, &mut [f32]) + Sync) {
    let (total, len) = (slice.len(), len.max(1));
    let parts = Parts::new(slice);
    run(total.div_ceil(len), |i| {
        // SAFETY: chunk i is elements i·len .. (i+1)·len, and every i is taken once.
        let chunk = unsafe { parts.part(i * len, len.min(total - i * len)) };
        work(i, chunk);
    });
}

/// Number of rows per task that outweighs the cost of scheduling: about 16k elements, whole rows.
///
/// A function of the shape alone, so that partial sums per task are the same for any number of
/// threads.
pub fn rows_per_task(row_len: usize) -> usize {
    (16_384 / row_len.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests run concurrently and `set_threads` is global: those that call it take turns.
    static TURN: Mutex<()> = Mutex::new(());

    #[test]
    fn every_task_is_executed_once_for_any_number_of_threads() {
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
    fn ten_thousand_small_loops_in_a_row_are_all_complete() {
        let mut values = vec![0.0_f32; 64];
        for round in 1..=10_000 {
            for_each_chunk(&mut values, 7, |_, chunk| chunk.iter_mut().for_each(|x| *x += 1.0));
            assert!(values.iter().all(|x| *x == round as f32), "round {round}");
        }
    }

    #[test]
    fn a_task_may_run_a_parallel_loop_itself() {
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
    fn concurrent_callers_each_get_their_complete_result() {
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
