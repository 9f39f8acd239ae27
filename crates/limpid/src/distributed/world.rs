//! The processes of a run.

use super::{Communicator, Incoming, Outgoing, Patience};
use crate::error::Result;
use limpid_tensor::bytes;

/// The processes of a run: one, or those that a [`Communicator`] connects.
#[derive(Default)]
pub struct World {
    communicator: Option<Box<dyn Communicator>>,
    sent: u64,
}

impl World {
    /// This process alone.
    pub fn single() -> Self {
        Self::default()
    }

    /// The processes that `communicator` connects.
    pub fn new(communicator: Box<dyn Communicator>) -> Self {
        Self { communicator: Some(communicator), sent: 0 }
    }

    /// The number of this process, from 0.
    pub fn rank(&self) -> usize {
        self.communicator.as_ref().map_or(0, |communicator| communicator.rank())
    }

    /// The number of processes.
    pub fn size(&self) -> usize {
        self.communicator.as_ref().map_or(1, |communicator| communicator.size())
    }

    /// Whether this is the process that writes files: rank 0.
    pub fn is_main(&self) -> bool {
        self.rank() == 0
    }

    /// Says how long another rank may be busy from now on.
    pub fn set_patience(&mut self, patience: Patience) {
        if let Some(communicator) = &mut self.communicator {
            communicator.set_patience(patience);
        }
    }

    /// Bytes that this process has sent so far, without what the transport adds.
    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    /// See [`Communicator::exchange`]; empty messages are left out.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    ///
    /// # Panics
    /// If a process alone has a message for another.
    pub fn exchange(&mut self, outgoing: &[Outgoing], incoming: &mut [Incoming]) -> Result<()> {
        self.sent += outgoing.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>();
        match &mut self.communicator {
            Some(communicator) => communicator.exchange(outgoing, incoming),
            None => {
                assert!(outgoing.is_empty() && incoming.is_empty(), "a message to nobody");
                Ok(())
            }
        }
    }

    /// The bytes of every rank, in order; all give the same number of them.
    ///
    /// In ⌈log₂ size⌉ rounds (Bruck et al. 1997): a rank that knows n blocks, its own and those of
    /// the ranks after it, gets n more from the rank n places on.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    pub fn all_gather(&mut self, own: &[u8]) -> Result<Vec<u8>> {
        let (rank, size, len) = (self.rank(), self.size(), own.len());
        let mut blocks = own.to_vec();
        blocks.resize(size * len, 0);
        let mut known = 1;
        while known < size {
            let more = known.min(size - known);
            let (have, new) = blocks.split_at_mut(known * len);
            let (to, from) = ((rank + size - known) % size, (rank + known) % size);
            let outgoing = [(to, &have[..more * len])];
            self.exchange(&outgoing, &mut [(from, &mut new[..more * len])])?;
            known += more;
        }
        // Block i is of rank + i.
        blocks.rotate_right(rank * len);
        Ok(blocks)
    }

    /// Computes numbers from each item, item i on rank i mod size, and gives every rank the numbers
    /// of all items in order: what is made of them has the same bits at any number of ranks.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    pub fn share_out<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut compute: impl FnMut(&T) -> Vec<f32>,
        mut consume: impl FnMut(&T, &[f32]),
    ) -> Result<()> {
        let (rank, size) = (self.rank(), self.size());
        let mut items = items.into_iter();
        loop {
            let round: Vec<T> = items.by_ref().take(size).collect();
            if round.is_empty() {
                return Ok(());
            }
            let own = round.get(rank).map(&mut compute).unwrap_or_default();
            if size == 1 {
                consume(&round[0], &own);
                continue;
            }
            let all = self.all_gather_any(bytes::of(&own))?;
            for (item, found) in round.iter().zip(all) {
                let mut numbers = vec![0.0; found.len() / size_of::<f32>()];
                bytes::of_mut(&mut numbers).copy_from_slice(&found);
                consume(item, &numbers);
            }
        }
    }

    /// The bytes of every rank, of any number each.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    pub fn all_gather_any(&mut self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        let lengths = self.all_gather(&(own.len() as u64).to_le_bytes())?;
        let length = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight")) as usize;
        let lengths: Vec<usize> = lengths.chunks_exact(8).map(length).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut padded = own.to_vec();
        padded.resize(longest, 0);
        let all = self.all_gather(&padded)?;
        let of = |(rank, len): (usize, &usize)| all[rank * longest..][..*len].to_vec();
        Ok(lengths.iter().enumerate().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::threads;
    use super::*;

    #[test]
    fn every_rank_gets_the_bytes_of_all_in_order() {
        for size in 1..=9 {
            let results = threads::run(size, |communicator| {
                let mut world = World::new(Box::new(communicator));
                let rank = world.rank() as u8;
                let same = world.all_gather(&[rank, 100 + rank]).unwrap();
                let any = world.all_gather_any(&vec![rank; rank as usize]).unwrap();
                (same, any)
            });
            for (same, any) in results {
                let want: Vec<u8> = (0..size as u8).flat_map(|rank| [rank, 100 + rank]).collect();
                assert_eq!(same, want);
                let want: Vec<Vec<u8>> = (0..size).map(|rank| vec![rank as u8; rank]).collect();
                assert_eq!(any, want);
            }
        }
    }

    #[test]
    fn shared_work_gives_every_rank_all_results_in_order() {
        for size in 1..5 {
            let results = threads::run(size, |communicator| {
                let mut world = World::new(Box::new(communicator));
                let (mut found, mut computed) = (Vec::new(), 0);
                let compute = |i: &usize| {
                    computed += 1;
                    vec![*i as f32 / 3.0; *i]
                };
                world.share_out(0..7, compute, |i, sums| found.push((*i, sums.to_vec()))).unwrap();
                (found, computed)
            });
            assert_eq!(results.iter().map(|(_, computed)| computed).sum::<usize>(), 7);
            for (found, _) in results {
                let want: Vec<_> = (0..7).map(|i| (i, vec![i as f32 / 3.0; i])).collect();
                assert_eq!(found, want);
            }
        }
    }

    #[test]
    fn a_process_alone_sends_nothing() {
        let mut world = World::single();
        assert_eq!(world.all_gather(&[1, 2]).unwrap(), [1, 2]);
        assert_eq!((world.rank(), world.size(), world.sent_bytes()), (0, 1, 0));
    }
}
