//! Hugging Face's inference routes: `POST /models/{id}`, `POST /models/{id}/pipeline/{task}`.

use super::generation::{self, Finished, Spec};
use super::inputs::{Item, check_count, check_range};
use super::passes::{self, Tokenized, classifies, embeds, fill_mask, fills, mixed_up};
use super::sampling::neutral;
use super::tei::{self, SimilarityInputs};
use super::{App, Caller, reply};
use crate::engine::{Pass, PassOutput};
use crate::http::{Problem, ProblemKind, TeiProblem};
use crate::models::{ServedModel, ServedTask};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, Response};
use limpid::encode::{FilledMask, MaskPredictions, Normalization};
use limpid::generate::GenerationOptions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Tokens for a mask, at most.
const MAX_TOP_K: usize = 1_000;

/// Inputs of any task.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Inputs {
    /// A text.
    One(String),
    /// Several.
    Many(Vec<String>),
    /// Texts to compare with another.
    Similarity(SimilarityInputs),
}

/// Options of any task; those of another task have no effect.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct Parameters {
    /// Tokens for each mask (5), or labels; in generation, the k most likely tokens.
    pub top_k: Option<usize>,
    /// Softmax temperature.
    pub temperature: Option<f32>,
    /// Sample from the smallest set of tokens with this probability mass.
    pub top_p: Option<f32>,
    /// Sample instead of taking the most likely token.
    pub do_sample: Option<bool>,
    /// Seed of the samples.
    pub seed: Option<u64>,
    /// Largest number of new tokens.
    pub max_new_tokens: Option<usize>,
    /// Texts per input, at most 16.
    pub num_return_sequences: Option<usize>,
    /// Beams of a beam search, at most 16.
    pub num_beams: Option<usize>,
    /// Penalty on tokens that occurred before.
    pub repetition_penalty: Option<f32>,
    /// Strings that end a text.
    pub stop: Option<Vec<String>>,
    /// Put the prompt before a generated text, which is the default.
    pub return_full_text: Option<bool>,
    /// Cut texts that are too long.
    pub truncate: Option<bool>,
    /// Scale embeddings to length 1, which is the default.
    pub normalize: Option<bool>,
    /// The prompt of the model's folder that stands before each text.
    pub prompt_name: Option<String>,
    /// The same for a translator, as some clients send them.
    pub generate_parameters: Option<GenerateParameters>,
}

/// Options of a translation.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct GenerateParameters {
    /// Largest number of new tokens.
    pub max_new_tokens: Option<usize>,
    /// Beams of a beam search, at most 16.
    pub num_beams: Option<usize>,
}

/// A request of any task.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct InferenceRequest {
    /// Inputs.
    pub inputs: Inputs,
    /// Options.
    pub parameters: Option<Parameters>,
    /// Only false: `/v1/completions` streams.
    pub stream: Option<bool>,
}

/// A token for a mask.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Fill {
    /// Its probability.
    pub score: f32,
    /// Its id.
    pub token: u32,
    /// Its text.
    pub token_str: String,
    /// The text with it.
    pub sequence: String,
}

/// A generated text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub enum Output {
    /// Of a translation.
    #[serde(rename = "translation_text")]
    Translation(String),
    /// Of a summary.
    #[serde(rename = "summary_text")]
    Summary(String),
    /// Of anything else.
    #[serde(rename = "generated_text")]
    Generated(String),
}

/// The tasks of these routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    FillMask,
    Classification,
    Translation,
    Summarization,
    Text2Text,
    Generation,
    FeatureExtraction,
    Similarity,
}

