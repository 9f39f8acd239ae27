//! The routes of text-embeddings-inference.

use super::embeddings::{check_dimensions, shortened};
use super::inputs::{OneOrMany, check_count};
use super::inspect::{self, Inspect};
use super::passes::{
    self, Read, Tokenized, classifier, classifies, embedder, embeds, mixed_up, reranker,
};
use super::{App, Caller, reply};
use crate::engine::{Pass, PassOutput};
use crate::http::{Problem, TeiProblem};
use crate::models::ServedModel;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use limpid::encode::{Normalization, Pooling, cosine};
use limpid::pipeline::{LabelScore, LongText};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use utoipa::ToSchema;

/// Numbers of an answer with hidden states.
const MAX_NUMBERS: usize = 1 << 22;

/// Which end of a text that is too long is cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
pub enum TruncationDirection {
    /// The end.
    #[default]
    Right,
    /// The beginning: not supported.
    Left,
}

/// Texts to embed.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct EmbedRequest {
    /// A text or several.
    pub inputs: OneOrMany,
    /// Cut texts that are too long.
    pub truncate: Option<bool>,
    /// Only `Right`.
    pub truncation_direction: Option<TruncationDirection>,
    /// The prompt of the model's folder that stands before each text.
    pub prompt_name: Option<String>,
    /// Scale embeddings to length 1, which is the default.
    pub normalize: Option<bool>,
    /// Keep so many of the first components, scaled to length 1 again.
    pub dimensions: Option<usize>,
    /// What the answer is to be opened to; it is then `{"output", "inspect"}`.
    pub inspect: Option<Inspect>,
}

/// A label and its score.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Prediction {
    /// The label.
    pub label: String,
    /// Its probability.
    pub score: f32,
}

/// What `/predict` classifies: a text, a pair, or a batch of either.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text, a pair of texts, or lists of one or two texts")]
pub enum PredictInputs {
    /// A text.
    Text(String),
    /// A pair, or texts.
    Texts(Vec<TextOrPair>),
}

/// A text, or a list of one or two.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or a list of one or two texts")]
pub enum TextOrPair {
    /// A text.
    Text(String),
    /// One or two.
    List(Vec<String>),
}

/// Texts to classify.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct PredictRequest {
    /// A text, a pair, or a list of lists of one or two texts.
    pub inputs: PredictInputs,
    /// Only false.
    pub raw_scores: Option<bool>,
    /// Cut texts that are too long.
    pub truncate: Option<bool>,
    /// What the answer is to be opened to; it is then `{"output", "inspect"}`.
    pub inspect: Option<Inspect>,
}

/// Texts to sort by how well they answer a query.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct RerankRequest {
    /// The query.
    pub query: String,
    /// The texts.
    pub texts: Vec<String>,
    /// The logits of a cross-encoder instead of its scores.
    pub raw_scores: Option<bool>,
    /// Put the texts into the answer.
    pub return_text: Option<bool>,
    /// Cut pairs that are too long; a cross-encoder always does.
    pub truncate: Option<bool>,
    /// What the answer is to be opened to; it is then `{"output", "inspect"}`.
    pub inspect: Option<Inspect>,
}

/// A text's place.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Rank {
    /// Its number in the request.
    pub index: usize,
    /// Its score.
    pub score: f32,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A text and others to compare it with.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct SimilarityInputs {
    /// The text.
    pub source_sentence: String,
    /// The others.
    pub sentences: Vec<String>,
}

/// Texts to compare.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct SimilarityRequest {
    /// The texts.
    pub inputs: SimilarityInputs,
    /// Options.
    pub parameters: Option<SimilarityParameters>,
    /// What the answer is to be opened to; it is then `{"output", "inspect"}`.
    pub inspect: Option<Inspect>,
}

/// Options of a comparison.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub struct SimilarityParameters {
    /// Cut texts that are too long.
    pub truncate: Option<bool>,
    /// The prompt of the model's folder that stands before each text.
    pub prompt_name: Option<String>,
}

