//! `[train]`: how a model is optimized, validated and kept.

use super::section::section;
use super::settings::{Choice, Settings};
use super::value::Setting;
use super::{Entries, TaskKind};
use crate::data::sampler::Bucketing;
use crate::error::{Result, SettingError};
use crate::optim::{AdamConfig, LearningRate, Schedule};
use limpid_tensor::kernels::adam::DecayMode;

section! {
    /// How a model is optimized, validated and kept.
    pub struct TrainConfig in "train" {
        /// Micro-batches per optimizer step; their gradients are averaged by tokens.
        gradient_accumulation_steps: usize,
        /// Peak learning rate.
        lr: f32,
        /// How the learning rate falls after the warm-up.
        schedule: Schedule,
        /// AdamW β₁, decay of the first moment.
        beta1: f32,
        /// AdamW β₂, decay of the second moment.
        beta2: f32,
        /// AdamW ε, added to the denominator.
        eps: f32,
        /// Decoupled weight decay, of matrices only.
        weight_decay: f32,
        /// Gradients with a larger norm are scaled down to it; 0 for no limit.
        max_grad_norm: f32,
        /// Probability that label smoothing spreads over the vocabulary.
        label_smoothing: f32,
        /// Seed of initial weights, data order, dropout and splits.
        seed: u64,
        /// Steps between lines of `metrics.jsonl`.
        log_every: u64,
        /// Steps between validations; 0 for one at the end.
        validate_every: u64,
        /// Validations without improvement after which training stops early; 0 for never.
        patience: u64,
        /// Steps between checkpoints; 0 for one at the end.
        checkpoint_every: u64,
        /// Checkpoints that are kept.
        keep_checkpoints: usize,
        /// Decay of the exponential moving average of the weights, such as 0.999; 0 for none. With
        /// it, the average is validated and saved.
        ema: f32,
        /// At the end the weights of this many checkpoints are averaged, and saved if they
        /// validate better; 0 for none.
        average_checkpoints: usize,
        /// Texts generated at each validation.
        samples: usize,
        ;
        /// How long: `train.steps` or `train.epochs`.
        length: Length,
        /// How much a micro-batch holds: `train.batch_size`, or `train.batch_tokens` and
        /// `train.bucketing`.
        batch: BatchSize,
        /// Steps in which the learning rate rises to its peak: `train.warmup_steps` or
        /// `train.warmup_ratio`.
        warmup: Warmup,
        /// The learning rate that a schedule other than constant does not fall below.
        min_lr: f32,
        /// Which validation metric chooses the best model; a classifier's is a key.
        best_metric: BestMetric,
    }
}

/// How long a run trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Optimizer steps.
    Steps(u64),
    /// Passes over the training data.
    Epochs(Epochs),
}

/// Passes over the training data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epochs {
    /// This many.
    Count(u64),
    /// By the size of the data: enough for about 600 steps, from 3 to 20 passes, which is what
    /// fine-tuning an encoder takes (Devlin et al. 2019; more for small data, Mosbach et al. 2021).
    Auto,
}

/// Steps that `train.epochs = "auto"` aims at, and its fewest and most passes.
const AUTO_STEPS: u64 = 600;
const AUTO_EPOCHS: [u64; 2] = [3, 20];

impl Length {
    /// Optimizer steps. `batches_in` gives the micro-batches in a number of epochs.
    pub fn steps(self, accumulation: usize, mut batches_in: impl FnMut(u64) -> u64) -> u64 {
        let mut steps_in = |epochs| batches_in(epochs).div_ceil(accumulation as u64);
        match self {
            Length::Steps(steps) => steps,
            Length::Epochs(Epochs::Count(epochs)) => steps_in(epochs),
            Length::Epochs(Epochs::Auto) => {
                let [fewest, most] = AUTO_EPOCHS;
                let epochs = AUTO_STEPS.div_ceil(steps_in(1).max(1)).clamp(fewest, most);
                steps_in(epochs)
            }
        }
    }
}

/// How much a micro-batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchSize {
    /// This many windows, or pairs of lines.
    Sequences(usize),
    /// As many sequences as fit into a budget.
    Tokens {
        /// The budget in tokens; of pairs, source and target together.
        tokens: usize,
        /// Which sequences share a batch.
        bucketing: Bucketing,
    },
}

impl BatchSize {
    /// Sequences per micro-batch, if that is what is set.
    pub fn sequences(self) -> Option<usize> {
        match self {
            BatchSize::Sequences(size) => Some(size),
            BatchSize::Tokens { .. } => None,
        }
    }

