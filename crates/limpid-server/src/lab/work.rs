//! Computing off the event loop: one heavy job at a time, a bounded number waiting.

use super::problem::{Kind, LabProblem};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;

/// Jobs that may wait.
const WAITING: usize = 32;
/// Short jobs at once.
const LIGHT: usize = 2;

/// Where jobs run.
pub struct Work {
    heavy: Arc<Semaphore>,
    light: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Work {
    pub fn new() -> Self {
        let heavy = Arc::new(Semaphore::new(1));
        let light = Arc::new(Semaphore::new(LIGHT));
        Self { heavy, light, waiting: AtomicUsize::new(0) }
    }

    /// A forward pass, or many.
    pub async fn heavy<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, LabProblem> + Send + 'static,
    ) -> Result<T, LabProblem> {
        self.run(&self.heavy, job).await
    }

    /// A look into a pass that was kept.
    pub async fn light<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, LabProblem> + Send + 'static,
    ) -> Result<T, LabProblem> {
        self.run(&self.light, job).await
    }

    async fn run<T: Send + 'static>(
        &self,
        permits: &Arc<Semaphore>,
        job: impl FnOnce() -> Result<T, LabProblem> + Send + 'static,
    ) -> Result<T, LabProblem> {
        let waiting = Waiting::enter(&self.waiting)?;
        let permit = Arc::clone(permits).acquire_owned().await;
        drop(waiting);
        // The job keeps its permit, also when whoever asked has left.
        let job = move || {
            let _permit = permit;
            job()
        };
        let failed = |error: tokio::task::JoinError| {
            tracing::error!(%error, "a job of the lab failed");
            LabProblem::new(Kind::Internal, "an internal error: the terminal shows more")
        };
        tokio::task::spawn_blocking(job).await.map_err(failed)?
    }
}

struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize) -> Result<Self, LabProblem> {
        if count.fetch_add(1, Ordering::Relaxed) >= WAITING {
            count.fetch_sub(1, Ordering::Relaxed);
            return Err(LabProblem::new(Kind::Busy, "too much is waiting to be computed")
                .hint("try again in a moment"));
        }
        Ok(Self(count))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
