//! Cross-entropy loss of a model on given text: the mean of −ln p per token.
//!
//! ```
//! use limpid::eval::loss::sequences_loss;
//! use limpid::model::config::DecoderConfig;
//! use limpid::model::Model;
//!
//! let model = Model::new(DecoderConfig::gpt2(50, 8, 1, 2, 8), 1)?;
//! let gpt = model.decoder().expect("a decoder");
//! let loss = sequences_loss((gpt, &model.params), [vec![3, 1, 4, 1, 5]]);
//! assert_eq!(loss.tokens, 4);
//! // Weights near 0: all tokens are about equally likely.
//! assert!((loss.perplexity() - 50.0).abs() < 2.0);
//! # Ok::<(), limpid::error::Error>(())
//! ```

use crate::data::batch::{LmBatch, PairBatch};
use crate::distributed::World;
use crate::error::Result;
use crate::model::{Decoder, Seq2Seq};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::Params;
use limpid_tensor::tape::{Tape, Var};
use std::ops::Range;

/// Tokens predicted in one forward pass.
const TOKENS_AT_A_TIME: usize = 4_096;
const PAIRS_AT_A_TIME: usize = 64;
const SEQUENCES_AT_A_TIME: usize = 32;

/// A sum of cross-entropies and the number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// Σ −ln p, in nats.
    pub sum: f64,
    /// Predicted tokens.
    pub tokens: usize,
}

impl Loss {
    /// Mean cross-entropy in nats per token.
    pub fn mean(&self) -> f64 {
        self.sum / self.tokens as f64
    }

    /// Perplexity: exp of the mean.
    pub fn perplexity(&self) -> f64 {
        self.mean().exp()
    }

    /// Bits per character, for a text with so many characters per token.
    pub fn bits_per_character(&self, characters_per_token: f64) -> f64 {
        self.mean() / std::f64::consts::LN_2 / characters_per_token
    }

    /// The sum over batches, which the ranks of a world share.
    pub(super) fn of<B>(
        world: &mut World,
        params: &Params,
        batches: impl IntoIterator<Item = B>,
        targets: impl Fn(&B) -> usize,
        loss: impl Fn(&mut Tape, &B, LossSpec) -> Var,
    ) -> Result<Self> {
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 };
        let compute = |batch: &B| vec![loss(&mut Tape::inference(params), batch, spec).data()[0]];
        let mut all = Self::default();
        world.share_out(batches, compute, |batch, loss| {
            all.sum += f64::from(loss[0]);
            all.tokens += targets(batch);
        })?;
        Ok(all)
    }
}

/// The result of a process alone.
fn alone<T>(result: Result<T>) -> T {
    result.expect("a process alone waits for nobody")
}

/// The loss of a text in windows of `context` tokens: every token but the first is predicted once,
/// from the tokens before it in its window. `ids` returns a range of the text's tokens; `range` is
/// what to evaluate.
pub fn text_loss(
    model: (&Decoder, &Params),
    ids: impl Fn(Range<usize>) -> Vec<u32>,
    range: Range<usize>,
    context: usize,
) -> Loss {
    alone(text_loss_in(&mut World::single(), model, ids, range, context))
}

/// The same, shared out between the ranks of a world.
///
/// # Errors
/// If another process is gone or does not answer.
pub fn text_loss_in(
    world: &mut World,
    (model, params): (&Decoder, &Params),
    ids: impl Fn(Range<usize>) -> Vec<u32>,
    range: Range<usize>,
    context: usize,
) -> Result<Loss> {
    let starts: Vec<usize> = (range.start..range.end.saturating_sub(1)).step_by(context).collect();
    let groups = starts.chunks((TOKENS_AT_A_TIME / context).max(1));
    let batches = groups.map(|group| {
        let window = |start: &usize| ids(*start..(start + context + 1).min(range.end));
        LmBatch::new(&group.iter().map(window).collect::<Vec<_>>())
    });
    lm_loss(world, (model, params), batches)
}