    /// The budget in tokens and the bucketing, if that is what is set.
    pub fn budget(self) -> Option<(usize, Bucketing)> {
        match self {
            BatchSize::Sequences(_) => None,
            BatchSize::Tokens { tokens, bucketing } => Some((tokens, bucketing)),
        }
    }

    /// The key that sets it.
    pub fn key(self) -> &'static str {
        match self {
            BatchSize::Sequences(_) => "train.batch_size",
            BatchSize::Tokens { .. } => "train.batch_tokens",
        }
    }
}

/// How long the learning rate rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// For this many steps.
    Steps(u64),
    /// For this share of all steps.
    Ratio(f32),
}

impl Warmup {
    /// In steps of a run of `steps`.
    pub fn steps(self, steps: u64) -> u64 {
        match self {
            Warmup::Steps(warmup) => warmup,
            Warmup::Ratio(ratio) => (f64::from(ratio) * steps as f64).round() as u64,
        }
    }
}

/// Which validation metric chooses the best model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BestMetric {
    /// The lowest loss.
    Loss,
    /// The highest accuracy, of a classifier.
    Accuracy,
    /// The highest macro F1, of a classifier.
    F1,
}

impl TrainConfig {
    /// The defaults of a task: from scratch, or of fine-tuning.
    fn defaults(task: TaskKind, batch: BatchSize, is_pretrained: bool) -> Self {
        let from_scratch = Self {
            length: Length::Steps(2_000),
            batch,
            gradient_accumulation_steps: 1,
            lr: 1e-3,
            min_lr: 0.0,
            warmup: Warmup::Steps(100),
            schedule: Schedule::Cosine,
            beta1: 0.9,
            beta2: 0.98,
            eps: 1e-8,
            weight_decay: 0.0,
            max_grad_norm: 1.0,
            label_smoothing: 0.0,
            seed: 1,
            log_every: 10,
            validate_every: 200,
            patience: 0,
            best_metric: BestMetric::Loss,
            checkpoint_every: 200,
            keep_checkpoints: 2,
            ema: 0.0,
            average_checkpoints: 0,
            samples: 2,
        };
        let of_task = match task {
            TaskKind::Gpt => from_scratch,
            TaskKind::Translate => Self {
                schedule: Schedule::InverseSquareRoot,
                warmup: Warmup::Steps(400),
                label_smoothing: 0.1,
                ..from_scratch
            },
            TaskKind::Bert => Self { weight_decay: 0.01, ..from_scratch },
            TaskKind::Classify => {
                Self { weight_decay: 0.01, best_metric: BestMetric::Accuracy, ..from_scratch }
            }
        };
        match (task, is_pretrained) {
            (_, false) => of_task,
            (TaskKind::Classify, true) => Self {
                lr: FINE_TUNING_LR,
                length: Length::Epochs(Epochs::Auto),
                warmup: Warmup::Ratio(0.1),
                schedule: Schedule::Linear,
                ..of_task
            },
            (_, true) => Self { lr: FINE_TUNING_LR, ..of_task },
        }
    }

    /// Reads `[train]`. `measure` is what batches are measured in.
    pub(super) fn read(
        s: &mut Settings,
        task: TaskKind,
        measure: Measure,
        is_pretrained: bool,
    ) -> Result<Self> {
        let batch = match measure {
            Measure::Sequences => {
                let default = if task == TaskKind::Bert { 32 } else { 12 };
                BatchSize::Sequences(s.get("train.batch_size")?.unwrap_or(default))
            }
            Measure::Tokens => BatchSize::Tokens {
                tokens: s.get("train.batch_tokens")?.unwrap_or(batch_tokens(task, is_pretrained)),
                bucketing: s.get("train.bucketing")?.unwrap_or(Bucketing::Mixed),
            },
        };
        let default = Self::defaults(task, batch, is_pretrained);
        let length =
            s.exclusive("train.steps", "train.epochs", "both say how long a run trains")?;
        let warmup = s.exclusive(
            "train.warmup_steps",
            "train.warmup_ratio",
            "both say how long the learning rate rises",
        )?;
        let best_metric = match task {
            TaskKind::Classify => s.get("train.best_metric")?.unwrap_or(default.best_metric),
            _ => default.best_metric,
        };
        let min_lr = match s.get("train.schedule")?.unwrap_or(default.schedule) {
            Schedule::Constant => default.min_lr,
            _ => s.get("train.min_lr")?.unwrap_or(default.min_lr),
        };
        let length = length.map_or(default.length, |choice| match choice {
            Choice::First(steps) => Length::Steps(steps),
            Choice::Second(epochs) => Length::Epochs(epochs),
        });
        let warmup = warmup.map_or(default.warmup, |choice| match choice {
            Choice::First(steps) => Warmup::Steps(steps),
            Choice::Second(ratio) => Warmup::Ratio(ratio),
        });
        Self::read_keys(s, Self { length, warmup, min_lr, best_metric, ..default })
    }