/// What a model is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Info {
    /// Its name.
    pub model_id: String,
    /// What the bits of its answers depend on.
    pub model_sha: String,
    /// The type of its numbers.
    pub model_dtype: &'static str,
    /// What it does.
    pub model_type: ModelType,
    /// Tokens of a text.
    pub max_input_length: usize,
    /// Texts of a request.
    pub max_client_batch_size: usize,
    /// Tokens in the queue.
    pub max_batch_tokens: usize,
    /// Connections at once.
    pub max_concurrent_requests: usize,
    /// Texts of a batch: bounded by tokens alone.
    pub max_batch_requests: Option<usize>,
    /// Threads that tokenize: those of the event loop.
    pub tokenization_workers: Option<usize>,
    /// The server's version.
    pub version: &'static str,
    /// The commit it was built from: not known.
    pub sha: Option<&'static str>,
    /// The container it runs in: not known.
    pub docker_label: Option<&'static str>,
}

/// The names of labels.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct LabelNames {
    /// By number.
    pub id2label: BTreeMap<String, String>,
    /// Numbers by name.
    pub label2id: BTreeMap<String, usize>,
}

impl LabelNames {
    fn new(labels: &[String]) -> Self {
        let named = || labels.iter().cloned().enumerate();
        Self {
            id2label: named().map(|(i, label)| (i.to_string(), label)).collect(),
            label2id: named().map(|(i, label)| (label, i)).collect(),
        }
    }
}

/// What a model does.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelType {
    /// Embeddings.
    Embedding {
        /// How token vectors become one: `mean` or `cls`.
        pooling: &'static str,
    },
    /// Labels.
    Classifier(LabelNames),
    /// Relevance of texts to a query.
    Reranker(LabelNames),
    /// Something that text-embeddings-inference does not serve.
    Other {
        /// In the words of Hugging Face's pipelines.
        task: &'static str,
    },
}

fn long_text(truncate: Option<bool>) -> LongText {
    if truncate == Some(true) { LongText::Truncate } else { LongText::Error }
}

/// Tokenizes a text for an embedding.
/// # Errors
/// A [`Problem`] with the text.
pub fn tokenize(
    served: &ServedModel,
    text: &str,
    prompt_name: Option<&str>,
    truncate: Option<bool>,
) -> Result<limpid::data::batch::EncodedText, Problem> {
    let embedder = embedder(served).expect("the handler chose an encoder");
    Ok(embedder.tokenize(text, prompt_name, long_text(truncate))?)
}

/// Embeds texts: a list of numbers each.
#[utoipa::path(post, path = "/embed", tag = "text-embeddings-inference",
    request_body = EmbedRequest, responses((status = 200, body = Vec<Vec<f32>>)))]
pub async fn embed(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: EmbedRequest = app.payload(request).await?.json()?;
    let model = app.model(caller, None, embeds, "produce embeddings")?;
    let dimensions = check_dimensions(app.models.get(model), request.dimensions)?;
    let normalization = match request.normalize {
        Some(false) => Normalization::None,
        _ => Normalization::UnitLength,
    };
    let inspect = check_inspect(&app, model, &request.inspect)?;
    let (texts, options) = request.texts()?;
    let passed = passes::run(&app, caller, model, texts, move |served, text: String| {
        let encoded = tokenize(served, &text, options.0.as_deref(), options.1)?;
        Ok(Pass::Embed(encoded, normalization))
    });
    let passed = passed.await?;
    let vectors = vectors(passed.outputs)?.into_iter();
    let vectors: Vec<Vec<f32>> = vectors.map(|vector| shortened(vector, dimensions)).collect();
    Ok(inspect::answer(&app, caller, model, inspect, (&vectors, passed.read)).await?)
}

/// What is asked for, if the model has it.
/// # Errors
/// A [`Problem`] that names what it has not.
pub fn check_inspect(
    app: &App,
    model: usize,
    inspect: &Option<Inspect>,
) -> Result<Option<Inspect>, Problem> {
    if let Some(inspect) = inspect {
        inspect.check(app.models.get(model))?;
    }
    Ok(inspect.clone())
}

