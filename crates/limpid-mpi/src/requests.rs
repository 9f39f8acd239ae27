//! Messages on their way.
//!
//! MPI's own blocking calls wait for ever; these are asked whether they are done, until time is up.

use mpi::ffi;
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::time::{Duration, Instant};

/// Every message has it: those between two ranks arrive in the order in which they were sent.
const TAG: c_int = 0;

/// For this long a waiting rank keeps its core; then it lets others have it.
const SPIN: Duration = Duration::from_micros(200);
/// After this long it sleeps between two looks.
const YIELD: Duration = Duration::from_millis(100);
/// For this long at a time.
const SLEEP: Duration = Duration::from_millis(1);

/// Messages on their way, whose buffers are borrowed for as long.
#[derive(Default)]
pub(super) struct Requests<'a> {
    requests: Vec<ffi::MPI_Request>,
    ranks: Vec<usize>,
    buffers: PhantomData<&'a mut [u8]>,
}

fn length(bytes: &[u8]) -> c_int {
    c_int::try_from(bytes.len()).expect("a message is shorter than 2 GB")
}

impl<'a> Requests<'a> {
    /// Starts to receive.
    pub(super) fn receive(&mut self, rank: usize, bytes: &'a mut [u8]) {
        let (count, at) = (length(bytes), bytes.as_mut_ptr().cast());
        let mut request = std::mem::MaybeUninit::uninit();
        // SAFETY: MPI runs and has not ended (the caller checks). `at` points to `count` bytes that
        // are borrowed mutably until the request is done: `wait` returns only then, or never.
        let code = unsafe {
            ffi::MPI_Irecv(
                at,
                count,
                ffi::RSMPI_UINT8_T,
                rank as c_int,
                TAG,
                ffi::RSMPI_COMM_WORLD,
                request.as_mut_ptr(),
            )
        };
        // SAFETY: a call that succeeded has written the request.
        self.started(code, rank, || unsafe { request.assume_init() });
    }

    /// Starts to send.
    pub(super) fn send(&mut self, rank: usize, bytes: &'a [u8]) {
        let (count, at) = (length(bytes), bytes.as_ptr().cast());
        let mut request = std::mem::MaybeUninit::uninit();
        // SAFETY: as in `receive`; the bytes are only read.
        let code = unsafe {
            ffi::MPI_Isend(
                at,
                count,
                ffi::RSMPI_UINT8_T,
                rank as c_int,
                TAG,
                ffi::RSMPI_COMM_WORLD,
                request.as_mut_ptr(),
            )
        };
        // SAFETY: a call that succeeded has written the request.
        self.started(code, rank, || unsafe { request.assume_init() });
    }

    /// MPI ends the process at an error itself, unless its error handler was changed.
    fn started(&mut self, code: c_int, rank: usize, request: impl FnOnce() -> ffi::MPI_Request) {
        assert_eq!(code, 0, "MPI cannot start a message with rank {rank}");
        self.requests.push(request());
        self.ranks.push(rank);
    }

    /// Waits until all are done.
    ///
    /// # Errors
    /// The ranks with whom one is not, after this long. The buffers are then still in use: the
    /// caller must end the process.
    pub(super) fn wait(&mut self, patience: Duration) -> Result<(), Vec<usize>> {
        let start = Instant::now();
        for turn in 0_u64.. {
            let (count, mut done) = (self.requests.len() as c_int, 0);
            // SAFETY: MPI runs; the array has `count` requests, of which those that are done have
            // become null requests, which MPI skips.
            let code = unsafe {
                ffi::MPI_Testall(
                    count,
                    self.requests.as_mut_ptr(),
                    &mut done,
                    ffi::RSMPI_STATUSES_IGNORE,
                )
            };
            assert_eq!(code, 0, "MPI cannot tell whether a message is done");
            if done != 0 {
                self.requests.clear();
                return Ok(());
            }
            // Not at every turn: looking at a clock takes as long as looking at a message.
            if turn % 64 != 63 {
                std::hint::spin_loop();
                continue;
            }
            match start.elapsed() {
                waited if waited < SPIN => {}
                waited if waited < YIELD => std::thread::yield_now(),
                waited if waited < patience => std::thread::sleep(SLEEP),
                _ => return Err(self.unfinished()),
            }
        }
        unreachable!("2⁶⁴ turns")
    }

    /// The ranks of requests that are not done.
    fn unfinished(&mut self) -> Vec<usize> {
        let mut ranks = Vec::new();
        for (request, rank) in self.requests.iter_mut().zip(&self.ranks) {
            let mut done = 0;
            // SAFETY: as in `wait`, for one request.
            unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
            if done == 0 {
                ranks.push(*rank);
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }
}

impl Drop for Requests<'_> {
    /// Whoever unwinds would free buffers that MPI still uses.
    fn drop(&mut self) {
        if !self.requests.is_empty() {
            std::process::abort();
        }
    }
}
