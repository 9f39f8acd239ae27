//! Work without the GIL that Ctrl-C can end.

use crate::error::exception;
use limpid::error::{Error, Result};
use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// How often Python is asked for signals: each time waits for the GIL.
const EVERY: Duration = Duration::from_millis(50);

/// Asks Python now and then whether a signal has arrived.
pub struct Signals {
    last: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub fn new() -> Self {
        Self { last: Instant::now(), raised: None }
    }

    /// [`Error::Interrupted`] if a handler of a signal has raised an exception.
    pub fn check(&mut self) -> Result<()> {
        if self.last.elapsed() < EVERY {
            return Ok(());
        }
        self.last = Instant::now();
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => Ok(()),
            Err(raised) => Err(self.raise(raised)),
        }
    }

    /// Keeps an exception for the end of the work, which this error brings about.
    pub fn raise(&mut self, raised: PyErr) -> Error {
        self.raised.get_or_insert(raised);
        Error::Interrupted
    }

    /// The exception that was raised meanwhile.
    pub fn raised(&mut self) -> Option<PyErr> {
        self.raised.take()
    }
}

/// Does `work` without the GIL. An exception that was raised meanwhile wins over its result.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut Signals) -> Result<T> + Send,
) -> PyResult<T> {
    let (result, raised) = py.detach(|| {
        let mut signals = Signals::new();
        (work(&mut signals), signals.raised())
    });
    match raised {
        Some(raised) => Err(raised),
        None => result.map_err(exception),
    }
}
