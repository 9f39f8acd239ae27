//! Small language models on the built-in stories: what most experiments compare.

use super::Lab;
use crate::config::GptConfig;
use crate::data::batch::LmBatch;
use crate::data::corpus::stories;
use crate::data::order::random_windows;
use crate::error::Result;
use crate::eval::loss::text_loss;
use crate::model::{Architecture, Gpt, Model};
use crate::optim::{AdamConfig, Rate, Schedule};
use crate::text::train::{TokenizerSpec, train};
use crate::text::{Tokenizer, TokenizerKind};
use crate::train::Stepper;
use limpid_tensor::ops::LossSpec;

/// Stories as ids of words.
pub(super) struct StoryText {
    pub(super) tokenizer: Tokenizer,
    pub(super) train: Vec<u32>,
    pub(super) validation: Vec<u32>,
}

impl StoryText {
    /// So many stories to learn from, and a tenth as many to judge by; the same for every seed of an experiment.
    pub(super) fn new(count: usize) -> Result<Self> {
        let splits = stories::generate(count, count.div_ceil(10), 1);
        let text = |stories: &[stories::Story]| {
            stories.iter().map(|story| format!("{}\n", story.text)).collect::<String>()
        };
        let (learn, judge) = (text(&splits.train), text(&splits.validation));
        let tokenizer = train(&TokenizerSpec::new(TokenizerKind::Word), [Ok(learn.clone())])?.tokenizer;
        Ok(Self { train: tokenizer.encode(&learn)?, validation: tokenizer.encode(&judge)?, tokenizer })
    }
}

/// How a small model is trained.
#[derive(Clone, Copy)]
pub(super) struct Training {
    pub(super) steps: u64,
    pub(super) batch: usize,
    pub(super) lr: f32,
}

/// A trained model, and what happened on the way.
pub(super) struct Trained {
    pub(super) model: Model,
    /// Loss of every step.
    pub(super) losses: Vec<f32>,
    /// Nats a token on what was kept for validation; not a number if the training diverged.
    pub(super) validation: f64,
}

impl Trained {
    pub(super) fn gpt(&self) -> &Gpt {
        let Architecture::Gpt(gpt) = &self.model.architecture else { unreachable!("a GPT was trained") };
        gpt
    }
}

/// Trains a GPT with a warm-up of a tenth and a cosine after it. A training that diverges ends there: that, too, is a result.
pub(super) fn train_gpt(
    lab: &mut Lab,
    name: &str,
    config: &GptConfig,
    text: &StoryText,
    training: Training,
    seed: u64,
) -> Result<Trained> {
    train_from(lab, name, Model::gpt(config, seed)?, text, training, seed)
}

/// The same from a model that was made already.
pub(super) fn train_from(
    lab: &mut Lab,
    name: &str,
    mut model: Model,
    text: &StoryText,
    training: Training,
    seed: u64,
) -> Result<Trained> {
    lab.training(&format!("{name}, seed {seed}: {} steps", training.steps))?;
    let Architecture::Gpt(gpt) = model.architecture.clone() else { unreachable!("a GPT was made") };
    let mut stepper = Stepper::new(&model.params, AdamConfig::default(), seed);
    let Training { steps, batch, lr } = training;
    let rate =
        Rate { schedule: Schedule::Cosine, peak: lr, floor: 0.1 * lr, warmup: steps / 10, total: steps };
    let context = gpt.config().n_positions;
    let spec = LossSpec { smoothing: 0.0, weight: 1.0 / (batch * context) as f32 };
    let mut losses = Vec::with_capacity(steps as usize);
    let mut diverged = false;
    for step in 0..steps {
        let starts = random_windows(seed, step, batch, text.train.len() - context);
        let windows: Vec<&[u32]> = starts.iter().map(|at| &text.train[*at..at + context + 1]).collect();
        let batch = LmBatch::new(&windows);
        match stepper.step(&mut model.params, rate.at(step + 1), None, |t| gpt.loss(t, &batch, spec)) {
            Ok(report) => {
                losses.push(report.loss);
                lab.step(step + 1, steps);
            }
            Err(_) => {
                diverged = true;
                lab.step(steps, steps);
                break;
            }
        }
    }
    let ids = &text.validation;
    let found = text_loss((&gpt, &model.params), |part| ids[part].to_vec(), 0..ids.len(), context);
    let validation = if diverged { f64::NAN } else { found.mean() };
    Ok(Trained { model, losses, validation })
}
