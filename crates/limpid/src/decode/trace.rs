//! What a step of decoding saw and chose, and who is told.

use super::filter::probabilities;
use crate::error::Result;
use serde::Serialize;
use std::ops::ControlFlow;

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

    /// Whether [`Listener::step`] and [`Listener::beams`] should be called, which costs time, and with how many tokens of a distribution.
    fn traces(&self) -> Trace {
        Trace::Off
    }

    /// A token was chosen.
    fn step(&mut self, _step: Step) {}

    /// A beam search went on by one token.
    fn beams(&mut self, _step: BeamStep) {}
}

/// What is reported of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    Off,
    /// Every step with its whole distributions.
    Whole,
    /// Every step; of a distribution every token that could be chosen, and so many of the likeliest others.
    Likeliest(usize),
}

impl Trace {
    /// How many tokens of `all` are listed, if `possible` of them could be chosen.
    fn listed(self, possible: usize, all: usize) -> usize {
        match self {
            Trace::Off => 0,
            Trace::Whole => all,
            Trace::Likeliest(others) => possible.saturating_add(others).min(all),
        }
    }
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
    /// The same after the rules: penalties for repetition, what may not be said.
    pub ruled: f32,
    /// The probability that it is chosen with, after rules and filters: 0 if it cannot be; 1 for the one that greedy search takes.
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
    /// The distribution, likelier tokens first, by `after`, then `ruled`, then `before`. Those with `after` > 0 could be chosen.
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
    /// The texts that were followed up to here, each with what the model says comes next.
    pub followed: Vec<Followed>,
    /// The best continuations, best first.
    pub candidates: Vec<BeamCandidate>,
    /// The texts that are followed further, best first.
    pub running: Vec<Scored>,
    /// The texts that are finished, best first.
    pub finished: Vec<Scored>,
}

/// A text that a beam search follows, and its next token's distribution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Followed {
    /// Its new tokens.
    pub tokens: Vec<u32>,
    /// The sum of their log-probabilities.
    pub sum: f32,
    /// The next token, likelier ones first.
    pub next: Vec<Next>,
    /// How many tokens are not listed.
    pub left_out: usize,
}

/// A token that may come next, with its log-probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Next {
    /// The token.
    pub id: u32,
    /// As the model gives it.
    pub before: f32,
    /// After the rules; −∞ if it may not be said.
    pub ruled: f32,
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

/// The distribution of one step: `logits` as the model gave them, `ruled` after the rules, `after` the probabilities that a token was chosen by.
pub(super) fn candidates(
    logits: &[f32],
    ruled: &[f32],
    after: &[f32],
    trace: Trace,
) -> (Vec<Candidate>, usize) {
    let (before, ruled) = (probabilities(logits), probabilities(ruled));
    let of = |id: u32| {
        let i = id as usize;
        Candidate { id, before: before[i], ruled: ruled[i], after: after[i] }
    };
    let mut all: Vec<Candidate> = (0..before.len() as u32).map(of).collect();
    all.sort_by(|a, b| {
        let by = b.after.total_cmp(&a.after).then(b.ruled.total_cmp(&a.ruled));
        by.then(b.before.total_cmp(&a.before)).then(a.id.cmp(&b.id))
    });
    let possible = all.iter().filter(|candidate| candidate.after > 0.0).count();
    let listed = trace.listed(possible, all.len());
    let left_out = all.len() - listed;
    all.truncate(listed);
    (all, left_out)
}

/// The next token of a text that a beam search follows, by log-probabilities: the model's, and after the rules. So many of the likeliest are
/// `among` the candidates.
pub(super) fn next_tokens(before: &[f32], ruled: &[f32], among: usize, trace: Trace) -> (Vec<Next>, usize) {
    let of = |id: u32| Next { id, before: before[id as usize], ruled: ruled[id as usize] };
    let mut all: Vec<Next> = (0..before.len() as u32).map(of).collect();
    all.sort_by(|a, b| b.ruled.total_cmp(&a.ruled).then(b.before.total_cmp(&a.before)).then(a.id.cmp(&b.id)));
    let listed = trace.listed(among, all.len());
    let left_out = all.len() - listed;
    all.truncate(listed);
    (all, left_out)
}
