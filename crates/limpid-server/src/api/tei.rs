//! The routes of text-embeddings-inference.

use super::embeddings::{check_dimensions, shortened};
use super::inputs::{OneOrMany, check_count};
use super::passes::{self, Tokenized, classifier, classifies, embedder, embeds, mixed_up};
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
use std::sync::Arc;
use utoipa::ToSchema;

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
#[serde(untagged)]
pub enum PredictInputs {
    /// A text.
    Text(String),
    /// A pair, or texts.
    Texts(Vec<TextOrPair>),
}

/// A text, or a list of one or two.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged)]
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
}

/// Texts to sort by how well they answer a query.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct RerankRequest {
    /// The query.
    pub query: String,
    /// The texts.
    pub texts: Vec<String>,
    /// Only false.
    pub raw_scores: Option<bool>,
    /// Put the texts into the answer.
    pub return_text: Option<bool>,
    /// Cut pairs that are too long: not supported.
    pub truncate: Option<bool>,
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
    /// The server's version.
    pub version: &'static str,
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
    Classifier {
        /// Their names, by number.
        id2label: std::collections::BTreeMap<String, String>,
    },
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
    let (texts, options) = request.texts()?;
    let passed = passes::run(&app, caller, model, texts, move |served, text: String| {
        let encoded = tokenize(served, &text, options.0.as_deref(), options.1)?;
        Ok(Pass::Embed(encoded, normalization))
    });
    let vectors: Vec<Vec<f32>> = vectors(passed.await?.outputs)?;
    let vectors = vectors.into_iter().map(|vector| shortened(vector, dimensions));
    Ok(reply(&vectors.collect::<Vec<_>>()))
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
    let (texts, options) = request.texts()?;
    let passed = passes::run(&app, caller, model, texts, move |served, text: String| {
        Ok(Pass::HiddenStates(tokenize(served, &text, options.0.as_deref(), options.1)?))
    });
    let states = |output| match output {
        PassOutput::Vectors(vectors) => Ok(vectors),
        _ => Err(mixed_up()),
    };
    let states = passed.await?.outputs.into_iter().map(states).collect::<Result<Vec<_>, _>>()?;
    Ok(reply(&states))
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
    let (texts, alone) = request.inputs.pairs()?;
    let mut found = classify(&app, caller, model, texts, request.truncate).await?;
    Ok(if alone { reply(&found.swap_remove(0)) } else { reply(&found) })
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
) -> Result<Vec<Vec<Prediction>>, Problem> {
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
    passed.outputs.into_iter().map(labels).collect()
}

/// Sorts texts by the first label of a classifier of pairs, or by cosine similarity.
#[utoipa::path(post, path = "/rerank", tag = "text-embeddings-inference",
    request_body = RerankRequest, responses((status = 200, body = Vec<Rank>)))]
pub async fn rerank(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, TeiProblem> {
    let request: RerankRequest = app.payload(request).await?.json()?;
    super::sampling::neutral("raw_scores", request.raw_scores != Some(true))?;
    check_count(request.texts.len(), "texts")?;
    let reranks = |model: &ServedModel| classifies(model) || embeds(model);
    let model = app.model(caller, None, reranks, "rerank")?;
    let scores = match classifier(app.models.get(model)) {
        Some(classifier) => {
            let first = classifier.labels().first().cloned().unwrap_or_default();
            let pair = |text: &String| (request.query.clone(), Some(text.clone()));
            let pairs = request.texts.iter().map(pair).collect();
            let found = classify(&app, caller, model, pairs, request.truncate).await?;
            let score = |labels: Vec<Prediction>| {
                labels.iter().find(|label| label.label == first).map_or(0.0, |label| label.score)
            };
            found.into_iter().map(score).collect()
        }
        None => {
            let (query, texts) = (request.query.clone(), request.texts.clone());
            similarities(&app, caller, model, query, texts, (None, request.truncate)).await?
        }
    };
    let text = |i: usize| (request.return_text == Some(true)).then(|| request.texts[i].clone());
    let mut ranks: Vec<Rank> = scores
        .into_iter()
        .enumerate()
        .map(|(index, score)| Rank { index, score, text: text(index) })
        .collect();
    ranks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    Ok(reply(&ranks))
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
) -> Result<Vec<f32>, Problem> {
    check_count(sentences.len(), "sentences")?;
    let texts: Vec<String> = [source].into_iter().chain(sentences).collect();
    let passed = passes::run(app, caller, model, texts, move |served, text: String| {
        let encoded = tokenize(served, &text, prompt_name.as_deref(), truncate)?;
        Ok(Pass::Embed(encoded, Normalization::UnitLength))
    });
    let vectors = vectors(passed.await?.outputs)?;
    let (source, sentences) = vectors.split_first().expect("the source is the first");
    Ok(sentences.iter().map(|vector| cosine(source, vector) as f32).collect())
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
    let SimilarityInputs { source_sentence, sentences } = request.inputs;
    let options = request.parameters.unwrap_or_default();
    let options = (options.prompt_name, options.truncate);
    Ok(reply(&similarities(&app, caller, model, source_sentence, sentences, options).await?))
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
            let label = |(i, label): (usize, &String)| (i.to_string(), label.clone());
            ModelType::Classifier {
                id2label: classifier.labels().iter().enumerate().map(label).collect(),
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
        version: env!("CARGO_PKG_VERSION"),
    }))
}
