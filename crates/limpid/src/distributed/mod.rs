//! Several processes that train one model: data-parallel training with the same bits at any number
//! of them.
//!
//! ```text
//! step = micro-batches 0 1 2 3 4      a list: a function of seed and step
//!         rank 0: 0 1 2, rank 1: 3 4  each process computes the gradients of its share
//!         ((0 + 1) + 2) + (3 + 4)     and they are added along one fixed tree, whoever has them
//! ```
//!
//! f32 sums depend on their order, so the order is a property of the run, not of the machines: a
//! binary tree over the indices of the micro-batches ([`tree`]). A *rank* is the number of a
//! process, a *world* all of them; rank 0, the *main* rank, writes the files of the run.
//!
//! | | |
//! |---|---|
//! | [`Communicator`] | what a transport can do: exchange bytes. One method |
//! | [`World`] | the processes of a run: gathering, counting what is sent |
//! | [`threads`] | a world of threads in one process: for tests and small programs |
//! | [`tree`] | which rank computes what, and in which order sums are made |
//! | [`slices`] | sums and copies of large vectors, slice by slice |
//! | [`agreement`] | whether all ranks are about to do the same |
//!
//! ```
//! use limpid::distributed::{World, threads};
//!
//! let gathered = threads::run(3, |communicator| {
//!     let mut world = World::new(Box::new(communicator));
//!     let own = [10 * world.rank() as u8];
//!     world.all_gather(&own).unwrap()
//! });
//! assert_eq!(gathered, [[0, 10, 20]; 3]);
//! ```

pub mod agreement;
pub mod slices;
pub mod threads;
pub mod tree;
mod world;

pub use world::World;

use crate::error::Result;

/// Bytes for a rank.
pub type Outgoing<'a> = (usize, &'a [u8]);
/// Where the bytes of a rank go.
pub type Incoming<'a> = (usize, &'a mut [u8]);

/// A transport between the processes of a world: MPI, or channels between threads.
///
/// It adds nothing up: the order of a sum is decided here, not by whoever carries its terms.
pub trait Communicator: Send {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;

    /// Sends and receives, all at once, and returns when all is done. Messages from one rank to
    /// another arrive in the order in which they were sent; the receiver knows their lengths.
    ///
    /// # Errors
    /// If another process is gone or does not answer; then the world is of no more use.
    fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()>;

    /// Says how long another rank may be busy from now on.
    fn set_patience(&mut self, _patience: Patience) {}
}

/// How long a rank waits for another before it takes it for lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// All ranks do about the same work: training steps.
    Steps,
    /// One may work while the others wait: it tokenizes the text, or scores the model.
    Alone,
}

/// Whether every rank has all moments of the optimizer, or a slice of them (ZeRO stage 1,
/// Rajbhandari et al. 2020). The weights have the same bits either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharding {
    /// Each rank has and updates its slice: the memory of the moments and the time of the update
    /// are divided by the number of ranks. Updated weights are exchanged instead of gradients.
    Sliced,
    /// Each rank has all of them and does the whole update.
    Replicated,
}
