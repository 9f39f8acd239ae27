//! Observers of generation, and what they see of a step: its candidates and the choice.

use super::sampling::probabilities;
use crate::error::Result;
use serde::Serialize;
use std::ops::ControlFlow;

/// Is called while tokens are generated. The default methods do nothing.
pub trait Observer {
    /// Sequence `sequence` has a new token; `Break` ends it. Not called for end tokens.
    /// # Errors
    /// An error ends generation.
    fn on_token(&mut self, _sequence: usize, _token: u32) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }

    /// Whether a hypothesis of a beam search for prompt `prompt` ends with these new tokens.
    /// # Errors
    /// An error ends generation.
    fn is_finished(&mut self, _prompt: usize, _new_tokens: &[u32]) -> Result<bool> {
        Ok(false)
    }

    /// Whether [`Observer::on_step`] and [`Observer::on_beam_step`] are called, which costs time,
    /// and how many candidates they list.
    fn trace(&self) -> Trace {
        Trace::Off
    }

    /// A token was selected.
    /// # Errors
    /// An error ends generation.
    fn on_step(&mut self, _step: Step) -> Result<()> {
        Ok(())
    }

    /// A beam search advanced by one token.
    /// # Errors
    /// An error ends generation.
    fn on_beam_step(&mut self, _step: BeamStep) -> Result<()> {
        Ok(())
    }
}

/// How much of each step is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// Nothing.
    #[default]
    Off,
    /// Every step with its whole distribution.
    Full,
    /// Every step with all candidates, and so many of the most likely other tokens.
    Top(usize),
}

impl Trace {
    /// The tokens that are listed, of all of them sorted, of which the first `possible` are
    /// candidates; and how many are not.
    fn list<T>(self, mut sorted: Vec<T>, possible: usize) -> (Vec<T>, usize) {
        let all = sorted.len();
        sorted.truncate(match self {
            Trace::Off => 0,
            Trace::Full => all,
            Trace::Top(others) => possible.saturating_add(others),
        });
        let omitted = all - sorted.len();
        (sorted, omitted)
    }
}

/// An observer that does nothing.
pub struct NoObserver;

impl Observer for NoObserver {}

/// A token of the vocabulary, with its probability before and after every stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// Token id.
    pub id: u32,
    /// The model's probability.
    pub probability: f32,
    /// Its probability after the logits processors.
    pub processed: f32,
    /// The probability it is selected with, after temperature, top-k and top-p: 0 if it is
    /// excluded, 1 for the token that greedy search selects.
    pub filtered: f32,
}

/// How one token was selected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Number of the new token in its sequence, from 0.
    pub step: usize,
    /// Which sequence.
    pub sequence: usize,
    /// The random number in [0, 1); none in greedy search.
    pub u: Option<f32>,
    /// The selected token.
    pub chosen: u32,
    /// The distribution, by descending `filtered`, then `processed`, then `probability`.
    pub candidates: Vec<Candidate>,
    /// How many tokens are not listed; `filtered` is 0 for all of them.
    pub omitted: usize,
}

/// One step of a beam search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BeamStep {
    /// Number of the new token, from 0.
    pub step: usize,
    /// Which prompt.
    pub prompt: usize,
    /// The beams before this step, each with the distribution of its next token.
    pub beams: Vec<RunningBeam>,
    /// The best continuations of all beams, best first.
    pub candidates: Vec<BeamCandidate>,
    /// The beams after this step, best first.
    pub running: Vec<ScoredTokens>,
    /// The finished hypotheses, best first.
    pub finished: Vec<ScoredTokens>,
}

/// A beam, and the distribution of its next token.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunningBeam {
    /// Its new tokens.
    pub tokens: Vec<u32>,
    /// The sum of their log-probabilities.
    pub log_probability: f32,
    /// The next token, most likely first.
    pub next: Vec<NextToken>,
    /// How many tokens are not listed.
    pub omitted: usize,
}

/// A possible next token of a beam.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NextToken {
    /// Token id.
    pub id: u32,
    /// The model's log-probability.
    pub log_probability: f32,
    /// The same after the logits processors; −∞ if it is excluded.
    pub processed: f32,
}

/// A beam followed by one more token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BeamCandidate {
    /// Which of the beams before this step.
    pub beam: usize,
    /// Token id.
    pub id: u32,
    /// Its log-probability, after the logits processors.
    pub log_probability: f32,
    /// The sum of log-probabilities, this token's included.
    pub sum: f32,
    /// Whether it finishes the hypothesis.
    pub finishes: bool,
}

/// New tokens and their score: the sum of log-probabilities, once finished divided by the length
/// penalty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredTokens {
    /// The new tokens.
    pub tokens: Vec<u32>,
    /// Their score.
    pub score: f32,
}

/// The distribution of one step: `logits` are the model's, `processed` those after the logits
/// processors, `filtered` the probabilities that a token is selected with.
pub(super) fn candidates(
    logits: &[f32],
    processed: &[f32],
    filtered: &[f32],
    trace: Trace,
) -> (Vec<Candidate>, usize) {
    let (probability, processed) = (probabilities(logits), probabilities(processed));
    let of = |id: u32| {
        let i = id as usize;
        let (probability, processed) = (probability[i], processed[i]);
        Candidate { id, probability, processed, filtered: filtered[i] }
    };
    let mut all: Vec<Candidate> = (0..logits.len() as u32).map(of).collect();
    all.sort_by(|a, b| {
        let by = b.filtered.total_cmp(&a.filtered).then(b.processed.total_cmp(&a.processed));
        by.then(b.probability.total_cmp(&a.probability)).then(a.id.cmp(&b.id))
    });
    let possible = all.iter().filter(|candidate| candidate.filtered > 0.0).count();
    trace.list(all, possible)
}

/// The next token of a beam by log-probabilities: the model's, and those after the logits
/// processors. `among` of its continuations are candidates.
pub(super) fn next_tokens(
    log_probabilities: &[f32],
    processed: &[f32],
    among: usize,
    trace: Trace,
) -> (Vec<NextToken>, usize) {
    let of = |id: u32| {
        let i = id as usize;
        NextToken { id, log_probability: log_probabilities[i], processed: processed[i] }
    };
    let mut all: Vec<NextToken> = (0..processed.len() as u32).map(of).collect();
    all.sort_by(|a, b| {
        let by = b.processed.total_cmp(&a.processed);
        by.then(b.log_probability.total_cmp(&a.log_probability)).then(a.id.cmp(&b.id))
    });
    trace.list(all, among)
}
