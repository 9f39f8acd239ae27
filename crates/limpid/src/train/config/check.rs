//! Ranges of numbers, and values that do not fit together.

use super::{RunConfig, Task};
use crate::error::{Result, SettingError};
use crate::hub;
use toml::Value;

/// The numbers that a key accepts.
enum Range {
    /// Whole numbers from the first to the second.
    Whole(u64, u64),
    /// At least 0 and below 1.
    Fraction,
    /// Above 0 and below 1.
    ProperFraction,
    /// Above 0.
    Positive,
    /// At least 0.
    NotNegative,
}

/// No run needs more: a larger number has a digit too many.
const MOST_STEPS: u64 = 1 << 40;
const MOST_EPOCHS: u64 = 1_000_000;
const MOST_TOKENS: u64 = 1 << 30;
const MOST_MICRO_BATCHES: u64 = 1 << 16;
const MOST_GENERATED: u64 = 1_000;
const MANY: u64 = i64::MAX as u64;

const RANGES: &[(&str, Range)] = &[
    ("data.validation_split", Range::ProperFraction),
    // The end token of a side is one of them.
    ("data.max_tokens", Range::Whole(2, MANY)),
    ("tokenizer.vocab_size", Range::Whole(1, MANY)),
    ("model.context_length", Range::Whole(1, MANY)),
    ("masking.probability", Range::ProperFraction),
    ("lora.rank", Range::Whole(1, MANY)),
    ("lora.alpha", Range::Positive),
    ("lora.dropout", Range::Fraction),
    ("train.steps", Range::Whole(1, MOST_STEPS)),
    ("train.epochs", Range::Whole(1, MOST_EPOCHS)),
    ("train.batch_size", Range::Whole(1, MOST_TOKENS)),
    ("train.batch_tokens", Range::Whole(1, MOST_TOKENS)),
    ("train.micro_batches", Range::Whole(1, MOST_MICRO_BATCHES)),
    ("train.gradient_accumulation_steps", Range::Whole(1, MOST_MICRO_BATCHES)),
    ("train.lr", Range::Positive),
    ("train.min_lr", Range::NotNegative),
    ("train.warmup_steps", Range::Whole(0, MOST_STEPS)),
    ("train.warmup_ratio", Range::Fraction),
    ("train.beta1", Range::Fraction),
    ("train.beta2", Range::Fraction),
    ("train.eps", Range::Positive),
    ("train.weight_decay", Range::NotNegative),
    ("train.max_grad_norm", Range::NotNegative),
    ("train.label_smoothing", Range::Fraction),
    ("train.log_every", Range::Whole(1, MANY)),
    ("train.keep_checkpoints", Range::Whole(1, MANY)),
    ("train.ema", Range::Fraction),
    ("train.samples", Range::Whole(0, MOST_GENERATED)),
    ("score.num_beams", Range::Whole(1, MOST_GENERATED)),
];

impl Range {
    fn holds(&self, value: &Value) -> bool {
        let number = match value {
            Value::Float(number) => *number,
            Value::Integer(number) => *number as f64,
            // A word, such as that for automatic epochs.
            _ => return true,
        };
        match *self {
            Range::Whole(from, to) => {
                value.as_integer().is_some_and(|n| (from..=to).contains(&(n as u64)))
            }
            Range::Fraction => (0.0..1.0).contains(&number),
            Range::ProperFraction => number > 0.0 && number < 1.0,
            Range::Positive => number.is_finite() && number > 0.0,
            Range::NotNegative => number.is_finite() && number >= 0.0,
        }
    }

    fn words(&self) -> String {
        match *self {
            Range::Whole(from, MANY) => format!("a whole number, at least {from}"),
            Range::Whole(from, to) => format!("a whole number from {from} to {to}"),
            Range::Fraction => "a number from 0 to below 1".into(),
            Range::ProperFraction => "a number above 0 and below 1".into(),
            Range::Positive => "a positive number".into(),
            Range::NotNegative => "a number, at least 0".into(),
        }
    }
}

impl RunConfig {
    /// Refuses what cannot work, before anything is read.
    ///
    /// # Errors
    /// A number is out of range, two values do not fit together, a path is not UTF-8, or no model
    /// has such sizes.
    pub fn validate(&self) -> Result<()> {
        self.clone().check_paths()?;
        let entries = self.entries();
        for (key, range) in RANGES {
            if let Some(value) = entries.value(key).filter(|value| !range.holds(value)) {
                let (key, found) = (key.to_string(), value.to_string());
                return Err(SettingError::OutOfRange { key, found, expected: range.words() }.into());
            }
        }
        let train = &self.train;
        let limits = [
            (
                train.min_lr > train.lr,
                ["train.min_lr", "train.lr"],
                "the learning rate falls from the peak to the minimum",
            ),
            (
                train.average_checkpoints > train.keep_checkpoints,
                ["train.average_checkpoints", "train.keep_checkpoints"],
                "only checkpoints that are kept can be averaged",
            ),
        ];
        if let Some((_, keys, reason)) = limits.into_iter().find(|(exceeds, ..)| *exceeds) {
            let value = |key: &str| entries.value(key).map_or(String::new(), Value::to_string);
            let ([found, bound], [key, other]) = (keys.map(value), keys.map(str::to_string));
            return Err(SettingError::Mismatch { key, found, other, bound, reason }.into());
        }
        self.check_targets()?;
        self.check_model()
    }

    /// Adapters on nothing would train nothing.
    fn check_targets(&self) -> Result<(), SettingError> {
        match &self.lora {
            Some(lora) if lora.target_modules.is_empty() => Err(SettingError::OutOfRange {
                key: "lora.targets".into(),
                found: "[]".into(),
                expected: format!("names of linear layers, or {}", hub::ALL_LINEAR),
            }),
            _ => Ok(()),
        }
    }

    fn check_paths(mut self) -> Result<(), SettingError> {
        let mut unreadable = None;
        self.each_path(|path| {
            if path.to_str().is_none() {
                unreadable = Some(path.clone());
            }
        });
        unreadable.map_or(Ok(()), |path| Err(SettingError::NotUtf8 { path }))
    }

    fn check_model(&self) -> Result<()> {
        let is_encoder = !matches!(self.task, Task::Gpt(_) | Task::Translate(_));
        let context_length = self.context_length();
        if is_encoder && context_length < 4 {
            return Err(SettingError::OutOfRange {
                key: "model.context_length".into(),
                found: context_length.to_string(),
                expected: "at least 4: [CLS] and [SEP] take two or three positions".into(),
            }
            .into());
        }
        if let Task::Answer(task) = &self.task
            && task.doc_stride() + 4 >= context_length
        {
            return Err(SettingError::Mismatch {
                key: "data.doc_stride".into(),
                found: task.doc_stride().to_string(),
                other: "model.context_length".into(),
                bound: context_length.to_string(),
                reason: "windows share fewer tokens than they have",
            }
            .into());
        }
        // The sizes of a pretrained model are those of a model that exists.
        if self.pretrained.is_some() {
            return Ok(());
        }
        // Vocabulary and labels are not known yet, and do not matter here.
        let stack = self.stack(100, &["a".into(), "b".into()])?;
        stack.validate()?;
        match self.task {
            Task::Gpt(_) => hub::check_can_save(stack),
            _ => Ok(()),
        }
    }
}
