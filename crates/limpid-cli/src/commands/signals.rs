//! Ctrl-C and SIGTERM: both stop a command in an orderly way, so that a run saves a checkpoint
//! sent by a person or a batch system.
//!
//! SIGHUP is left alone: under `nohup` it is ignored, and a handler of ours would undo that.

use crate::error::{Error, Result};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the watching thread looks.
const INTERVAL: Duration = Duration::from_millis(20);

/// Whether Ctrl-C was pressed or SIGTERM received.
#[derive(Clone)]
pub struct StopSignals {
    received: [(i32, Arc<AtomicBool>); 2],
}

impl StopSignals {
    /// Watches both signals. The first one calls `on_signal`, in a thread of its own; the same
    /// signal again ends the program at once.
    pub fn watch(on_signal: impl FnOnce(i32) + Send + 'static) -> Result<Self> {
        let received = [SIGINT, SIGTERM].map(|signal| (signal, Arc::new(AtomicBool::new(false))));
        for (signal, flag) in &received {
            // In this order: the first signal finds the flag down and raises it.
            flag::register_conditional_shutdown(*signal, code(*signal), flag.clone())
                .and_then(|_| flag::register(*signal, flag.clone()))
                .map_err(|e| Error::data(format!("signals cannot be watched: {e}")))?;
        }
        let signals = Self { received };
        let watched = signals.clone();
        std::thread::spawn(move || {
            loop {
                if let Some(signal) = watched.received() {
                    return on_signal(signal);
                }
                std::thread::sleep(INTERVAL);
            }
        });
        Ok(signals)
    }

    /// The signal that was received, if one was.
    pub fn received(&self) -> Option<i32> {
        let raised = |(_, flag): &&(i32, Arc<AtomicBool>)| flag.load(Ordering::Relaxed);
        self.received.iter().find(raised).map(|(signal, _)| *signal)
    }
}

/// The exit code that a shell reports for a program that this signal ended.
pub fn code(signal: i32) -> i32 {
    128 + signal
}

/// Calls `on_interrupt` at every Ctrl-C, in a thread of its own.
pub fn on_each_interrupt(mut on_interrupt: impl FnMut() + Send + 'static) -> Result<()> {
    let pressed = Arc::new(AtomicBool::new(false));
    flag::register(SIGINT, pressed.clone())
        .map_err(|e| Error::data(format!("signals cannot be watched: {e}")))?;
    std::thread::spawn(move || {
        loop {
            if pressed.swap(false, Ordering::Relaxed) {
                on_interrupt();
            }
            std::thread::sleep(INTERVAL);
        }
    });
    Ok(())
}
