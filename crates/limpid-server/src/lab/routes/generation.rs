//! Generated text: how each token was selected, and the logits it was selected from.

use super::{Answer, Shared, body, floats, json, query};
use crate::lab::opened::Opened;
use crate::lab::passes::{self, KeptPass};
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::tokens;
use crate::lab::types::{
    Candidate, GenStep, GenerateRequest, Generation, PassRequest, TrueWord, Truth, TruthRequest,
};
use crate::lab::{MAX_TOKENS, State};
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::http::{Request, Uri};
use limpid::generate::{
    DecoderSession, DecodingConfig, FinishReason, Observer, Sequence, Session, Step, Strategy,
    TokenSelection, Trace, generate_tokens,
};
use limpid::hash::hash_bytes;
use limpid::model::Stack;
use limpid_learn::corpus::stories;
use serde::Deserialize;
use std::sync::{Arc, PoisonError};

/// Candidates that are listed.
const LISTED: usize = 20;
/// New tokens of one request.
const MAX_NEW: usize = 512;
/// True next words that are listed.
const TRUE_WORDS: usize = 50;

/// A generation that was kept.
pub struct KeptGeneration {
    /// The pass over all of its tokens: its logits are those of the steps.
    pass: Arc<KeptPass>,
    /// The row of the sequence whose logits step 0 was selected from.
    first_row: usize,
}

/// Keeps every step.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Observer for Steps {
    fn trace(&self) -> Trace {
        Trace::Top(LISTED)
    }

    fn on_step(&mut self, step: Step) -> limpid::error::Result<()> {
        self.0.push(step);
        Ok(())
    }
}

/// What a generation begins with.
pub struct Beginning {
    /// The source of a translator; empty of a language model.
    pub source: Vec<u32>,
    /// The first tokens of the decoder.
    pub prompt: Vec<u32>,
    /// Positions.
    pub capacity: usize,
}

/// Reads a prompt or a source.
pub fn beginning(opened: &Opened, text: &str) -> Result<Beginning, LabProblem> {
    match opened.seq2seq() {
        Some(model) => {
            let source = opened.read(text, None)?.0;
            let capacity = model.longest();
            Ok(Beginning { source, prompt: vec![model.start()], capacity })
        }
        None => {
            let prompt = opened.prompt_ids(text)?;
            tokens::check_length(prompt.len(), opened.model.context)?;
            Ok(Beginning { source: Vec::new(), prompt, capacity: opened.model.context })
        }
    }
}

/// A session of one sequence.
pub fn session<'a>(
    opened: &'a Opened,
    from: &Beginning,
) -> Result<Box<dyn Session + 'a>, LabProblem> {
    let weights = opened.pipeline.weights();
    Ok(match (opened.stack(), opened.seq2seq()) {
        (_, Some(model)) => model.session(weights, &[&from.source], from.capacity),
        (Stack::Decoder(model), None) => {
            Box::new(DecoderSession::new(model, weights, 1, from.capacity))
        }
        _ => return Err(opened.cannot("generate text")),
    })
}

/// The configuration, with what a translator never generates.
pub fn with_excluded(opened: &Opened, mut config: DecodingConfig) -> DecodingConfig {
    if let Some(model) = opened.seq2seq().filter(|model| model.pad() != model.end()) {
        config.processor.bad_words_ids.push(vec![model.pad()]);
    }
    config
}

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: GenerateRequest = body(request).await?;
    let shared = Arc::clone(&state);
    let made = state.work.heavy(move || {
        let opened = shared.model(&request.model)?;
        generate(&shared, &opened, &request)
    });
    Ok(json(&made.await?))
}

fn generate(
    state: &State,
    opened: &Arc<Opened>,
    request: &GenerateRequest,
) -> Result<Generation, LabProblem> {
    let from = beginning(opened, &request.text)?;
    tokens::check_ids(&request.prefix_ids, opened.scored_tokens(), "prefix_ids")?;
    let given = request.prefix_ids.len();
    let room = from.capacity.min(MAX_TOKENS).saturating_sub(from.prompt.len());
    if given >= room {
        return Err(LabProblem::too_long(from.prompt.len() + given + 1, from.capacity));
    }
    let new = request.max_new_tokens.unwrap_or(32).clamp(1, MAX_NEW).min(room - given);
    let config = with_excluded(opened, opened.decoding(request)?);
    let selection = match &config.strategy {
        Strategy::Sample(sampling) => TokenSelection::Sample(&sampling.filter, sampling.seed),
        _ => TokenSelection::Greedy,
    };
    let sequence = Sequence::new(&from.prompt, given + new, 0)
        .with_random_stream(&from.source, 0)
        .continued(&request.prefix_ids);
    let (mut steps, mut sequences) = (Steps::default(), [sequence]);
    let mut session = session(opened, &from)?;
    generate_tokens(&mut *session, &mut sequences, selection, &config.processor, &mut steps)?;
    let [sequence] = sequences;
    let ids = sequence.new_tokens().to_vec();
    let finish = match sequence.finish_reason {
        Some(FinishReason::EosToken | FinishReason::StopString) => "stop",
        _ => "length",
    };
    let id = keep(state, opened, request, &from, &ids)?;
    let tokenizer = opened.tokenizer();
    let prompt = match opened.seq2seq() {
        Some(_) => tokens::tokens(tokenizer, &from.source, Some(&request.text)),
        None => tokens::tokens(tokenizer, &from.prompt, Some(&request.text)),
    };
    let shown = |(i, step): (usize, Step)| {
        let before = [&from.prompt[..], &ids[..(given + i).min(ids.len())]].concat();
        step_of(opened, step, &before)
    };
    Ok(Generation {
        id,
        model: opened.model.id.clone(),
        prompt,
        prefix: tokens::tokens(tokenizer, &request.prefix_ids, None),
        steps: steps.0.into_iter().enumerate().map(shown).collect(),
        text: tokenizer.decode(&ids)?,
        ids,
        finish: finish.into(),
        command: state.settings.commands.generate(&opened.folder, request),
    })
}