impl EmbedRequest {
    #[allow(clippy::type_complexity)]
    fn texts(self) -> Result<(Vec<String>, (Option<String>, Option<bool>)), Problem> {
        super::sampling::neutral(
            "truncation_direction",
            self.truncation_direction != Some(TruncationDirection::Left),
        )?;
        Ok((self.inputs.texts("inputs")?, (self.prompt_name, self.truncate)))
    }
}

/// The embeddings among some answers.
/// # Errors
/// A [`Problem`] if an answer is something else.
pub fn vectors(outputs: Vec<PassOutput>) -> Result<Vec<Vec<f32>>, Problem> {
    let vector = |output| match output {
        PassOutput::Vector(vector) => Ok(vector),
        _ => Err(mixed_up()),
    };
    outputs.into_iter().map(vector).collect()
}

/// The hidden state of each token of texts.
#[utoipa::path(post, path = "/embed_all", tag = "text-embeddings-inference",
    request_body = EmbedRequest, responses((status = 200, body = Vec<Vec<Vec<f32>>>)))]
pub async fn embed_all(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: EmbedRequest = app.payload(request).await?.json()?;
    let model = app.model(caller, None, embeds, "produce embeddings")?;
    let inspect = check_inspect(&app, model, &request.inspect)?;
    let (texts, options) = request.texts()?;
    let numbers = AtomicUsize::new(0);
    let passed = passes::run(&app, caller, model, texts, move |served, text: String| {
        let encoded = tokenize(served, &text, options.0.as_deref(), options.1)?;
        let width = embedder(served).map_or(0, |embedder| embedder.dimension());
        let own = encoded.0.len() * width;
        if numbers.fetch_add(own, Ordering::Relaxed) + own > MAX_NUMBERS {
            let message = format!("hidden states of more than {MAX_NUMBERS} numbers: send fewer");
            return Err(Problem::invalid(message).with_param("inputs"));
        }
        Ok(Pass::HiddenStates(encoded))
    });
    let states = |output| match output {
        PassOutput::Vectors(vectors) => Ok(vectors),
        _ => Err(mixed_up()),
    };
    let passed = passed.await?;
    let states = passed.outputs.into_iter().map(states).collect::<Result<Vec<_>, _>>()?;
    Ok(inspect::answer(&app, caller, model, inspect, (&states, passed.read)).await?)
}

/// Labels of texts or pairs: all of them, the most likely first.
#[utoipa::path(post, path = "/predict", tag = "text-embeddings-inference",
    request_body = PredictRequest, responses((status = 200, body = Vec<Prediction>)))]
pub async fn predict(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: PredictRequest = app.payload(request).await?.json()?;
    super::sampling::neutral("raw_scores", request.raw_scores != Some(true))?;
    let model = app.model(caller, None, classifies, "classify")?;
    let inspect = check_inspect(&app, model, &request.inspect)?;
    let (texts, alone) = request.inputs.pairs()?;
    let (mut found, read) = classify(&app, caller, model, texts, request.truncate).await?;
    Ok(match alone {
        true => {
            let only = found.swap_remove(0);
            inspect::answer(&app, caller, model, inspect, (&only, read)).await?
        }
        false => inspect::answer(&app, caller, model, inspect, (&found, read)).await?,
    })
}

type Pairs = Vec<(String, Option<String>)>;

