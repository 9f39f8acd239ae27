//! Trains an encoder-decoder on sentence pairs.

use super::Stepper;
use crate::data::batch::PairBatch;
use crate::data::order::{Bucketing, PairOrder};
use crate::data::pairs::TokenPair;
use crate::error::{Error, Result};
use crate::model::Translator;
use crate::optim::{AdamConfig, Rate};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;

/// What a training run is, besides the model and the data.
#[derive(Clone, Copy, Debug)]
pub struct TranslateSettings {
    /// Tokens of a batch, source and target together.
    pub batch_tokens: usize,
    /// The learning rate, and how many steps there are.
    pub rate: Rate,
    /// Label smoothing.
    pub smoothing: f32,
    /// The optimizer.
    pub adam: AdamConfig,
    /// Seed of the order of batches and of dropout.
    pub seed: u64,
}

/// Where a run stands, after each step.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// Loss of this step: per target token, with smoothing.
    pub loss: f32,
    /// Tokens of this step's batch.
    pub tokens: usize,
    /// Learning rate of this step.
    pub lr: f32,
}

/// Refuses pairs that the model has no positions or no tokens for, before any of them is used.
fn check_pairs(model: Translator, pairs: &[TokenPair]) -> Result<()> {
    let sides = |(source, target): &TokenPair| -> [(&'static str, usize, u32, usize); 2] {
        let largest = |ids: &[u32]| ids.iter().copied().max().unwrap_or(0);
        [
            ("source", source.len(), largest(source), model.vocab_size()),
            ("target", target.len(), largest(target), model.decoder_vocab_size()),
        ]
    };
    for (i, pair) in pairs.iter().enumerate() {
        for (side, len, largest, vocabulary) in sides(pair) {
            let longest = model.longest();
            if len > longest {
                return Err(Error::data(format!(
                    "the {side} of pair {} has {len} tokens, the model has positions for {longest}",
                    i + 1
                ))
                .hint(format!("leave long pairs out, or set max_position_embeddings to {len}")));
            }
            if largest as usize >= vocabulary {
                return Err(Error::data(format!(
                    "the {side} of pair {} has token {largest}, the model knows {vocabulary} tokens",
                    i + 1
                ))
                .hint("the tokenizer and the model do not belong together"));
            }
        }
    }
    Ok(())
}

/// Trains `model`, calling `progress` after each step.
pub fn train_translator<'a>(
    model: impl Into<Translator<'a>>,
    params: &mut Params,
    pairs: &[TokenPair],
    settings: &TranslateSettings,
    mut progress: impl FnMut(Progress),
) -> Result<()> {
    let model = model.into();
    check_pairs(model, pairs)?;
    let mut stepper = Stepper::new(params, settings.adam, settings.seed);
    let start = model.start();
    let lengths: Vec<usize> = pairs.iter().map(|(source, target)| source.len() + target.len()).collect();
    let mut order = PairOrder::new(settings.seed, &lengths, settings.batch_tokens, Bucketing::Mixed)?;
    for step in 1..=settings.rate.total {
        let chosen = order.batch(step - 1);
        let chosen: Vec<(&[u32], &[u32])> =
            chosen.iter().map(|i| (&pairs[*i].0[..], &pairs[*i].1[..])).collect();
        let batch = PairBatch::new(&chosen, start);
        let spec = LossSpec { smoothing: settings.smoothing, weight: 1.0 / batch.targets.len() as f32 };
        let lr = settings.rate.at(step);
        let report = stepper.step(params, lr, None, |tape| model.loss(tape, &batch, spec))?;
        let tokens = batch.source.tokens() + batch.targets.len();
        progress(Progress { step, steps: settings.rate.total, loss: report.loss, tokens, lr });
    }
    Ok(())
}
