//! A text piece by piece, while a thread of its own generates it.

use crate::error::exception;
use limpid::Generator;
use limpid::error::Result;
use limpid::generate::GenerationOptions;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Pieces that may wait to be read: generation is at most so far ahead.
const AHEAD: usize = 16;
/// How often a waiting reader looks for signals.
const EVERY: Duration = Duration::from_millis(50);

/// An iterator over the pieces of a text, each as soon as it is final. When the iterator is given
/// up, generation ends.
#[pyclass(frozen, module = "limpid")]
pub struct TextStream {
    /// Behind a lock, because two threads may read from one iterator.
    pieces: Mutex<Receiver<Result<String>>>,
}

impl TextStream {
    /// Begins to generate.
    pub fn new(generator: Arc<Generator>, prompt: String, options: GenerationOptions) -> Self {
        let (sender, receiver) = sync_channel(AHEAD);
        thread::spawn(move || {
            let request = generator.prompt(prompt).options(options);
            // Nobody reads any more once the receiver is gone.
            let found = request.stream(|piece| match sender.send(Ok(piece.to_string())) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            });
            if let Err(error) = found {
                let _ = sender.send(Err(error));
            }
        });
        Self { pieces: Mutex::new(receiver) }
    }

    fn next(&self) -> Option<Result<Option<String>>> {
        let pieces = self.pieces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match pieces.recv_timeout(EVERY) {
            Ok(piece) => Some(piece.map(Some)),
            Err(RecvTimeoutError::Disconnected) => Some(Ok(None)),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }
}

#[pymethods]
impl TextStream {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        loop {
            if let Some(piece) = py.detach(|| self.next()) {
                return piece.map_err(exception);
            }
            py.check_signals()?;
        }
    }
}