impl PredictInputs {
    /// The texts or pairs, and whether it is one that stands alone.
    fn pairs(self) -> Result<(Pairs, bool), Problem> {
        let texts = match self {
            Self::Text(text) => return Ok((vec![(text, None)], true)),
            Self::Texts(texts) => texts,
        };
        check_count(texts.len(), "inputs")?;
        // Two texts side by side are a pair; a batch is a list of lists.
        if let [TextOrPair::Text(first), TextOrPair::Text(second)] = &texts[..] {
            return Ok((vec![(first.clone(), Some(second.clone()))], true));
        }
        let pair = |text| match text {
            TextOrPair::Text(text) => Ok((text, None)),
            TextOrPair::List(list) => {
                let mut list = list.into_iter();
                match (list.next(), list.next(), list.next()) {
                    (Some(first), second, None) => Ok((first, second)),
                    _ => Err(Problem::invalid("inputs: expected lists of one or two texts")),
                }
            }
        };
        Ok((texts.into_iter().map(pair).collect::<Result<_, _>>()?, false))
    }
}

/// All labels of texts or pairs, the most likely first.
/// # Errors
/// A [`Problem`] with one of the texts.
pub async fn classify(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    texts: Pairs,
    truncate: Option<bool>,
) -> Result<(Vec<Vec<Prediction>>, Read), Problem> {
    let tokenize =
        move |served: &ServedModel, (text, second): (String, Option<String>)| -> Tokenized {
            let classifier = classifier(served).expect("the handler chose a classifier");
            let encoded = classifier.tokenize(&text, second.as_deref(), long_text(truncate))?;
            Ok(Pass::Classify(encoded))
        };
    let passed = passes::run(app, caller, model, texts, tokenize).await?;
    let prediction = |LabelScore { label, score }: LabelScore| Prediction { label, score };
    let labels = |output| match output {
        PassOutput::Labels(labels) => Ok(labels.into_iter().map(prediction).collect()),
        _ => Err(mixed_up()),
    };
    let found = passed.outputs.into_iter().map(labels).collect::<Result<_, _>>()?;
    Ok((found, passed.read))
}

/// Sorts texts by their relevance to a query: by a cross-encoder, else by the first label of a
/// classifier of pairs, else by cosine similarity.
#[utoipa::path(post, path = "/rerank", tag = "text-embeddings-inference",
    request_body = RerankRequest, responses((status = 200, body = Vec<Rank>)))]
pub async fn rerank(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: RerankRequest = app.payload(request).await?.json()?;
    check_count(request.texts.len(), "texts")?;
    let crosses = |model: &ServedModel| reranker(model).is_some();
    let reranks = |model: &ServedModel| classifies(model) || embeds(model);
    let model = match caller.model.is_none() && app.models.iter().any(crosses) {
        true => app.model(caller, None, crosses, "rerank")?,
        false => app.model(caller, None, reranks, "rerank")?,
    };
    let served = app.models.get(model);
    let inspect = check_inspect(&app, model, &request.inspect)?;
    let raw = request.raw_scores == Some(true);
    super::sampling::neutral("raw_scores", !raw || crosses(served))?;
    let (scores, read) = if crosses(served) {
        relevance(&app, caller, model, &request, raw).await?
    } else if let Some(classifier) = classifier(served) {
        let first = classifier.labels().first().cloned().unwrap_or_default();
        let pair = |text: &String| (request.query.clone(), Some(text.clone()));
        let pairs = request.texts.iter().map(pair).collect();
        let (found, read) = classify(&app, caller, model, pairs, request.truncate).await?;
        let score = |labels: Vec<Prediction>| {
            labels.iter().find(|label| label.label == first).map_or(0.0, |label| label.score)
        };
        (found.into_iter().map(score).collect(), read)
    } else {
        let (query, texts) = (request.query.clone(), request.texts.clone());
        similarities(&app, caller, model, query, texts, (None, request.truncate)).await?
    };
    let text = |i: usize| (request.return_text == Some(true)).then(|| request.texts[i].clone());
    let mut ranks: Vec<Rank> = scores
        .into_iter()
        .enumerate()
        .map(|(index, score)| Rank { index, score, text: text(index) })
        .collect();
    ranks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    Ok(inspect::answer(&app, caller, model, inspect, (&ranks, read)).await?)
}

