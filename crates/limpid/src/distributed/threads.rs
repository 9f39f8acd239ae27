//! A world of threads in one process: the same code as between machines, for tests and programs
//! that have no MPI.
//!
//! ```
//! use limpid::distributed::{World, threads};
//!
//! let found = threads::run(3, |communicator| {
//!     let mut world = World::new(Box::new(communicator));
//!     let rank = world.rank() as u8;
//!     world.all_gather(&[rank]).unwrap()
//! });
//! assert!(found.iter().all(|ranks| *ranks == [0, 1, 2]));
//! ```

use super::{Communicator, Incoming, Outgoing};
use crate::error::{DistributedError, Result};
use std::sync::mpsc::{Receiver, Sender, channel};

/// One of the threads.
pub struct ThreadCommunicator {
    rank: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
}

/// The communicators of a world of `size` threads, by rank.
pub fn communicators(size: usize) -> Vec<ThreadCommunicator> {
    let new = |rank| ThreadCommunicator { rank, to: Vec::new(), from: Vec::new() };
    let mut all: Vec<ThreadCommunicator> = (0..size).map(new).collect();
    for receiver in 0..size {
        for sender in 0..size {
            let (to, from) = channel();
            all[sender].to.push(to);
            all[receiver].from.push(from);
        }
    }
    all
}

/// Runs `work` on `size` threads, each with its communicator; returns the results by rank.
///
/// # Panics
/// If one of them panics.
pub fn run<T: Send>(size: usize, work: impl Fn(ThreadCommunicator) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let started: Vec<_> = communicators(size)
            .into_iter()
            .map(|communicator| scope.spawn(move || work(communicator)))
            .collect();
        started.into_iter().map(|thread| thread.join().expect("a rank panicked")).collect()
    })
}

impl Communicator for ThreadCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        let gone = |rank: usize| DistributedError::Lost { ranks: vec![rank] };
        for (rank, bytes) in outgoing {
            self.to[*rank].send(bytes.to_vec()).map_err(|_| gone(*rank))?;
        }
        for (rank, bytes) in incoming {
            let message = self.from[*rank].recv().map_err(|_| gone(*rank))?;
            let (found, expected) = (message.len(), bytes.len());
            assert_eq!(found, expected, "a message of {found} bytes for {expected}");
            bytes.copy_from_slice(&message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::World;
    use crate::error::Error;

    #[test]
    fn messages_arrive_in_order_from_whom_they_are() {
        let received = run(3, |mut communicator| {
            let rank = communicator.rank();
            let others: Vec<usize> = (0..3).filter(|other| *other != rank).collect();
            let outgoing: Vec<[u8; 2]> = others.iter().map(|to| [rank as u8, *to as u8]).collect();
            let mut found = vec![[0; 2]; 4];
            let (first, second) = found.split_at_mut(2);
            let pairs = || others.iter().zip(&outgoing);
            let twice: Vec<Outgoing> =
                pairs().chain(pairs()).map(|(to, bytes)| (*to, &bytes[..])).collect();
            let mut incoming: Vec<Incoming> = Vec::new();
            for into in [first, second] {
                let places = others.iter().zip(into);
                incoming.extend(places.map(|(from, bytes)| (*from, &mut bytes[..])));
            }
            communicator.exchange(&twice, &mut incoming).unwrap();
            (rank, others, found)
        });
        for (rank, others, found) in received {
            for (from, bytes) in others.iter().chain(&others).zip(found) {
                assert_eq!(bytes, [*from as u8, rank as u8]);
            }
        }
    }

    #[test]
    fn a_rank_that_ended_is_named() {
        let results = run(2, |communicator| {
            let mut world = World::new(Box::new(communicator));
            if world.rank() == 1 { Ok(Vec::new()) } else { world.all_gather(&[1]) }
        });
        let lost = results.into_iter().find_map(Result::err).expect("rank 0 waits in vain");
        assert!(
            matches!(&lost, Error::Distributed(DistributedError::Lost { ranks }) if ranks == &[1]),
            "{lost}"
        );
    }
}
