//! Hugging Face's inference routes: `POST /models/{id}`, `POST /models/{id}/pipeline/{task}`.

use super::generation::Spec;
use super::inputs::{check_count, check_range};
use super::inspect::Inspect;
use super::passes::{answerer, classifies, embeds, fills, tagger};
use super::sampling::neutral;
use super::tasks::Asked;
use super::tei::{self, SimilarityInputs};
use super::{App, Caller};
use crate::http::{Problem, ProblemKind, TeiProblem};
use crate::models::{ServedModel, ServedTask};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Request, Response};
use limpid::generate::GenerationOptions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Inputs of any task.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(
    untagged,
    expecting = "expected a text, texts, source_sentence and sentences, or question and context"
)]
pub enum Inputs {
    /// A text.
    One(String),
    /// Several.
    Many(Vec<String>),
    /// Texts to compare with another.
    Similarity(SimilarityInputs),
    /// A question about a text.
    Question(QuestionInputs),
}

/// A question about a text.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct QuestionInputs {
    /// The question.
    pub question: String,
    /// The text that the answer is a part of.
    pub context: String,
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
    /// How tokens of an entity are joined: `none`, `simple` (the default), `first`, `average` or
    /// `max`.
    pub aggregation_strategy: Option<String>,
    /// Labels that are left out of the entities, beside `O`.
    pub ignore_labels: Option<Vec<String>>,
    /// Tokens of an answer, at most.
    pub max_answer_len: Option<usize>,
    /// Tokens of question and context that are read at once.
    pub max_seq_len: Option<usize>,
    /// Tokens that neighbouring parts of a long context share.
    pub doc_stride: Option<usize>,
    /// Whether there may be no answer.
    pub handle_impossible_answer: Option<bool>,
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
    /// What the answer is to be opened to; it is then `{"output", "inspect"}`.
    pub inspect: Option<Inspect>,
}

/// A labelled part of a text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EntityOutput {
    /// The label of joined tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity_group: Option<String>,
    /// The label of one token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The token's index, special tokens included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Its probability.
    pub score: f32,
    /// The tokens as text.
    pub word: String,
    /// The first character.
    pub start: usize,
    /// One past the last character.
    pub end: usize,
}

/// A part of a text that answers a question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct AnswerOutput {
    /// Its text; empty where there is no answer.
    pub answer: String,
    /// Its probability.
    pub score: f32,
    /// The first character.
    pub start: usize,
    /// One past the last character.
    pub end: usize,
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
pub enum Task {
    FillMask,
    Classification,
    Translation,
    Summarization,
    Text2Text,
    Generation,
    FeatureExtraction,
    Similarity,
    Tagging,
    Answering,
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
            "token-classification" | "ner" => Self::Tagging,
            "question-answering" => Self::Answering,
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
            (ServedTask::TokenClassification, _) => Self::Tagging,
            (ServedTask::QuestionAnswering, _) => Self::Answering,
        }
    }

    fn suits(self, model: &ServedModel) -> bool {
        match self {
            Self::FillMask => fills(model),
            Self::Classification => classifies(model),
            Self::FeatureExtraction | Self::Similarity => embeds(model),
            Self::Generation => model.task() == ServedTask::TextGeneration,
            Self::Tagging => tagger(model).is_some(),
            Self::Answering => answerer(model).is_some(),
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
            Self::Tagging => "label tokens",
            Self::Answering => "answer questions",
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
             summarization, text-generation, feature-extraction, sentence-similarity, \
             token-classification or question-answering"
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
    let inspect = tei::check_inspect(app, model, &request.inspect)?;
    let parameters = request.parameters.unwrap_or_default();
    let asked = Asked { app, caller, model, parameters, inspect };
    let (texts, one) = match (request.inputs, task) {
        (Inputs::Similarity(inputs), Task::Similarity) => return asked.compare(inputs).await,
        (Inputs::Question(inputs), Task::Answering) => return asked.answer(inputs).await,
        (_, Task::Similarity | Task::Answering)
        | (Inputs::Similarity(_) | Inputs::Question(_), _) => {
            let message = "inputs: a similarity has source_sentence and sentences, a question has \
                           question and context, other tasks have texts";
            return Err(Problem::invalid(message));
        }
        (Inputs::One(text), _) => (vec![text], true),
        (Inputs::Many(texts), _) => (texts, false),
    };
    check_count(texts.len(), "inputs")?;
    match task {
        Task::FillMask => asked.fill(texts, one).await,
        Task::Classification => asked.classify(texts).await,
        Task::FeatureExtraction => asked.embed(texts, one).await,
        Task::Tagging => asked.tag(texts, one).await,
        _ => asked.generate(texts, task).await,
    }
}

impl Parameters {
    /// What they ask of a generation.
    /// # Errors
    /// A [`Problem`] for one that is out of its range.
    pub fn spec(&self) -> Result<Spec, Problem> {
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