    pub(super) fn entries(&self, task: TaskKind, e: &mut Entries) {
        match self.length {
            Length::Steps(steps) => e.add("train.steps", &steps),
            Length::Epochs(epochs) => e.add("train.epochs", &epochs),
        }
        match self.batch {
            BatchSize::Sequences(size) => e.add("train.batch_size", &size),
            BatchSize::Tokens { tokens, bucketing } => {
                e.add("train.batch_tokens", &tokens);
                e.add("train.bucketing", &bucketing);
            }
        }
        match self.warmup {
            Warmup::Steps(steps) => e.add("train.warmup_steps", &steps),
            Warmup::Ratio(ratio) => e.add("train.warmup_ratio", &ratio),
        }
        if self.schedule != Schedule::Constant {
            e.add("train.min_lr", &self.min_lr);
        }
        if task == TaskKind::Classify {
            e.add("train.best_metric", &self.best_metric);
        }
        self.add_keys(e);
    }

    /// The learning rate over a run of `steps`.
    pub fn learning_rate(&self, steps: u64) -> LearningRate {
        LearningRate {
            schedule: self.schedule,
            peak: self.lr,
            floor: self.min_lr,
            warmup: self.warmup.steps(steps),
            total: steps,
        }
    }

    /// The optimizer.
    pub fn adam(&self) -> AdamConfig {
        let Self { beta1, beta2, eps, weight_decay, max_grad_norm, .. } = *self;
        let clip_norm = (max_grad_norm > 0.0).then_some(max_grad_norm);
        AdamConfig { beta1, beta2, eps, weight_decay, decay_mode: DecayMode::Decoupled, clip_norm }
    }

    /// Refuses values that exclude each other.
    pub(super) fn validate(&self) -> Result<(), SettingError> {
        let mismatch = |key: &str, found: Option<toml::Value>, other: &str, bound, reason| {
            let text = |value: Option<toml::Value>| value.map_or(String::new(), |v| v.to_string());
            let (key, other) = (key.to_string(), other.to_string());
            let (found, bound) = (text(found), text(bound));
            Err(SettingError::Mismatch { key, found, other, bound, reason })
        };
        if self.min_lr > self.lr {
            return mismatch(
                "train.min_lr",
                self.min_lr.to_value(),
                "train.lr",
                self.lr.to_value(),
                "the learning rate falls from the peak to the minimum",
            );
        }
        if self.average_checkpoints > self.keep_checkpoints {
            return mismatch(
                "train.average_checkpoints",
                self.average_checkpoints.to_value(),
                "train.keep_checkpoints",
                self.keep_checkpoints.to_value(),
                "only checkpoints that are kept can be averaged",
            );
        }
        Ok(())
    }
}

/// What batches are measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Windows, or pairs of lines, which are of about one length.
    Sequences,
    /// Tokens, where sequences differ in length.
    Tokens,
}

/// As `transformers` has it.
const FINE_TUNING_LR: f32 = 5e-5;

/// Tokens of a batch. About 32 sentences for fine-tuning a classifier, as in the field: a few
/// hundred small steps do better than a few dozen large ones.
fn batch_tokens(task: TaskKind, is_pretrained: bool) -> usize {
    if task == TaskKind::Classify && is_pretrained { 1_024 } else { 4_096 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_epochs_depend_on_the_size_of_the_data() {
        let steps = |batches: u64, accumulation| {
            Length::Epochs(Epochs::Auto).steps(accumulation, |epochs| epochs * batches)
        };
        // 170 batches per pass: four passes are the first to reach 600 steps.
        assert_eq!(steps(170, 1), 680);
        assert_eq!(steps(2, 1), 40);
        assert_eq!(steps(10_000, 1), 30_000);
        assert_eq!(steps(400, 2), 600);
    }

    #[test]
    fn a_warmup_ratio_is_a_share_of_the_steps() {
        assert_eq!(Warmup::Ratio(0.1).steps(680), 68);
        assert_eq!(Warmup::Steps(100).steps(680), 100);
    }
}