/// The relevance of texts to a query, by a cross-encoder.
async fn relevance(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    request: &RerankRequest,
    raw: bool,
) -> Result<(Vec<f32>, Read), Problem> {
    let query = request.query.clone();
    let tokenize = move |served: &ServedModel, text: String| -> Tokenized {
        let reranker = reranker(served).expect("the handler chose a cross-encoder");
        Ok(Pass::Rerank(reranker.tokenize(0, &query, &text)?))
    };
    let passed = passes::run(app, caller, model, request.texts.clone(), tokenize).await?;
    let score = |output| match output {
        PassOutput::Relevance(found) => Ok(if raw { found.logit } else { found.score }),
        _ => Err(mixed_up()),
    };
    let scores = passed.outputs.into_iter().map(score).collect::<Result<_, _>>()?;
    Ok((scores, passed.read))
}

/// Cosine similarities of a text with others.
/// # Errors
/// A [`Problem`] with one of the texts.
pub async fn similarities(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    source: String,
    sentences: Vec<String>,
    (prompt_name, truncate): (Option<String>, Option<bool>),
) -> Result<(Vec<f32>, Read), Problem> {
    check_count(sentences.len(), "sentences")?;
    let texts: Vec<String> = [source].into_iter().chain(sentences).collect();
    let passed = passes::run(app, caller, model, texts, move |served, text: String| {
        let encoded = tokenize(served, &text, prompt_name.as_deref(), truncate)?;
        Ok(Pass::Embed(encoded, Normalization::UnitLength))
    });
    let passed = passed.await?;
    let vectors = vectors(passed.outputs)?;
    let (source, sentences) = vectors.split_first().expect("the source is the first");
    let scores = sentences.iter().map(|vector| cosine(source, vector) as f32).collect();
    Ok((scores, passed.read))
}

/// Cosine similarities of a text with others.
#[utoipa::path(post, path = "/similarity", tag = "text-embeddings-inference",
    request_body = SimilarityRequest, responses((status = 200, body = Vec<f32>)))]
pub async fn similarity(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: SimilarityRequest = app.payload(request).await?.json()?;
    let model = app.model(caller, None, embeds, "produce embeddings")?;
    let inspect = check_inspect(&app, model, &request.inspect)?;
    let SimilarityInputs { source_sentence, sentences } = request.inputs;
    let options = request.parameters.unwrap_or_default();
    let options = (options.prompt_name, options.truncate);
    let found = similarities(&app, caller, model, source_sentence, sentences, options).await?;
    Ok(inspect::answer(&app, caller, model, inspect, (&found.0, found.1)).await?)
}

/// What a model is.
#[utoipa::path(get, path = "/info", tag = "text-embeddings-inference",
    responses((status = 200, body = Info)))]
pub async fn info(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Response<Body>, TeiProblem> {
    // Its clients ask about the model that embeds or classifies; else about the first.
    let encodes = |model: &ServedModel| embeds(model) || classifies(model);
    let first = app.models.iter().position(encodes).unwrap_or(0);
    let model = app.models.get(caller.model.unwrap_or(first));
    let model_type = match (classifier(model), embedder(model)) {
        (Some(classifier), _) => {
            let labels = LabelNames::new(classifier.labels());
            match reranker(model) {
                Some(_) => ModelType::Reranker(labels),
                None => ModelType::Classifier(labels),
            }
        }
        (None, Some(embedder)) => ModelType::Embedding {
            pooling: match embedder.pooling() {
                Pooling::Mean => "mean",
                Pooling::Cls => "cls",
            },
        },
        (None, None) => ModelType::Other { task: model.task().name() },
    };
    Ok(reply(&Info {
        model_id: model.name.clone(),
        model_sha: model.fingerprint.clone(),
        model_dtype: "float32",
        model_type,
        max_input_length: model.longest,
        max_client_batch_size: super::inputs::MAX_TEXTS,
        max_batch_tokens: app.settings.limits.queue_tokens,
        max_concurrent_requests: app.settings.connections,
        max_batch_requests: None,
        tokenization_workers: None,
        version: env!("CARGO_PKG_VERSION"),
        sha: None,
        docker_label: None,
    }))
}
