//! Generations of a request: prepared off the event loop, admitted together, collected or streamed.

use super::inputs::Item;
use super::inspect::{MAX_NUMBERS, Timing};
use super::{App, Caller};
use crate::engine::{GenerationEvent, Generations, Listening};
use crate::http::{Problem, ProblemKind};
use crate::models::{Models, ServedModel};
use limpid::generate::{
    BeamStep, ContextOverflow, DecodingConfig, FinishReason, GenerateOptions, Generated,
    GenerationOptions, PreparedGeneration, Prompt, Step, Trace, TranslateOptions,
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
    /// Whether text is sent as it appears.
    pub streams: bool,
}

/// A finished generation.
pub struct Finished {
    /// Its prompt as token ids; of a translation, its start tokens.
    pub prompt: Vec<u32>,
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
    /// The prompt of each as token ids; of a translation, its start tokens.
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
    let listening = match spec.streams || spec.trace != Trace::Off {
        true => Listening::Events,
        false => Listening::End,
    };
    let prepared = blocking(move || prepare(&models, model, items, &spec)).await??;
    let translates = matches!(app.models.get(model).pipeline, Pipeline::Translator(_));
    let (mut prompts, mut prompt_tokens) = (Vec::new(), Vec::new());
    for prepared in &prepared {
        let cost = prepared.cost();
        prompt_tokens.push(if translates { cost.source } else { cost.prompt });
        prompts.push(prepared.prompt().to_vec());
    }
    let generations = app.engine.generate(app.origin(caller, model), prepared, listening)?;
    Ok(Running { generations, prompt_tokens, prompts, begun: (begun, Instant::now()) })
}

/// Runs what takes long, but not for long enough to be a job, beside the event loop.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let failed = |_| Problem::new(ProblemKind::Internal, "an internal error; the log has it");
    tokio::task::spawn_blocking(work).await.map_err(failed)
}

fn prepare(
    models: &Models,
    model: usize,
    items: Vec<Item>,
    spec: &Spec,
) -> Result<Vec<PreparedGeneration>, Problem> {
    let (served, count) = (models.get(model), items.len());
    let prepare = |(i, item): (usize, Item)| {
        let prepared = match &served.pipeline {
            Pipeline::Generator(_) => continuation(served, &item, spec),
            _ => translation(served, &item, spec),
        };
        prepared.map_err(|problem| at(problem, i, count))
    };
    let prepared = items.into_iter().enumerate().map(prepare).collect::<Result<Vec<_>, _>>()?;
    if let Trace::Top(candidates) = spec.trace {
        let steps = prepared.iter().map(|prepared| prepared.cost());
        let steps: usize = steps.map(|cost| cost.sequences * cost.new_tokens).sum();
        if steps.saturating_mul(candidates) > MAX_NUMBERS {
            let message = format!(
                "trace: {candidates} candidates of up to {steps} tokens: at most {MAX_NUMBERS}"
            );
            return Err(Problem::invalid(message).with_param("inspect"));
        }
    }
    Ok(prepared)
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
    served: &ServedModel,
    item: &Item,
    spec: &Spec,
) -> Result<PreparedGeneration, Problem> {
    let Pipeline::Generator(generator) = &served.pipeline else {
        unreachable!("the handler chose a language model")
    };
    let config = with_default(generator.decoding_config(&spec.options)?, spec);
    let options =
        GenerateOptions { trace: spec.trace, ..generator.generate_options(ContextOverflow::Error) };
    let prompt = match item {
        Item::Text(text) => Prompt::Text(text),
        Item::Tokens(ids) => Prompt::Tokens(ids),
    };
    Ok(generator.prepare(prompt, &config, &options)?)
}

/// A translation of a text.
fn translation(
    served: &ServedModel,
    item: &Item,
    spec: &Spec,
) -> Result<PreparedGeneration, Problem> {
    let Pipeline::Translator(translator) = &served.pipeline else {
        unreachable!("the handler chose a translator")
    };
    let Item::Text(text) = item else {
        return Err(Problem::invalid("an encoder-decoder reads text, not token ids"));
    };
    let config = with_default(translator.decoding_config(&spec.options)?, spec);
    let options = TranslateOptions { prefix: spec.prefix.clone(), trace: spec.trace };
    Ok(translator.prepare(text, &config, &options)?)
}

impl Running {
    /// Waits for all of them.
    /// # Errors
    /// The first [`Problem`]; the others are cancelled then.
    pub async fn collect(self) -> Result<Vec<Finished>, Problem> {
        let Self { mut generations, prompt_tokens, prompts, begun: (begun, admitted) } = self;
        let mut finished = Vec::new();
        let read = prompt_tokens.into_iter().zip(prompts);
        for (events, (prompt_tokens, prompt)) in generations.events.iter_mut().zip(read) {
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
            let timing = Timing::new(begun, admitted, started);
            let found = Finished { prompt, prompt_tokens, texts, steps, beam_steps, timing };
            finished.push(found);
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
