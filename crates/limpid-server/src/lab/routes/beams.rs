//! Beam search, step by step.

use super::generation::{beginning, session, with_excluded};
use super::{Answer, Shared, body, json};
use crate::lab::opened::Opened;
use crate::lab::problem::LabProblem;
use crate::lab::tokens;
use crate::lab::types::{
    Beam, BeamCandidate, BeamNext, BeamStep, Beams, BeamsRequest, ScoredText, ScoredTokens, Token,
};
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::Request;
use limpid::generate::{self, GenerationOptions, Observer, Strategy, Trace, beam_search};
use std::sync::Arc;

/// The widest search.
const MAX_WIDTH: usize = 16;
/// Next tokens of a beam that are listed, beside the candidates.
const LISTED: usize = 8;
/// New tokens of one request.
const MAX_NEW: usize = 256;

/// Keeps every step.
#[derive(Default)]
struct Steps(Vec<generate::BeamStep>);

impl Observer for Steps {
    fn trace(&self) -> Trace {
        Trace::Top(LISTED)
    }

    fn on_beam_step(&mut self, step: generate::BeamStep) -> limpid::error::Result<()> {
        self.0.push(step);
        Ok(())
    }
}

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: BeamsRequest = body(request).await?;
    if !(1..=MAX_WIDTH).contains(&request.width) {
        return Err(LabProblem::invalid("width", format!("1 to {MAX_WIDTH} beams")));
    }
    let shared = Arc::clone(&state);
    let found = state.work.heavy(move || {
        let opened = shared.model(&request.model)?;
        search(&opened, &request)
    });
    Ok(json(&found.await?))
}

fn search(opened: &Opened, request: &BeamsRequest) -> Result<Beams, LabProblem> {
    let from = beginning(opened, &request.text)?;
    let options = GenerationOptions {
        do_sample: Some(false),
        // One beam is greedy search, which has no steps of beams.
        num_beams: Some(request.width.max(2)),
        num_return_sequences: Some(request.width),
        length_penalty: request.length_penalty,
        ..GenerationOptions::default()
    };
    let config = with_excluded(opened, opened.resolve(&options)?);
    let Strategy::BeamSearch(mut beams) = config.strategy else {
        return Err(LabProblem::invalid("width", "this model does not search with beams"));
    };
    beams.num_beams = request.width;
    let room = from.capacity.saturating_sub(from.prompt.len());
    let new = request.max_new_tokens.unwrap_or(32).clamp(1, MAX_NEW).min(room.max(1));
    let (mut steps, mut session) = (Steps::default(), session(opened, &from)?);
    let prompts = [from.prompt.clone()];
    let found =
        beam_search(&mut *session, &prompts, &[new], &beams, &config.processor, &mut steps)?;
    let tokenizer = opened.tokenizer();
    let text = |tokens: &[u32]| tokenizer.decode(tokens);
    let results = found
        .into_iter()
        .flatten()
        .map(|found| Ok(ScoredText { text: text(&found.tokens)?, score: found.score }))
        .collect::<Result<_, limpid::error::Error>>()?;
    let read = if from.source.is_empty() { &from.prompt } else { &from.source };
    Ok(Beams {
        prompt: tokens::tokens(tokenizer, read, Some(&request.text)),
        steps: steps.0.into_iter().map(|step| shown(opened, step)).collect(),
        results,
    })
}

fn shown(opened: &Opened, step: generate::BeamStep) -> BeamStep {
    let tokenizer = opened.tokenizer();
    let all = |ids: &[u32]| -> Vec<Token> { tokens::tokens(tokenizer, ids, None) };
    let text = |id: u32| tokens::readable(tokenizer, id);
    let scored = |found: &generate::ScoredTokens| ScoredTokens {
        tokens: all(&found.tokens),
        score: found.score,
    };
    let kept = |candidate: &generate::BeamCandidate| {
        let Some(beam) = step.beams.get(candidate.beam) else { return false };
        let tokens = [&beam.tokens[..], &[candidate.id]].concat();
        step.running.iter().any(|running| running.tokens == tokens)
    };
    BeamStep {
        step: step.step,
        candidates: step
            .candidates
            .iter()
            .map(|candidate| BeamCandidate {
                beam: candidate.beam,
                id: candidate.id,
                text: text(candidate.id),
                log_probability: candidate.log_probability,
                sum: candidate.sum,
                finishes: candidate.finishes,
                kept: kept(candidate),
            })
            .collect(),
        beams: step
            .beams
            .iter()
            .map(|beam| Beam {
                tokens: all(&beam.tokens),
                log_probability: beam.log_probability,
                next: beam
                    .next
                    .iter()
                    .take(LISTED)
                    .map(|next| BeamNext {
                        id: next.id,
                        text: text(next.id),
                        log_probability: next.log_probability,
                    })
                    .collect(),
            })
            .collect(),
        running: step.running.iter().map(scored).collect(),
        finished: step.finished.iter().map(scored).collect(),
    }
}