impl Task {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "fill-mask" => Self::FillMask,
            "text-classification" | "sentiment-analysis" => Self::Classification,
            "translation" => Self::Translation,
            "summarization" => Self::Summarization,
            "text2text-generation" => Self::Text2Text,
            "text-generation" => Self::Generation,
            "feature-extraction" => Self::FeatureExtraction,
            "sentence-similarity" => Self::Similarity,
            _ => return None,
        })
    }

    fn of(model: &ServedModel, inputs: &Inputs) -> Self {
        match (model.task(), inputs) {
            (_, Inputs::Similarity(_)) => Self::Similarity,
            (ServedTask::FillMask, _) => Self::FillMask,
            (ServedTask::TextClassification, _) => Self::Classification,
            (ServedTask::Translation, _) => Self::Translation,
            (ServedTask::TextGeneration, _) => Self::Generation,
            (ServedTask::FeatureExtraction, _) => Self::FeatureExtraction,
        }
    }

    fn suits(self, model: &ServedModel) -> bool {
        match self {
            Self::FillMask => fills(model),
            Self::Classification => classifies(model),
            Self::FeatureExtraction | Self::Similarity => embeds(model),
            Self::Generation => model.task() == ServedTask::TextGeneration,
            Self::Translation | Self::Summarization | Self::Text2Text => {
                model.task() == ServedTask::Translation
            }
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::FillMask => "fill masks",
            Self::Classification => "classify",
            Self::FeatureExtraction | Self::Similarity => "produce embeddings",
            Self::Generation => "generate text",
            Self::Translation => "translate",
            Self::Summarization => "summarize",
            Self::Text2Text => "generate text from text",
        }
    }
}

/// Runs the task that the model is for.
#[utoipa::path(post, path = "/", tag = "Hugging Face",
    request_body = InferenceRequest, responses((status = 200, body = Vec<Output>)))]
pub async fn infer(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: InferenceRequest = app.payload(request).await?.json()?;
    let model = caller.model.unwrap_or(0);
    let task = Task::of(app.models.get(model), &request.inputs);
    Ok(run(&app, Caller { model: Some(model), ..caller }, task, request).await?)
}

/// Runs a task.
#[utoipa::path(post, path = "/pipeline/{task}", tag = "Hugging Face",
    params(("task" = String, Path, description = "fill-mask, text-classification, …")),
    request_body = InferenceRequest, responses((status = 200, body = Vec<Output>)))]
pub async fn pipeline(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let task = Task::parse(&task).ok_or_else(|| {
        let message = format!(
            "no task {task:?}: expected fill-mask, text-classification, translation, \
             summarization, text-generation, feature-extraction or sentence-similarity"
        );
        Problem::new(ProblemKind::NotFound, message)
    })?;
    let request: InferenceRequest = app.payload(request).await?.json()?;
    Ok(run(&app, caller, task, request).await?)
}

async fn run(
    app: &Arc<App>,
    caller: Caller,
    task: Task,
    request: InferenceRequest,
) -> Result<Response<Body>, Problem> {
    neutral("stream", request.stream != Some(true))?;
    let model = app.model(caller, None, |model| task.suits(model), task.verb())?;
    let parameters = request.parameters.unwrap_or_default();
    let (texts, one) = match (request.inputs, task) {
        (Inputs::Similarity(inputs), Task::Similarity) => {
            let SimilarityInputs { source_sentence: source, sentences } = inputs;
            let options = (parameters.prompt_name, parameters.truncate);
            let found = tei::similarities(app, caller, model, source, sentences, options).await?;
            return Ok(reply(&found));
        }
        (Inputs::One(text), _) if task != Task::Similarity => (vec![text], true),
        (Inputs::Many(texts), _) if task != Task::Similarity => (texts, false),
        _ => {
            let message = "inputs: a similarity has source_sentence and sentences, others texts";
            return Err(Problem::invalid(message));
        }
    };
    check_count(texts.len(), "inputs")?;
    match task {
        Task::FillMask => fill(app, caller, model, texts, &parameters, one).await,
        Task::Classification => {
            let pairs = texts.into_iter().map(|text| (text, None)).collect();
            let mut found = tei::classify(app, caller, model, pairs, parameters.truncate).await?;
            if let Some(top) = parameters.top_k {
                found.iter_mut().for_each(|labels| labels.truncate(top));
            }
            // Nested also for one text: clients take the first element for its labels.
            Ok(reply(&found))
        }
        Task::FeatureExtraction => embed(app, caller, model, texts, parameters, one).await,
        _ => generate(app, caller, model, texts, &parameters, task).await,
    }
}

