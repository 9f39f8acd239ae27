//! The processes of an MPI job as a `Communicator` of `limpid`.
//!
#![cfg_attr(feature = "mpi", doc = "```no_run")]
#![cfg_attr(not(feature = "mpi"), doc = "```ignore")]
//! use limpid::distributed::World;
//! use std::time::Duration;
//!
//! fn end(lost: &limpid::error::DistributedError) -> ! {
//!     eprintln!("{lost}");
//!     std::process::exit(2)
//! }
//!
//! let mpi = limpid_mpi::Mpi::start().expect("nobody has started MPI before");
//! let communicator = mpi.communicator(Duration::from_secs(120), end);
//! let mut world = World::new(Box::new(communicator));
//! let ranks = world.all_gather(&[world.rank() as u8]).unwrap();
//! drop(world);
//! mpi.finish();
//! ```
#![cfg(feature = "mpi")]

mod requests;

use limpid::distributed::{Communicator, Incoming, Outgoing, Patience};
use limpid::error::{DistributedError, Result};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::Communicator as _;
use requests::Requests;
use std::mem::ManuallyDrop;
use std::thread::ThreadId;
use std::time::Duration;

/// How many times longer a rank waits for another that works alone.
const ALONE: u32 = 60;

/// A process of a running MPI job.
///
/// Dropping it does not end MPI: a process that ends without [`Mpi::finish`] is one that failed,
/// and the launcher ends the others.
pub struct Mpi {
    universe: ManuallyDrop<Universe>,
}

impl Mpi {
    /// Joins the job that this process was started in. `None` if MPI was started before: it can be
    /// once.
    pub fn start() -> Option<Self> {
        // Funneled: other threads compute, this one communicates.
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        Some(Self { universe: ManuallyDrop::new(universe) })
    }

    /// The number of this process, from 0.
    pub fn rank(&self) -> usize {
        self.universe.world().rank() as usize
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.universe.world().size() as usize
    }

    /// A communicator between all processes, for this thread. A rank that does not answer within
    /// `timeout` is taken for lost: then `on_loss` is called, which ends the process. It cannot
    /// return, because the buffers of an unfinished message belong to MPI.
    pub fn communicator(
        &self,
        timeout: Duration,
        on_loss: fn(&DistributedError) -> !,
    ) -> MpiCommunicator {
        let (rank, size, thread) = (self.rank(), self.size(), std::thread::current().id());
        MpiCommunicator { rank, size, thread, timeout, patience: Patience::Steps, on_loss }
    }

    /// Waits for all processes, and ends MPI.
    pub fn finish(self) {
        drop(ManuallyDrop::into_inner(self.universe));
    }

    /// Ends all processes of the job with this exit code.
    pub fn abort(self, code: i32) -> ! {
        self.universe.world().abort(code)
    }
}

/// The processes of the job.
pub struct MpiCommunicator {
    rank: usize,
    size: usize,
    thread: ThreadId,
    timeout: Duration,
    patience: Patience,
    on_loss: fn(&DistributedError) -> !,
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    /// # Panics
    /// On another thread than the one that made the communicator, or after the end of MPI.
    fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        assert_eq!(self.thread, std::thread::current().id(), "MPI communicates on one thread");
        assert!(!mpi::environment::is_finalized(), "MPI has ended");
        let patience = match self.patience {
            Patience::Steps => self.timeout,
            Patience::Alone => self.timeout * ALONE,
        };
        let mut requests = Requests::default();
        for (rank, bytes) in incoming {
            requests.receive(*rank, bytes);
        }
        for (rank, bytes) in outgoing {
            requests.send(*rank, bytes);
        }
        if let Err(ranks) = requests.wait(patience) {
            let seconds = patience.as_secs();
            (self.on_loss)(&DistributedError::NoAnswer { ranks, seconds })
        }
        Ok(())
    }

    fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
    }
}
