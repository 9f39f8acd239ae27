//! How fast this machine trains, to say how long an experiment takes here.

use crate::error::Result;
use limpid::data::batch::LmBatch;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::optim::{AdamConfig, Optimizer};
use limpid_tensor::ops::LossSpec;
use std::time::{Duration, Instant};

/// Milliseconds of the step below on one core of the reference machine, on which the minutes of
/// the experiments were measured.
const REFERENCE_STEP_MS: f64 = 12.0;
/// The least time spent on measuring, and the most.
const BUDGET: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(3)];
/// The fewest steps measured. Other programs can take the processor from any step, and the first
/// also allocates: of twenty the fastest is a step without either.
const FEWEST: usize = 20;

/// Speed of this machine with the current number of threads, as a multiple of one core of the
/// reference machine: the fastest of some steps of a small decoder, as most experiments train it.
/// A third of a second on an idle machine.
///
/// # Errors
/// If the model cannot be built.
pub fn speed() -> Result<f64> {
    let mut model = Model::new(DecoderConfig::gpt2(900, 64, 2, 4, 64), 1)?;
    let decoder = model.decoder().expect("a decoder").clone();
    let ids: Vec<u32> = (0..65).collect();
    let batch = LmBatch::new(&[&ids[..]; 8]);
    let spec = LossSpec { smoothing: 0.0, weight: 1.0 / 512.0 };
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let fastest = fastest(Instant::now, || {
        optimizer.step(&mut model.params, 1e-6, None, |t| decoder.loss(t, &batch, spec))?;
        Ok(())
    })?;
    Ok(REFERENCE_STEP_MS / (1e3 * fastest))
}

/// Seconds of the fastest of at least [`FEWEST`] steps, as far as the time allows.
fn fastest(now: impl Fn() -> Instant, mut step: impl FnMut() -> Result<()>) -> Result<f64> {
    let (start, mut fastest) = (now(), f64::INFINITY);
    let [least, most] = BUDGET;
    for done in 0.. {
        let before = now();
        let spent = before - start;
        if done > 0 && (spent >= most || (spent >= least && done >= FEWEST)) {
            break;
        }
        step()?;
        fastest = fastest.min((now() - before).as_secs_f64());
    }
    Ok(fastest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The fastest step and the number of steps, if step i takes `ms(i)` milliseconds.
    fn measured(ms: impl Fn(u64) -> u64) -> (f64, u64) {
        let (start, passed, steps) = (Instant::now(), Cell::new(0), Cell::new(0));
        let now = || start + Duration::from_millis(passed.get());
        let found = fastest(now, || {
            passed.set(passed.get() + ms(steps.get()));
            steps.set(steps.get() + 1);
            Ok(())
        });
        (found.unwrap(), steps.get())
    }

    #[test]
    fn a_step_that_is_interrupted_does_not_count_and_a_slow_machine_does_not_wait_long() {
        // 300 ms of 5 ms steps, the first interrupted.
        assert_eq!(measured(|i| if i == 0 { 250 } else { 5 }), (0.005, 20));
        assert_eq!(measured(|_| 5), (0.005, 60));
        // One second each: three of them.
        assert_eq!(measured(|_| 1000), (1.0, 3));
        assert_eq!(measured(|_| 4000), (4.0, 1));
    }
}
