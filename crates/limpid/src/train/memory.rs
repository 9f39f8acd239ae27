//! Trains a language model, an encoder or a classifier on sequences in memory: what demos and experiments need. A run in a folder, with
//! validation and checkpoints, is [`Run`](super::Run).

use super::{Progress, Stepper};
use crate::data::batch::{LabelledBatch, LmBatch, MaskedBatch, Typed};
use crate::data::masking::{Draw, Masking};
use crate::data::order::{Bucketing, PairOrder};
use crate::encode::Read;
use crate::error::Result;
use crate::model::{Bert, Gpt};
use crate::optim::{AdamConfig, Rate};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Tape, Var};

/// What a training is, besides the model and the data.
#[derive(Clone, Copy, Debug)]
pub struct MemorySettings {
    /// Tokens of a batch; sequences are not cut, so none may be longer.
    pub batch_tokens: usize,
    /// The learning rate, and how many steps there are.
    pub rate: Rate,
    /// The optimizer.
    pub adam: AdamConfig,
    /// Seed of the order of sequences and of dropout.
    pub seed: u64,
}

/// Trains a language model: every token but the first of a sequence is to be said after those before it.
pub fn train_gpt(
    gpt: &Gpt,
    params: &mut Params,
    sequences: &[Vec<u32>],
    settings: &MemorySettings,
    progress: impl FnMut(Progress),
) -> Result<()> {
    let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
    let make = |_, chosen: &[usize]| {
        LmBatch::new(&chosen.iter().map(|i| &sequences[*i][..]).collect::<Vec<&[u32]>>())
    };
    let loss = |t: &mut Tape, batch: &LmBatch| gpt.loss(t, batch, mean_of(batch.targets.len()));
    train(params, &lengths, settings, make, loss, progress)
}

/// Trains an encoder on masked words: other words are hidden each time.
pub fn train_masked(
    bert: &Bert,
    params: &mut Params,
    sequences: &[Read],
    masking: &Masking,
    settings: &MemorySettings,
    progress: impl FnMut(Progress),
) -> Result<()> {
    let lengths: Vec<usize> = sequences.iter().map(|(ids, _)| ids.len()).collect();
    let make = |step, chosen: &[usize]| {
        masking.apply(Draw::Training(step), chosen.iter().map(|i| sequences[*i].clone()).collect(), None)
    };
    let loss = |t: &mut Tape, batch: &MaskedBatch| bert.masked_loss(t, batch, mean_of(batch.targets.len()));
    train(params, &lengths, settings, make, loss, progress)
}

/// Trains a classifier on texts with the number of their label.
pub fn train_classifier(
    bert: &Bert,
    params: &mut Params,
    examples: &[(Read, u32)],
    settings: &MemorySettings,
    progress: impl FnMut(Progress),
) -> Result<()> {
    let lengths: Vec<usize> = examples.iter().map(|((ids, _), _)| ids.len()).collect();
    let make = |_, chosen: &[usize]| {
        let reads: Vec<(&[u32], &[u32])> =
            chosen.iter().map(|i| (&examples[*i].0.0[..], &examples[*i].0.1[..])).collect();
        LabelledBatch { input: Typed::new(&reads), labels: chosen.iter().map(|i| examples[*i].1).collect() }
    };
    let loss = |t: &mut Tape, batch: &LabelledBatch| bert.class_loss(t, batch, mean_of(batch.labels.len()));
    train(params, &lengths, settings, make, loss, progress)
}

fn mean_of(terms: usize) -> LossSpec {
    LossSpec { smoothing: 0.0, weight: 1.0 / terms as f32 }
}

/// Step by step: which sequences, their batch, its loss.
fn train<B>(
    params: &mut Params,
    lengths: &[usize],
    settings: &MemorySettings,
    mut make: impl FnMut(u64, &[usize]) -> B,
    loss: impl Fn(&mut Tape, &B) -> Var,
    mut progress: impl FnMut(Progress),
) -> Result<()> {
    let mut stepper = Stepper::new(params, settings.adam, settings.seed);
    let mut order = PairOrder::new(settings.seed, lengths, settings.batch_tokens, Bucketing::Mixed)?;
    for step in 1..=settings.rate.total {
        let chosen = order.batch(step - 1);
        let batch = make(step - 1, &chosen);
        let lr = settings.rate.at(step);
        let report = stepper.step(params, lr, None, |tape| loss(tape, &batch))?;
        let tokens = chosen.iter().map(|i| lengths[*i]).sum();
        progress(Progress { step, steps: settings.rate.total, loss: report.loss, tokens, lr });
    }
    Ok(())
}
