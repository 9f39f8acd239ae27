//! Small language models on the built-in stories: what most experiments compare.

use super::Lab;
use crate::corpus::stories;
use crate::error::Result;
use limpid::error::{Error, RunError};
use limpid::eval::loss::text_loss;
use limpid::model::config::DecoderConfig;
use limpid::model::{Decoder, Model, Stack};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::train::{TokenizerSpec, train};
use limpid::text::{Tokenizer, TokenizerKind};
use limpid::train::dataset::InMemoryDataset;
use limpid::train::{Control, Dataset, Trainer, TrainerConfig};

/// Stories as ids of words.
pub(super) struct StoryText {
    pub(super) tokenizer: Tokenizer,
    pub(super) train: Vec<u32>,
    pub(super) validation: Vec<u32>,
}

impl StoryText {
    /// So many stories for training, and a tenth as many for testing; the same for every seed of
    /// an experiment.
    pub(super) fn new(count: usize) -> Result<Self> {
        let splits = stories::generate(count, count.div_ceil(10), 1);
        let text = |stories: &[stories::Story]| {
            stories.iter().map(|story| format!("{}\n", story.text)).collect::<String>()
        };
        let (learn, judge) = (text(&splits.train), text(&splits.validation));
        let tokenizer =
            train(&TokenizerSpec::new(TokenizerKind::Word), [Ok(learn.clone())])?.tokenizer;
        Ok(Self {
            train: tokenizer.encode(&learn)?,
            validation: tokenizer.encode(&judge)?,
            tokenizer,
        })
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
    pub(super) losses: Vec<f64>,
    /// Nats per token on what was kept for validation; not a number if the training diverged.
    pub(super) validation: f64,
}

impl Trained {
    pub(super) fn gpt(&self) -> &Decoder {
        decoder(&self.model)
    }
}

/// Trains a GPT with a warm-up of a tenth and a cosine after it. A training that diverges ends
/// there: that, too, is a result.
pub(super) fn train_gpt(
    lab: &mut Lab,
    name: &str,
    config: &DecoderConfig,
    text: &StoryText,
    training: Training,
    seed: u64,
) -> Result<Trained> {
    train_from(lab, name, Model::new(config, seed)?, text, training, seed)
}

/// The same from a model that was made already.
pub(super) fn train_from(
    lab: &mut Lab,
    name: &str,
    model: Model,
    text: &StoryText,
    training: Training,
    seed: u64,
) -> Result<Trained> {
    let name = format!("{name}, seed {seed}: {} steps", training.steps);
    let (model, losses) =
        lab.train(&name, model, |lab, model| train_windows(lab, model, text, training, seed))?;
    let gpt = decoder(&model);
    let (ids, context) = (&text.validation, gpt.config().max_position_embeddings);
    let found = text_loss((gpt, &model.params), |part| ids[part].to_vec(), 0..ids.len(), context);
    let diverged = losses.len() < training.steps as usize;
    let validation = if diverged { f64::NAN } else { found.mean() };
    Ok(Trained { model, losses, validation })
}

fn decoder(model: &Model) -> &Decoder {
    match &model.stack {
        Stack::Decoder(decoder) => decoder,
        _ => unreachable!("a decoder was built"),
    }
}

/// Trains on windows of the stories. Returns the model and the loss of every step; fewer than
/// asked for if the training diverged.
fn train_windows(
    lab: &mut Lab,
    model: Model,
    text: &StoryText,
    training: Training,
    seed: u64,
) -> Result<(Model, Vec<f64>)> {
    let Training { steps, batch, lr } = training;
    let rate = LearningRate {
        schedule: Schedule::Cosine,
        peak: lr,
        floor: 0.1 * lr,
        warmup: steps / 10,
        total: steps,
    };
    let context = decoder(&model).config().max_position_embeddings;
    let dataset = InMemoryDataset::windows(&text.train, context, batch, seed);
    let mut trainer = Trainer::new(model, dataset, TrainerConfig::new(rate, seed));
    let mut losses = Vec::with_capacity(steps as usize);
    let outcome = trainer.train(|_, step| {
        losses.push(f64::from(step.loss));
        lab.step(step.step, step.steps);
        Ok(Control::Continue)
    });
    match outcome {
        Ok(_) => {}
        // Divergence is a result, too.
        Err(Error::Run(RunError::Diverged { .. })) => lab.step(steps, steps),
        Err(error) => return Err(error.into()),
    }
    Ok((trainer.into_model(), losses))
}

/// Trains a model to the end; the loss of every step beside it.
pub(super) fn train_to_end(
    lab: &mut Lab,
    model: Model,
    dataset: impl Dataset,
    config: TrainerConfig,
) -> Result<(Model, Vec<f64>)> {
    let mut losses = Vec::new();
    let mut trainer = Trainer::new(model, dataset, config);
    trainer.train(|_, step| {
        losses.push(f64::from(step.loss));
        lab.step(step.step, step.steps);
        Ok(Control::Continue)
    })?;
    Ok((trainer.into_model(), losses))
}