async fn embed(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    texts: Vec<String>,
    parameters: Parameters,
    one: bool,
) -> Result<Response<Body>, Problem> {
    let normalization = match parameters.normalize {
        Some(false) => Normalization::None,
        _ => Normalization::UnitLength,
    };
    let passed = passes::run(app, caller, model, texts, move |served, text: String| {
        let prompt_name = parameters.prompt_name.as_deref();
        let encoded = tei::tokenize(served, &text, prompt_name, parameters.truncate)?;
        Ok(Pass::Embed(encoded, normalization))
    });
    let mut vectors = tei::vectors(passed.await?.outputs)?;
    Ok(if one { reply(&vectors.swap_remove(0)) } else { reply(&vectors) })
}

async fn fill(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    texts: Vec<String>,
    parameters: &Parameters,
    one: bool,
) -> Result<Response<Body>, Problem> {
    let top = check_range("top_k", parameters.top_k.unwrap_or(5), 1..=MAX_TOP_K)?;
    let tokenize = move |served: &ServedModel, text: String| -> Tokenized {
        let model = fill_mask(served).expect("the handler chose a masked language model");
        let encoded = model.tokenize(&text)?;
        Ok(Pass::FillMask { text, encoded, top })
    };
    let passed = passes::run(app, caller, model, texts, tokenize).await?;
    let tokenizer = app.models.get(model).pipeline.tokenizer();
    let fill = |found: FilledMask| Fill {
        score: found.probability,
        token: found.id,
        token_str: tokenizer
            .decode(&[found.id])
            .ok()
            .filter(|text| !text.is_empty())
            .unwrap_or(found.token),
        sequence: found.text,
    };
    let fills = |found: MaskPredictions| found.into_iter().map(fill).collect::<Vec<Fill>>();
    let mut all: Vec<Vec<Vec<Fill>>> = Vec::new();
    for output in passed.outputs {
        let PassOutput::Masks(masks) = output else { return Err(mixed_up()) };
        all.push(masks.into_iter().map(fills).collect());
    }
    // As a pipeline of transformers: a text with one mask has no list around it.
    Ok(match one {
        true => {
            let mut masks = all.swap_remove(0);
            if masks.len() == 1 { reply(&masks.swap_remove(0)) } else { reply(&masks) }
        }
        false if all.iter().all(|masks| masks.len() == 1) => {
            let firsts = all.into_iter().map(|mut masks| masks.swap_remove(0));
            reply(&firsts.collect::<Vec<_>>())
        }
        false => reply(&all),
    })
}

async fn generate(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    texts: Vec<String>,
    parameters: &Parameters,
    task: Task,
) -> Result<Response<Body>, Problem> {
    let spec = parameters.spec()?;
    let items = texts.iter().cloned().map(Item::Text).collect();
    let finished = generation::start(app, caller, model, items, spec).await?.collect().await?;
    let read = finished.iter().map(|found| found.prompt_tokens).sum();
    let generated = finished.iter().map(Finished::completion_tokens).sum();
    app.metrics.tokens(&app.models.get(model).name, read, generated);
    let full = task == Task::Generation && parameters.return_full_text != Some(false);
    let mut outputs = Vec::new();
    for (found, prompt) in finished.into_iter().zip(&texts) {
        outputs.extend(found.texts.into_iter().map(|text| match task {
            Task::Translation => Output::Translation(text.text),
            Task::Summarization => Output::Summary(text.text),
            _ if full => Output::Generated(format!("{prompt}{}", text.text)),
            _ => Output::Generated(text.text),
        }));
    }
    Ok(reply(&outputs))
}

impl Parameters {
    fn spec(&self) -> Result<Spec, Problem> {
        let more = self.generate_parameters.clone().unwrap_or_default();
        let num_beams = self.num_beams.or(more.num_beams);
        check_range("num_beams", num_beams.unwrap_or(1), 1..=16)?;
        check_range("num_return_sequences", self.num_return_sequences.unwrap_or(1), 1..=16)?;
        check_range("stop", self.stop.as_ref().map_or(0, Vec::len), 0..=4)?;
        let options = GenerationOptions {
            do_sample: self.do_sample,
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            seed: self.seed,
            num_beams,
            num_return_sequences: self.num_return_sequences,
            repetition_penalty: self.repetition_penalty,
            max_new_tokens: self.max_new_tokens.or(more.max_new_tokens),
            stop_strings: self.stop.clone().filter(|stops| !stops.is_empty()),
            ..GenerationOptions::default()
        };
        Ok(Spec { options, ..Spec::default() })
    }
}