fn lm_loss(
    world: &mut World,
    (model, params): (&Decoder, &Params),
    batches: impl Iterator<Item = LmBatch>,
) -> Result<Loss> {
    let targets = |batch: &LmBatch| batch.targets.len();
    Loss::of(world, params, batches, targets, |tape, batch, spec| model.loss(tape, batch, spec))
}

/// Groups of `size` items, so that the data need not be in memory at once.
fn groups<T>(all: impl IntoIterator<Item = T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    let mut all = all.into_iter();
    std::iter::from_fn(move || {
        let group: Vec<T> = all.by_ref().take(size).collect();
        (!group.is_empty()).then_some(group)
    })
}

/// The loss of independent sequences: every token but the first is predicted from those before it.
pub fn sequences_loss<S: AsRef<[u32]>>(
    model: (&Decoder, &Params),
    sequences: impl IntoIterator<Item = S>,
) -> Loss {
    alone(sequences_loss_in(&mut World::single(), model, sequences))
}

/// The same, shared out between the ranks of a world.
///
/// # Errors
/// If another process is gone or does not answer.
pub fn sequences_loss_in<S: AsRef<[u32]>>(
    world: &mut World,
    model: (&Decoder, &Params),
    sequences: impl IntoIterator<Item = S>,
) -> Result<Loss> {
    let batches = groups(sequences, SEQUENCES_AT_A_TIME)
        .map(|group| LmBatch::new(&group.iter().map(AsRef::as_ref).collect::<Vec<&[u32]>>()));
    lm_loss(world, model, batches)
}

/// The loss of translations, given their sources (teacher forcing).
pub fn pairs_loss<'a, S: AsRef<[u32]>>(
    model: (impl Into<Seq2Seq<'a>>, &Params),
    pairs: impl IntoIterator<Item = (S, S)>,
) -> Loss {
    alone(pairs_loss_in(&mut World::single(), model, pairs))
}

/// The same, shared out between the ranks of a world.
///
/// # Errors
/// If another process is gone or does not answer.
pub fn pairs_loss_in<'a, S: AsRef<[u32]>>(
    world: &mut World,
    (model, params): (impl Into<Seq2Seq<'a>>, &Params),
    pairs: impl IntoIterator<Item = (S, S)>,
) -> Result<Loss> {
    let model = model.into();
    let start = model.start();
    let batches = groups(pairs, PAIRS_AT_A_TIME).map(|group| PairBatch::new(&group, start));
    let targets = |batch: &PairBatch| batch.targets.len();
    Loss::of(world, params, batches, targets, |tape, batch, spec| model.loss(tape, batch, spec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::model::config::DecoderConfig;

    #[test]
    fn every_token_but_the_first_is_predicted_once_whatever_the_windows() {
        let model = Model::new(DecoderConfig::gpt2(11, 8, 1, 2, 8), 1).unwrap();
        let gpt = model.decoder().expect("a decoder");
        let text: Vec<u32> = (0..30).map(|i| i * i % 11).collect();
        let ids = |range: Range<usize>| text[range].to_vec();
        for context in [1, 3, 8] {
            let whole = text_loss((gpt, &model.params), ids, 2..29, context);
            assert_eq!(whole.tokens, 26);
            // The same, window by window.
            let starts = (2..28).step_by(context);
            let one = |start: usize| {
                text_loss((gpt, &model.params), ids, start..(start + context + 1).min(29), context)
                    .sum
            };
            let sum: f64 = starts.map(one).sum();
            assert!((whole.sum - sum).abs() < 1e-4, "{} and {sum}", whole.sum);
        }
        // Sequences of their own are texts of one window each.
        let parts = [&text[0..5], &text[5..7], &text[7..15]];
        let each = sequences_loss((gpt, &model.params), parts);
        let ranges =
            [0..5, 5..7, 7..15].map(|range| text_loss((gpt, &model.params), ids, range, 8));
        assert_eq!(each.tokens, 4 + 1 + 7);
        assert!((each.sum - ranges.iter().map(|loss| loss.sum).sum::<f64>()).abs() < 1e-4);
    }
}
