//! Where a run stands, besides its numbers.

use serde::{Deserialize, Serialize};

/// Where a run stands, besides its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Tokens seen.
    pub tokens: u64,
    /// When the run began, in seconds since 1970.
    pub started: u64,
    /// Seconds of training, over all sittings.
    pub seconds: f64,
    /// The best validation loss so far, as the bits of an f64: a decimal would lose some.
    pub best_bits: Option<u64>,
    /// At which step.
    pub best_step: u64,
    /// Hash of the file that its weights were saved to: what lies there later may be of another moment.
    #[serde(default)]
    pub best_hash: Option<u64>,
    /// Validations since then.
    pub since_best: u64,
    /// Bytes of `metrics.jsonl` that were written before it.
    pub metrics_bytes: u64,
    /// What the run learns from: what it is, and its hash.
    pub sources: Vec<(String, u64)>,
    /// Hash of the tokenizer that cut it; none in checkpoints of older versions.
    #[serde(default)]
    pub tokenizer: Option<u64>,
    /// Sums since the last line of metrics, so that the next one is about the same steps whether the run was stopped or not.
    #[serde(default)]
    pub since: Since,
}

/// Sums since the last line of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Σ loss · targets, as the bits of an f64.
    pub loss_bits: u64,
    /// Tokens that were predicted.
    pub targets: u64,
    /// Tokens that were read or predicted.
    pub tokens: u64,
    /// Seconds of training.
    pub seconds: f64,
}

impl Since {
    /// One step more.
    pub fn add(&mut self, loss: f32, targets: usize, tokens: usize, seconds: f64) {
        self.loss_bits = (f64::from_bits(self.loss_bits) + f64::from(loss) * targets as f64).to_bits();
        self.targets += targets as u64;
        self.tokens += tokens as u64;
        self.seconds += seconds;
    }

    /// The mean loss a token.
    pub fn loss(&self) -> f64 {
        f64::from_bits(self.loss_bits) / self.targets as f64
    }
}

impl State {
    /// The best validation loss so far.
    pub fn best(&self) -> Option<f64> {
        self.best_bits.map(f64::from_bits)
    }
}
