//! The state of a run besides its tensors.

use crate::train::trainer::StepReport;
use serde::{Deserialize, Serialize};

/// The state of a run besides its tensors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Tokens seen.
    pub tokens: u64,
    /// When the run started, in seconds since 1970.
    pub started: u64,
    /// Seconds of training, over all sessions.
    pub seconds: f64,
    /// Validation loss of the best model so far, as the bits of an f64: a decimal would not be
    /// exact.
    pub best_loss_bits: Option<u64>,
    /// Its value of `train.best_metric`, which chose it.
    pub best_metric_bits: Option<u64>,
    /// The step of the best model.
    pub best_step: u64,
    /// Content hash of the file its weights were saved to: a later file may hold other weights.
    #[serde(default)]
    pub best_hash: Option<u64>,
    /// Validations since then, without improvement.
    pub since_best: u64,
    /// Length of `metrics.jsonl` when it was saved.
    pub metrics_bytes: u64,
    /// Training files: name and content hash.
    pub sources: Vec<(String, u64)>,
    /// Content hash of the tokenizer.
    #[serde(default)]
    pub tokenizer_hash: Option<u64>,
    /// Sums since the last line of metrics, so that the next line covers the same steps whether
    /// the run was interrupted or not.
    #[serde(default)]
    pub since_log: LogSums,
}

/// Sums since the last line of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSums {
    /// Σ loss · targets, as the bits of an f64.
    pub loss_bits: u64,
    /// Terms of the loss.
    pub targets: u64,
    /// Tokens read or predicted.
    pub tokens: u64,
    /// Seconds of training.
    pub seconds: f64,
}

impl LogSums {
    fn add(&mut self, report: &StepReport) {
        let loss = f64::from(report.loss) * report.targets as f64;
        self.loss_bits = (f64::from_bits(self.loss_bits) + loss).to_bits();
        self.targets += report.targets as u64;
        self.tokens += report.tokens as u64;
        self.seconds += report.seconds;
    }

    /// Mean loss per target.
    pub fn loss(&self) -> f64 {
        f64::from_bits(self.loss_bits) / self.targets as f64
    }
}

impl State {
    /// Counts one more step.
    pub(in crate::train) fn add_step(&mut self, report: &StepReport) {
        self.step = report.step;
        self.tokens += report.tokens as u64;
        self.seconds += report.seconds;
        self.since_log.add(report);
    }

    /// Validation loss of the best model so far.
    pub fn best_loss(&self) -> Option<f64> {
        self.best_loss_bits.map(f64::from_bits)
    }

    /// Its value of `train.best_metric`.
    pub fn best_metric(&self) -> Option<f64> {
        self.best_metric_bits.map(f64::from_bits)
    }

    /// Forgets the best model: its weights are gone.
    pub(in crate::train) fn forget_best(&mut self) {
        (self.best_loss_bits, self.best_metric_bits, self.best_hash) = (None, None, None);
        self.since_best = 0;
    }
}
