//! `limpid bench`: throughput on this machine, and where the time goes.

mod chart;
mod decode;
mod encode;
mod interactive;
mod llama;
mod machine;
mod models;
mod recurrent;
mod serve;
mod step;
mod texts;

use crate::args::{Bench, WeightsAs};
use crate::error::{Error, Result};
use limpid::model::Model;
use limpid::train::plan::available_memory;
use limpid_tensor::rng::Stream;

/// Runs the chosen benchmark.
pub fn run(args: Bench) -> Result<()> {
    match args {
        Bench::Step(args) => step::run(args),
        Bench::Decode(args) => decode::run(&args),
        Bench::Encode(args) => encode::run(&args),
        Bench::Texts(args) => texts::run(&args),
        Bench::Serve(args) => serve::run(&args),
        Bench::Machine(args) => machine::run(&args),
        Bench::Chart(args) => chart::run(&args),
    }
}

fn check_positive(flags: &[(&str, usize)]) -> Result<()> {
    match flags.iter().find(|(_, value)| *value == 0) {
        Some((flag, _)) => Err(Error::config(format!("--{flag} 0 leaves nothing to measure"))
            .hint(format!("--{flag} 8"))),
        None => Ok(()),
    }
}

/// Refuses a duration outside 0 to 3600 seconds.
fn check_seconds(seconds: f64) -> Result<()> {
    if (0.0..=3600.0).contains(&seconds) {
        return Ok(());
    }
    Err(Error::config(format!("--seconds {seconds} is out of range")).hint("use 0 to 3600"))
}

/// Refuses a batch larger than any machine's memory.
fn check_tokens(tokens: usize) -> Result<()> {
    const MOST: usize = 4 << 20;
    if tokens <= MOST {
        return Ok(());
    }
    Err(Error::config(format!("a batch of {tokens} tokens is more than {MOST}"))
        .hint("use a smaller --batch or shorter sequences"))
}

/// Refuses a model whose weights, gradients and moments (16 bytes per parameter) exceed the
/// available memory, where the system reports it.
fn check_memory(parameters: f64) -> Result<()> {
    let Some(available) = available_memory() else {
        return Ok(());
    };
    let (needed, available) = (parameters * 16e-9, available * 1e-9);
    if needed <= available {
        return Ok(());
    }
    Err(Error::config(format!(
        "a step of this model needs {needed:.0} GB, this machine has {available:.0} GB free"
    ))
    .hint("use a smaller --width, --vocab or --layers"))
}

/// Quantizes a model for a benchmark.
fn quantize(model: &mut Model, to: Option<WeightsAs>) -> Result<()> {
    if let Some(to) = to {
        let choices = limpid::quantize::choose(model, to.format(), &[])?;
        limpid::quantize::quantize(model, &choices)?;
    }
    Ok(())
}

fn random_ids(rng: &mut Stream, count: usize, vocab: usize) -> Vec<u32> {
    (0..count).map(|_| rng.below(vocab) as u32).collect()
}

/// The median and the minimum of some times, in their own unit.
fn median_and_best(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}
