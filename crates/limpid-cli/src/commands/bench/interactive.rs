//! The protocol of side-by-side benchmarks: one line in, one line out, idle in between. See
//! docs/formats.md.

use super::check_seconds;
use crate::error::{Error, Result};
use limpid_tensor::team;
use serde_json::json;
use std::io::BufRead;
use std::path::Path;
use std::time::Instant;

/// What a driver reads at the start.
pub struct About {
    /// Number of parameters: contenders must agree.
    pub parameters: usize,
    /// Resident set before the model was created, where the system reports it.
    pub own_mb: Option<f64>,
}

/// The result of one `run`.
pub struct Timed {
    /// Milliseconds of each step, token or batch.
    pub step_ms: Vec<f64>,
    /// The last loss, where there is one.
    pub loss: Option<f32>,
}

/// Answers `run SECONDS` until `quit` or the end of input. The caller has warmed up.
pub fn serve(about: About, mut run: impl FnMut(f64) -> Result<Timed>) -> Result<()> {
    println!(
        "{}",
        json!({
            "ready": true, "parameters": about.parameters, "version": env!("CARGO_PKG_VERSION"),
            "threads": team::threads(), "own_mb": about.own_mb,
        })
    );
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Error::io("read", Path::new("standard input"), e))?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["run", seconds] => {
                let seconds = seconds.parse().map_err(|_| {
                    Error::data(format!("'{line}': a number of seconds was expected"))
                        .hint("run 2.0")
                })?;
                check_seconds(seconds)?;
                let timed = run(seconds)?;
                match timed.loss {
                    Some(loss) => println!("{}", json!({ "step_ms": timed.step_ms, "loss": loss })),
                    None => println!("{}", json!({ "step_ms": timed.step_ms })),
                }
            }
            ["quit"] => break,
            _ => {
                return Err(
                    Error::data(format!("'{line}' is not a command")).hint("run 2.0, or quit")
                );
            }
        }
    }
    Ok(())
}

/// Calls `once`, which returns times, until the seconds are over, at least once.
pub fn repeat(seconds: f64, mut once: impl FnMut() -> Vec<f64>) -> Vec<f64> {
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.is_empty() || begin.elapsed().as_secs_f64() < seconds {
        times.extend(once());
    }
    times
}

/// Memory of this process in MB: `VmRSS` is the resident set, `VmHWM` its peak.
pub fn memory_mb(key: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.split(':').next() == Some(key))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}
