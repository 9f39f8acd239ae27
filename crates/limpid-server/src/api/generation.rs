//! Generations of a request: prepared off the event loop, admitted together, collected or streamed.

use super::inputs::Item;
use super::inspect::Timing;
use super::{App, Caller};
use crate::engine::{EventSender, Generate, GenerationEvent, Generations};
use crate::http::{Problem, ProblemKind};
use crate::models::Models;
use limpid::generate::{
    BeamStep, ContextOverflow, Cost, DecodingConfig, Event, FinishReason, GenerateOptions,
    Generated, GenerationOptions, Prompt, Step, Trace, TranslateOptions,
};
use limpid::pipeline::Pipeline;
use std::sync::Arc;
use std::time::Instant;

/// What a request asks of a generation.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Its options, over those of the model.
    pub options: GenerationOptions,
    /// New tokens if neither the caller nor the model says.
    pub default_new_tokens: Option<usize>,
    /// How much of each step is reported.
    pub trace: Trace,
    /// Text that a translation begins with.
    pub prefix: String,
}

/// A finished generation.
pub struct Finished {
    /// Tokens that were read.
    pub prompt_tokens: usize,
    /// Its texts.
    pub texts: Vec<Generated>,
    /// How each token was selected, by sample; only with a trace.
    pub steps: Vec<Vec<Step>>,
    /// The steps of a beam search; only with a trace.
    pub beam_steps: Vec<BeamStep>,
    /// Time by stage.
    pub timing: Timing,
}

impl Finished {
    /// Tokens that were generated.
    pub fn completion_tokens(&self) -> usize {
        self.texts.iter().map(|text| text.tokens.len()).sum()
    }
}

/// The generations of a request, after they were admitted.
pub struct Running {
    pub generations: Generations,
    /// Tokens that each reads.
    pub prompt_tokens: Vec<usize>,
    /// The prompt of each as token ids; empty for a translation.
    pub prompts: Vec<Vec<u32>>,
    /// When the request began, and when it was admitted.
    begun: (Instant, Instant),
}

/// Tokenizes, checks and admits.
pub async fn start(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    items: Vec<Item>,
    spec: Spec,
) -> Result<Running, Problem> {
    let begun = Instant::now();
    let models = Arc::clone(&app.models);
    let prepared = blocking(move || prepare(&models, model, items, &spec)).await??;
    let (mut jobs, mut prompts, mut prompt_tokens) = (Vec::new(), Vec::new(), Vec::new());
    for (cost, prompt, generate) in prepared {
        prompt_tokens.push(cost.source + if cost.source == 0 { cost.prompt } else { 0 });
        prompts.push(prompt);
        jobs.push((cost, generate));
    }
    let generations = app.engine.generate(app.origin(caller, model), jobs)?;
    Ok(Running { generations, prompt_tokens, prompts, begun: (begun, Instant::now()) })
}

/// Runs what takes long, but not for long enough to be a job, beside the event loop.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| Problem::new(ProblemKind::Internal, "an internal error; the log has it");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

type Prepared = (Cost, Vec<u32>, Generate);

fn prepare(
    models: &Arc<Models>,
    model: usize,
    items: Vec<Item>,
    spec: &Spec,
) -> Result<Vec<Prepared>, Problem> {
    let count = items.len();
    let prepare = |(i, item): (usize, Item)| {
        let prepared = match &models.get(model).pipeline {
            Pipeline::Generator(_) => continuation(models, model, item, spec),
            _ => translation(models, model, item, spec),
        };
        prepared.map_err(|problem| at(problem, i, count))
    };
    items.into_iter().enumerate().map(prepare).collect()
}

/// A problem with one of several inputs names it.
pub fn at(problem: Problem, i: usize, count: usize) -> Problem {
    if count > 1 { problem.of_input(i) } else { problem }
}

fn with_default(mut config: DecodingConfig, spec: &Spec) -> DecodingConfig {
    let length = &mut config.length;
    if let (Some(new_tokens), None) = (spec.default_new_tokens, length.max_new_tokens) {
        length.default_max_new_tokens = Some(new_tokens);
    }
    config
}

