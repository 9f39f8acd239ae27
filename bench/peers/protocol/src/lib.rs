//! What every peer shares: the shapes of the models, their random batches, the checks that a
//! training step is a real one, and the protocol of side-by-side runs (docs/formats.md).

mod check;
mod shapes;

pub use check::{Gradients, Losses};
pub use shapes::{Gpt, Random, Seq2Seq, Shape, sinusoids};

use serde_json::json;
use std::io::BufRead;
use std::time::Instant;

/// Anything that goes wrong here ends the program with this sentence.
pub type Result<T> = std::result::Result<T, String>;

/// What a run gives: the time of each step (or token) in milliseconds and, in training, the last
/// loss.
pub struct Run {
    pub step_ms: Vec<f64>,
    pub loss: Option<f64>,
}

/// A program that can be told to run for a while.
pub trait Contender {
    fn parameters(&self) -> usize;
    /// At least one step, then more until the seconds are over.
    fn run(&mut self, seconds: f64) -> Result<Run>;
}

/// Makes the contender that the command line names and serves it; the exit code.
pub fn main(
    version: &str,
    make: impl FnOnce(&str) -> Result<Box<dyn Contender>>,
) -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let served = match &words[..] {
        [job] => serve(job, version, make),
        _ => Err("expected one job: T, S, G, D or decode".into()),
    };
    match served {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            std::process::ExitCode::from(2)
        }
    }
}

fn serve(
    job: &str,
    version: &str,
    make: impl FnOnce(&str) -> Result<Box<dyn Contender>>,
) -> Result<()> {
    // Read by rayon itself, which both libraries use; without it they would take every core there
    // is.
    let threads = std::env::var("RAYON_NUM_THREADS").map_err(|_| "RAYON_NUM_THREADS is not set")?;
    let threads: usize =
        threads.parse().map_err(|_| format!("RAYON_NUM_THREADS={threads} is no number"))?;
    let own = resident_mb();
    let mut contender = make(job)?;
    println!(
        "{}",
        json!({ "ready": true, "parameters": contender.parameters(), "version": version,
                "threads": threads, "own_mb": own })
    );
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| e.to_string())?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["run", seconds] => {
                let seconds =
                    seconds.parse().map_err(|_| format!("'{line}': expected run SECONDS"))?;
                let run = contender.run(seconds)?;
                match run.loss {
                    Some(loss) => println!("{}", json!({ "step_ms": run.step_ms, "loss": loss })),
                    None => println!("{}", json!({ "step_ms": run.step_ms })),
                }
            }
            ["quit"] => break,
            _ => return Err(format!("'{line}': expected run SECONDS, or quit")),
        }
    }
    Ok(())
}

/// Times a step again and again.
pub fn repeat(seconds: f64, mut step: impl FnMut() -> Result<f64>) -> Result<Run> {
    let (begin, mut step_ms, mut loss) = (Instant::now(), Vec::new(), None);
    while step_ms.is_empty() || begin.elapsed().as_secs_f64() < seconds {
        let before = Instant::now();
        loss = Some(step()?);
        step_ms.push(before.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Run { step_ms, loss })
}

/// The resident size now, where the system tells.
fn resident_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}
