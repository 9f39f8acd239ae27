//! How fast this machine trains, to say how long an experiment takes here.

use crate::error::Result;
use limpid::data::batch::LmBatch;
use limpid::model::config::DecoderConfig;
use limpid::model::{Model, Stack};
use limpid::optim::{AdamConfig, Optimizer};
use limpid_tensor::ops::LossSpec;
use std::time::{Duration, Instant};

/// Milliseconds of the step below on one core of the reference machine, on which the minutes of
/// the experiments were measured.
const REFERENCE_STEP_MS: f64 = 12.0;
/// Time spent on measuring.
const BUDGET: Duration = Duration::from_millis(300);

/// Speed of this machine with the current number of threads, as a multiple of one core of the
/// reference machine: steps of a small decoder, as most experiments train, for a third of a second.
///
/// # Errors
/// If the model cannot be built.
pub fn speed() -> Result<f64> {
    let mut model = Model::new(DecoderConfig::gpt2(900, 64, 2, 4, 64), 1)?;
    let Stack::Decoder(decoder) = model.stack.clone() else { unreachable!("a decoder was built") };
    let ids: Vec<u32> = (0..65).collect();
    let batch = LmBatch::new(&[&ids[..]; 8]);
    let spec = LossSpec { smoothing: 0.0, weight: 1.0 / 512.0 };
    let mut optimizer = Optimizer::new(&model.params, AdamConfig::default(), 1);
    let (start, mut fastest) = (Instant::now(), f64::INFINITY);
    while start.elapsed() < BUDGET {
        let before = Instant::now();
        optimizer.step(&mut model.params, 1e-6, None, |t| decoder.loss(t, &batch, spec))?;
        fastest = fastest.min(before.elapsed().as_secs_f64() * 1e3);
    }
    Ok(REFERENCE_STEP_MS / fastest)
}