/// A continuation of a prompt by a language model.
fn continuation(
    models: &Arc<Models>,
    model: usize,
    item: Item,
    spec: &Spec,
) -> Result<Prepared, Problem> {
    let Pipeline::Generator(generator) = &models.get(model).pipeline else {
        unreachable!("the handler chose a language model")
    };
    let config = with_default(generator.decoding_config(&spec.options)?, spec);
    let options =
        GenerateOptions { trace: spec.trace, ..generator.generate_options(ContextOverflow::Error) };
    let prompt = match &item {
        Item::Text(text) => Prompt::Text(text),
        Item::Tokens(ids) => Prompt::Tokens(ids),
    };
    let (ids, cost) = generator.cost(prompt, &config, &options)?;
    let (models, prompt) = (Arc::clone(models), ids.clone());
    let generate: Generate = Box::new(move |sessions, events| {
        let Pipeline::Generator(generator) = &models.get(model).pipeline else { return };
        let prompts = [Prompt::Tokens(&ids)];
        let mut on_event = |event: Event| forward(event, events);
        let found = generator.run_in(sessions, &prompts, &config, &options, &mut on_event);
        done(found, events);
    });
    Ok((cost, prompt, generate))
}

/// A translation of a text.
fn translation(
    models: &Arc<Models>,
    model: usize,
    item: Item,
    spec: &Spec,
) -> Result<Prepared, Problem> {
    let Pipeline::Translator(translator) = &models.get(model).pipeline else {
        unreachable!("the handler chose a translator")
    };
    let Item::Text(text) = item else {
        return Err(Problem::invalid("an encoder-decoder reads text, not token ids"));
    };
    let config = with_default(translator.decoding_config(&spec.options)?, spec);
    let options = TranslateOptions { prefix: spec.prefix.clone(), trace: spec.trace };
    let cost = translator.cost(&text, &config, &options)?;
    let models = Arc::clone(models);
    let generate: Generate = Box::new(move |sessions, events| {
        let Pipeline::Translator(translator) = &models.get(model).pipeline else { return };
        let mut on_event = |event: Event| forward(event, events);
        let texts = [text];
        let found = translator.run_in(sessions, &texts, &config, &options, &mut on_event);
        done(found, events);
    });
    Ok((cost, Vec::new(), generate))
}

/// Hands an event on; an error if nobody listens any more, which ends the generation.
fn forward(event: Event, events: &EventSender) -> limpid::error::Result<()> {
    let sent = match event {
        Event::Text { sample, text, .. } => {
            events.send(GenerationEvent::Text { sample, text: text.to_string() })
        }
        Event::Step { sample, step, .. } => {
            events.send(GenerationEvent::Step { sample, step: step.clone() })
        }
        Event::BeamStep { step, .. } => events.send(GenerationEvent::BeamStep(step.clone())),
    };
    sent.map_err(|_| limpid::error::Error::Interrupted)
}

fn done(found: limpid::error::Result<Vec<Vec<Generated>>>, events: &EventSender) {
    let texts = found.map(|mut texts| texts.swap_remove(0)).map_err(Into::into);
    let _ = events.send(GenerationEvent::Done(texts));
}

impl Running {
    /// Waits for all of them.
    /// # Errors
    /// The first [`Problem`]; the others are cancelled then.
    pub async fn collect(self) -> Result<Vec<Finished>, Problem> {
        let Self { mut generations, prompt_tokens, begun: (begun, admitted), .. } = self;
        let mut finished = Vec::new();
        for (events, prompt_tokens) in generations.events.iter_mut().zip(prompt_tokens) {
            let (mut steps, mut beam_steps) = (Vec::<Vec<Step>>::new(), Vec::new());
            let mut started = admitted;
            let texts = loop {
                match events.recv().await {
                    Some(GenerationEvent::Started(at)) => started = at,
                    Some(GenerationEvent::Text { .. }) => {}
                    Some(GenerationEvent::Step { sample, step }) => {
                        steps.resize_with(steps.len().max(sample + 1), Vec::new);
                        steps[sample].push(step);
                    }
                    Some(GenerationEvent::BeamStep(step)) => beam_steps.push(step),
                    Some(GenerationEvent::Done(texts)) => break texts?,
                    None => return Err(crate::engine::JobError::Internal.into()),
                }
            };
            let milliseconds = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1e3;
            let timing = Timing {
                prepare_ms: milliseconds(begun, admitted),
                queue_ms: milliseconds(admitted, started),
                compute_ms: milliseconds(started, Instant::now()),
            };
            finished.push(Finished { prompt_tokens, texts, steps, beam_steps, timing });
        }
        Ok(finished)
    }
}

/// OpenAI's word for why a text ended.
pub fn finish_reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::EosToken | FinishReason::StopString => "stop",
        FinishReason::Length | FinishReason::Context => "length",
    }
}
