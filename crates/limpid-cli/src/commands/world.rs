//! The processes of a training run: this one alone, or those that `mpirun` or `srun` started.

use crate::error::{Error, Result};
use limpid::distributed::World;
use limpid::distributed::agreement::{self, Facts};
use limpid::error::{DistributedError, Error as Library, RunError};
use limpid::hash::hash_file;
use std::process::ExitCode;

/// What launchers set for each of their processes: Open MPI's, those that speak PMIx (and `srun
/// --mpi=pmix`), MPICH's.
const LAUNCHED: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"];

/// The processes that train together.
pub struct Job {
    world: World,
    rank: usize,
    size: usize,
    #[cfg(feature = "mpi")]
    mpi: Option<limpid_mpi::Mpi>,
}

fn is_launched() -> bool {
    LAUNCHED.iter().any(|name| std::env::var_os(name).is_some())
}

impl Job {
    /// Joins the job that this process was started in, if it was.
    #[cfg(not(feature = "mpi"))]
    pub fn join() -> Result<Self> {
        if is_launched() && std::env::var(LAUNCHED[0]).is_ok_and(|size| size != "1") {
            let message = "this limpid was built without MPI, and was started as one of several \
                           processes";
            return Err(Error::config(message).hint(
                "build it with the feature mpi: cargo install --path crates/limpid-cli --features \
                 mpi",
            ));
        }
        Ok(Self { world: World::single(), rank: 0, size: 1 })
    }

    /// Joins the job that this process was started in, if it was.
    #[cfg(feature = "mpi")]
    pub fn join() -> Result<Self> {
        if !is_launched() {
            return Ok(Self { world: World::single(), rank: 0, size: 1, mpi: None });
        }
        let timeout = timeout()?;
        let mpi = limpid_mpi::Mpi::start().expect("MPI is started once");
        let (rank, size) = (mpi.rank(), mpi.size());
        let world = match size {
            1 => World::single(),
            _ => {
                RANK.set(rank).expect("a process joins one job");
                World::new(Box::new(mpi.communicator(timeout, end_at_loss)))
            }
        };
        Ok(Self { world, rank, size, mpi: Some(mpi) })
    }

    /// Whether this is the process that prints and writes files.
    pub fn is_main(&self) -> bool {
        self.rank == 0
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The processes, for the run.
    pub fn take_world(&mut self) -> World {
        std::mem::take(&mut self.world)
    }

    /// What all processes can do, or none.
    pub fn agree<T>(&mut self, own: Result<T>) -> Result<T> {
        // The error of this process is shown as it is, unless the main one has one, too.
        let (own, error) = match own {
            Ok(own) => (Ok(own), None),
            Err(error) => (Err(Library::Interrupted), Some(error)),
        };
        match (agreement::all_succeeded(&mut self.world, own), error) {
            (Err(Library::Interrupted), Some(error)) => Err(error),
            (result, _) => Ok(result?),
        }
    }

    /// Refuses more than one process.
    pub fn check_alone(&self, what: &'static str) -> Result<()> {
        match self.size {
            1 => Ok(()),
            ranks => Err(Library::from(DistributedError::OneProcess { what, ranks }).into()),
        }
    }

    /// The program of this process: all must run the same.
    pub fn identity(&self) -> Result<Facts> {
        if self.size == 1 {
            return Ok(Facts::new());
        }
        let own = std::env::current_exe()
            .map_err(|e| Error::data(format!("cannot find the program that runs: {e}")))?;
        let (bytes, hash) = hash_file(&own, 0)?;
        Ok(vec![("program".into(), format!("{bytes} bytes, hash {hash:016x}"))])
    }

    /// Ends with the others: all in order, or all at once after an error.
    #[cfg(not(feature = "mpi"))]
    pub fn end(self, result: Result<ExitCode>) -> Result<ExitCode> {
        result
    }

    /// Ends with the others: all in order, or all at once after an error.
    #[cfg(feature = "mpi")]
    pub fn end(self, result: Result<ExitCode>) -> Result<ExitCode> {
        let Some(mpi) = self.mpi else { return result };
        let error = match result {
            Ok(code) => {
                mpi.finish();
                return Ok(code);
            }
            Err(error) => error,
        };
        if self.size == 1 {
            mpi.finish();
            return Err(error);
        }
        if self.rank == 0 || !is_known_to_all(&error) {
            if self.rank > 0 {
                eprint!("rank {}: ", self.rank);
            }
            crate::printer::print_error(&error);
        } else {
            // Whoever has the message prints it before this ends all of them.
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        mpi.abort(2)
    }
}

/// Whether every process has this error, or learned of it from the one that prints it.
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "there is one process"))]
fn is_known_to_all(error: &Error) -> bool {
    let Error::Library(error) = error else { return false };
    match error {
        Library::Distributed(error) => matches!(
            error,
            DistributedError::OtherRank { .. }
                | DistributedError::Differs { .. }
                | DistributedError::TooManyRanks { .. }
                | DistributedError::OneProcess { .. }
        ),
        Library::Run(RunError::Diverged { .. } | RunError::EmptyBatch { .. }) => true,
        _ => false,
    }
}

/// The number of this process, for a message about the loss of another.
#[cfg(feature = "mpi")]
static RANK: std::sync::OnceLock<usize> = std::sync::OnceLock::new();

/// Reports that another process is lost, and ends this one. No checkpoint is saved: the newest one
/// is of a step that all processes have done.
#[cfg(feature = "mpi")]
fn end_at_loss(lost: &DistributedError) -> ! {
    let own = RANK.get().copied().unwrap_or_default();
    eprintln!(
        "error: rank {own}: {lost}\nhint: the same command with --resume continues from the \
         newest checkpoint, with any number of processes; LIMPID_MPI_TIMEOUT sets the seconds"
    );
    std::process::exit(2)
}

/// How long a process waits for another: `LIMPID_MPI_TIMEOUT`, in seconds.
#[cfg(feature = "mpi")]
fn timeout() -> Result<std::time::Duration> {
    const DEFAULT: u64 = 120;
    let seconds = match std::env::var("LIMPID_MPI_TIMEOUT") {
        Err(_) => DEFAULT,
        Ok(text) => text.parse().ok().filter(|n| (1..=86_400).contains(n)).ok_or_else(|| {
            Error::config(format!("LIMPID_MPI_TIMEOUT={text} is not a number of seconds"))
                .hint(format!("use 1 to 86400, or leave it unset for {DEFAULT}"))
        })?,
    };
    Ok(std::time::Duration::from_secs(seconds))
}
