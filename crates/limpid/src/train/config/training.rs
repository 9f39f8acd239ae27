//! `[train]`: how a model is optimized, validated and kept.

use super::section::{Keys, Section, section};
use super::{TaskKind, Unit};
use crate::data::sampler::Bucketing;
use crate::distributed::Sharding;
use crate::error::Result;
use crate::nn::named;
use crate::optim::{Activations, AdamConfig, LearningRate, Schedule};
use limpid_tensor::kernels::adam::DecayMode;

section! {
    /// How a model is optimized, validated and kept.
    pub struct TrainConfig in "train" {
        /// Micro-batches per optimizer step: what the processes of a world share. Their gradients
        /// are averaged by tokens, in an order that does not depend on the processes.
        micro_batches: usize,
        /// Forward and backward passes per micro-batch, one after another; their gradients are
        /// averaged by tokens.
        gradient_accumulation_steps: usize,
        /// Whether each process of a world has a slice of the optimizer's moments, or all of them.
        shard_optimizer: Sharding,
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
        /// Whether the weights are also kept as they are at steps 0, 1, 2, 4, 8 and so on.
        snapshots: Snapshots,
        /// Whether activations are computed again in the backward pass, layer by layer: the same
        /// gradients in less memory and about a third more time.
        activation_checkpointing: Activations,
        /// Parts that are not trained: `embeddings`, `encoder`, `decoder`, `layers.0-3`, or the
        /// beginning of the name of parameters.
        freeze: Vec<String>,
        ;
        /// How long: `train.steps` or `train.epochs`.
        length: Length,
        /// How much a pass holds: `train.batch_size`, or `train.batch_tokens` and
        /// `train.bucketing`.
        batch: BatchSize,
        /// Steps in which the learning rate rises to its peak: `train.warmup_steps` or
        /// `train.warmup_ratio`.
        warmup: Warmup,
        /// The learning rate that a schedule other than constant does not fall below.
        min_lr: f32,
        /// Which validation metric chooses the best model; a key of tasks with several.
        best_metric: BestMetric,
        /// Probability that label smoothing spreads over the vocabulary or the labels; a key of
        /// tasks whose loss is a cross-entropy.
        label_smoothing: f32,
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
    /// Optimizer steps, each of some `passes`. `batches_in` gives the passes of a number of epochs.
    pub fn steps(self, passes: usize, mut batches_in: impl FnMut(u64) -> u64) -> u64 {
        let mut steps_in = |epochs| batches_in(epochs).div_ceil(passes as u64);
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

impl Section for Length {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        if let Keys::Read(settings) = keys {
            let (steps, epochs) =
                (("train.steps", Length::Steps), ("train.epochs", Length::Epochs));
            let reason = "both say how long a run trains";
            *self = settings.exclusive(steps, epochs, reason)?.unwrap_or(*self);
        }
        match self {
            Length::Steps(steps) => keys.key("train.steps", steps),
            Length::Epochs(epochs) => keys.key("train.epochs", epochs),
        }
    }
}

/// How much a forward and backward pass holds.
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
    /// Sequences per pass, if that is what is set.
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

impl Section for BatchSize {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        match self {
            BatchSize::Sequences(size) => keys.key("train.batch_size", size),
            BatchSize::Tokens { tokens, bucketing } => {
                keys.key("train.batch_tokens", tokens)?;
                keys.key("train.bucketing", bucketing)
            }
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

impl Section for Warmup {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        if let Keys::Read(settings) = keys {
            let steps = ("train.warmup_steps", Warmup::Steps);
            let ratio = ("train.warmup_ratio", Warmup::Ratio);
            let reason = "both say how long the learning rate rises";
            *self = settings.exclusive(steps, ratio, reason)?.unwrap_or(*self);
        }
        match self {
            Warmup::Steps(steps) => keys.key("train.warmup_steps", steps),
            Warmup::Ratio(ratio) => keys.key("train.warmup_ratio", ratio),
        }
    }
}

/// Whether weights are kept on the way, to look at them later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Snapshots {
    /// No.
    #[default]
    None,
    /// At step 0, at every power of two and at the end: as many model folders as the logarithm of
    /// the steps.
    Doubling,
}

impl Snapshots {
    /// Whether the weights are kept after this step.
    pub fn is_due(self, step: u64, last: u64) -> bool {
        self == Self::Doubling && (step == 0 || step.is_power_of_two() || step == last)
    }
}

/// Which validation metric chooses the best model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BestMetric {
    /// The lowest loss.
    Loss,
    /// The highest accuracy: of texts, or of tokens.
    Accuracy,
    /// The highest F1: macro-averaged over labels, of entities, or of the words of answers.
    F1,
    /// The highest micro-averaged F1, where several labels may apply.
    MicroF1,
    /// The most answers that match exactly, of question answering.
    ExactMatch,
    /// The highest Pearson correlation, of a regression.
    Pearson,
    /// The highest Spearman correlation, of a regression.
    Spearman,
}

named!(BestMetric, "metric", "loss" => Loss, "accuracy" => Accuracy, "f1" => F1,
    "micro_f1" => MicroF1, "exact_match" => ExactMatch, "pearson" => Pearson,
    "spearman" => Spearman);

impl TrainConfig {
    /// The defaults of a task: from scratch, or of fine-tuning. A batch is measured by what a
    /// sequence is.
    pub(super) fn defaults(task: TaskKind, unit: Unit, start: Start) -> Self {
        let is_pretrained = start != Start::Scratch;
        let batch = match unit {
            Unit::Lines => BatchSize::Tokens {
                // About 32 sentences for fine-tuning a classifier, as in the field: a few hundred
                // small steps do better than a few dozen large ones.
                tokens: match task {
                    TaskKind::Classify | TaskKind::Tag if is_pretrained => 1_024,
                    _ => 4_096,
                },
                bucketing: Bucketing::Mixed,
            },
            // These are of about one length.
            Unit::Windows | Unit::Pairs => {
                BatchSize::Sequences(if task == TaskKind::Bert { 32 } else { 12 })
            }
        };
        let from_scratch = Self {
            length: Length::Steps(2_000),
            batch,
            micro_batches: 1,
            gradient_accumulation_steps: 1,
            shard_optimizer: Sharding::Sliced,
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
            snapshots: Snapshots::None,
            activation_checkpointing: Activations::Kept,
            freeze: Vec::new(),
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
            TaskKind::Classify | TaskKind::Tag | TaskKind::Answer => {
                Self { weight_decay: 0.01, ..from_scratch }
            }
        };
        let lr = match start {
            Start::Scratch => return of_task,
            Start::Pretrained => FINE_TUNING_LR,
            Start::Adapters => ADAPTER_LR,
        };
        let fine_tuning = Self { lr, beta2: FINE_TUNING_BETA2, ..of_task };
        match task {
            task if task.has_labels() => Self {
                length: Length::Epochs(Epochs::Auto),
                warmup: Warmup::Ratio(0.1),
                schedule: Schedule::Linear,
                ..fine_tuning
            },
            _ => fine_tuning,
        }
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

    /// Forward and backward passes of a step.
    pub fn passes(&self) -> usize {
        self.micro_batches * self.gradient_accumulation_steps
    }

    /// The optimizer.
    pub fn adam(&self) -> AdamConfig {
        let Self { beta1, beta2, eps, weight_decay, max_grad_norm, .. } = *self;
        let clip_norm = (max_grad_norm > 0.0).then_some(max_grad_norm);
        AdamConfig { beta1, beta2, eps, weight_decay, decay_mode: DecayMode::Decoupled, clip_norm }
    }
}

impl Section for TrainConfig {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.batch.keys(keys)?;
        self.length.keys(keys)?;
        self.warmup.keys(keys)?;
        self.own_keys(keys)?;
        keys.key_if(self.schedule != Schedule::Constant, "train.min_lr", &mut self.min_lr)
    }
}

/// What training starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Random weights.
    Scratch,
    /// Pretrained weights, which are trained.
    Pretrained,
    /// Pretrained weights with new adapters, which are trained instead.
    Adapters,
}

/// As `transformers` has them.
const FINE_TUNING_LR: f32 = 5e-5;
const FINE_TUNING_BETA2: f32 = 0.999;

/// Adapters start at zero and need more: about what Hu et al. 2021 take for encoders.
const ADAPTER_LR: f32 = 5e-4;

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
