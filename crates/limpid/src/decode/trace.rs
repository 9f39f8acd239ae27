//! What a step of decoding saw and chose, and who is told.

use super::filter::probabilities;
use crate::error::Result;
use serde::Serialize;
use std::ops::ControlFlow;

/// Of the tokens that cannot be chosen, so many of the likeliest are shown too: what a filter or a rule took away.
const SHOWN: usize = 20;

/// Is told what happens. Every method has a default that does nothing.
pub trait Listener {
    /// Sequence `sequence` has a new token; `Break` ends it. Not called for tokens that end a text.
    fn token(&mut self, _sequence: usize, _token: u32) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    /// Whether a text that a beam search is writing for prompt `prompt` ends here, by its new tokens.
    fn ends(&mut self, _prompt: usize, _new: &[u32]) -> Result<bool> {
        Ok(false)
    }

    /// Whether [`Listener::step`] and [`Listener::beams`] should be called: they cost time.
    fn traces(&self) -> bool {
        false
    }

    /// A token was chosen.
    fn step(&mut self, _step: Step) {}

    /// A beam search went on by one token.
    fn beams(&mut self, _step: BeamStep) {}
}

/// Nobody listens.
pub struct Silent;

impl Listener for Silent {}

/// A token of the vocabulary, with its probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The token.
    pub id: u32,
    /// Its probability as the model gives it.
    pub before: f32,
    /// Its probability after rules and filters; 0 if it cannot be drawn.
    pub after: f32,
}

/// How one token was chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Counts the new tokens of the sequence from 0.
    pub step: usize,
    /// Which sequence.
    pub sequence: usize,
    /// The number that was drawn; none in greedy search.
    pub u: Option<f32>,
    /// The token that was chosen.
    pub chosen: u32,
    /// Every token that could be chosen, and the likeliest of those that could not; likelier first, by `after`, then `before`.
    pub candidates: Vec<Candidate>,
    /// How many tokens are not listed. None of them could be chosen.
    pub left_out: usize,
}

/// How a beam search went on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeamStep {
    /// Counts new tokens from 0.
    pub step: usize,
    /// Which prompt.
    pub prompt: usize,
    /// The best continuations, best first.
    pub candidates: Vec<BeamCandidate>,
    /// The texts that are followed further, best first.
    pub running: Vec<Scored>,
    /// The texts that are finished, best first.
    pub finished: Vec<Scored>,
}

/// One more token after one of the texts that were running.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BeamCandidate {
    /// Which of the texts that were running before this step.
    pub from: usize,
    /// The token.
    pub id: u32,
    /// Its log-probability, after the rules.
    pub log_probability: f32,
    /// The sum of log-probabilities with it.
    pub sum: f32,
    /// Whether the text ends here.
    pub ends: bool,
}

/// New tokens and what they are worth: a sum of log-probabilities, divided by the length penalty once finished.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// The new tokens.
    pub tokens: Vec<u32>,
    /// What they are worth.
    pub score: f32,
}

/// The candidates of one step: `logits` as the model gave them, `after` the probabilities that a token was chosen by.
pub(super) fn candidates(logits: &[f32], after: &[f32]) -> (Vec<Candidate>, usize) {
    let before = probabilities(logits);
    let mut order: Vec<u32> = (0..before.len() as u32).collect();
    let key = |id: &u32| (after[*id as usize], before[*id as usize]);
    order.sort_by(|a, b| {
        let ((a_after, a_before), (b_after, b_before)) = (key(a), key(b));
        b_after.total_cmp(&a_after).then(b_before.total_cmp(&a_before)).then(a.cmp(b))
    });
    let possible = order.iter().filter(|id| after[**id as usize] > 0.0).count();
    let shown = order.len().min(possible + SHOWN);
    let left_out = order.len() - shown;
    let listed = order[..shown].iter().map(|id| Candidate {
        id: *id,
        before: before[*id as usize],
        after: after[*id as usize],
    });
    (listed.collect(), left_out)
}