fn step_of(opened: &Opened, step: Step, before: &[u32]) -> GenStep {
    let tokenizer = opened.tokenizer();
    let candidate = |c: &limpid::generate::Candidate| Candidate {
        id: c.id,
        text: tokens::readable(tokenizer, c.id),
        probability: c.probability,
        processed: c.processed,
        filtered: c.filtered,
    };
    let entropy = step.candidates.iter().map(|c| f64::from(c.probability));
    let entropy = entropy.map(|p| if p > 0.0 { -p * p.ln() } else { 0.0 }).sum();
    let truth = (opened.model.is_story && opened.generator().is_some())
        .then(|| tokenizer.decode(before).ok())
        .flatten()
        .map(|text| true_words(opened, &text))
        .filter(|words| !words.is_empty());
    let top = step.candidates.iter().take(LISTED.max(1)).map(candidate).collect();
    let hidden = step.candidates.len().saturating_sub(LISTED);
    GenStep {
        step: step.step,
        chosen: tokens::one(tokenizer, step.chosen),
        u: step.u,
        top,
        omitted: step.omitted + hidden,
        entropy,
        truth,
    }
}

/// The exact next words after the beginning of a built-in story.
fn true_words(opened: &Opened, text: &str) -> Vec<TrueWord> {
    let tokenizer = opened.tokenizer();
    let id = |word: &Option<String>| match word {
        None => tokenizer.eos_id(),
        Some(word) => tokenizer.id(&format!("▁{word}")).or_else(|| tokenizer.id(word)),
    };
    let word = |next: stories::NextWord| TrueWord {
        id: id(&next.word),
        text: next.word.unwrap_or_default(),
        probability: next.probability,
    };
    stories::next_words(text).into_iter().take(TRUE_WORDS).map(word).collect()
}

/// Keeps the pass over all tokens, for the logits of each step.
fn keep(
    state: &State,
    opened: &Arc<Opened>,
    request: &GenerateRequest,
    from: &Beginning,
    ids: &[u32],
) -> Result<String, LabProblem> {
    let pass = PassRequest {
        model: request.model.clone(),
        text: request.text.clone(),
        second: None,
        target: None,
        target_ids: Some(ids.to_vec()),
        edits: Vec::new(),
    };
    let pass = passes::run(state, opened, pass)?;
    let first_row = from.prompt.len() - 1;
    let key = serde_json::to_string(request).expect("our own types are JSON");
    let id = format!("g{:016x}", hash_bytes(format!("{}\n{key}", opened.hash).as_bytes()));
    let mut kept = state.generations.lock().unwrap_or_else(PoisonError::into_inner);
    kept.insert(id.clone(), 0, Arc::new(KeptGeneration { pass, first_row }));
    Ok(id)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogitsQuery {
    step: usize,
}

/// The model's logits of one step; steps count from the first new token, given ones included.
pub async fn logits(Extract(state): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let LogitsQuery { step } = query(&uri)?;
    let kept = {
        let mut kept = state.generations.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&id)
    };
    let kept = kept.ok_or_else(|| {
        LabProblem::new(Kind::PassExpired, "this generation was forgotten")
            .hint("ask for the same generation again")
    })?;
    let missing = || LabProblem::new(Kind::NoElement, "this generation has no such step");
    let pass = &kept.pass.pass;
    let row = kept.first_row + step;
    let at = pass.logit_rows.iter().position(|own| *own == row).ok_or_else(missing)?;
    let logits = pass.logits.as_ref().ok_or_else(missing)?;
    let row = logits.row(at);
    Ok(floats(row.iter().copied(), [1, row.len()]))
}

/// What may follow the beginning of a built-in story.
pub async fn truth(Extract(state): Shared, request: Request<Body>) -> Answer {
    let TruthRequest { text } = body(request).await?;
    let next = state.work.light(move || {
        let word = |next: stories::NextWord| TrueWord {
            text: next.word.unwrap_or_default(),
            id: None,
            probability: next.probability,
        };
        Ok(stories::next_words(&text).into_iter().map(word).collect::<Vec<_>>())
    });
    let next = next.await?;
    Ok(json(&Truth { is_story: !next.is_empty(), next }))
}
