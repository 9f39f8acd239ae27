//! A generation's view of the engine: sessions whose steps are computed with those of others.

use super::Shared;
use crate::scheduler::JobId;
use limpid::generate::{Session, Sessions};
use limpid_tensor::tensor::Tensor;

/// The sessions of one generation.
pub struct RemoteSessions<'e> {
    pub(super) shared: &'e Shared,
    pub(super) job: JobId,
    pub(super) vocab_size: usize,
    pub(super) longest: usize,
}

impl Sessions for RemoteSessions<'_> {
    fn open<'s>(&'s self, capacity: usize) -> Box<dyn Session + 's> {
        let capacity = capacity.min(self.longest);
        // A generation has one session at a time: what it had is forgotten.
        self.shared.select(self.job, &[]);
        Box::new(RemoteSession { sessions: self, capacity })
    }
}

struct RemoteSession<'s, 'e> {
    sessions: &'s RemoteSessions<'e>,
    capacity: usize,
}

impl Session for RemoteSession<'_, '_> {
    fn advance(&mut self, tokens: &[Vec<u32>]) -> Tensor {
        let RemoteSessions { shared, job, vocab_size, .. } = self.sessions;
        shared.advance(*job, tokens.to_vec()).unwrap_or_else(|| {
            // The job was dropped. NaN ends a generation with an error, which nobody waits for.
            let shape = [tokens.len(), *vocab_size];
            Tensor::new(shape, &vec![f32::NAN; tokens.len() * vocab_size])
        })
    }

    fn select(&mut self, sequences: &[usize]) {
        self.sessions.shared.select(self.sessions.job, sequences);
    }

    fn join(&mut self, sources: &[&[u32]]) {
        if !sources.is_empty() {
            self.sessions.shared.open(self.sessions.job, sources);
        }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}
