//! `POST /v1/embeddings`: OpenAI's embeddings.

use super::inputs::{Item, TextOrTokens, check_range};
use super::inspect::{Inspect, Inspection};
use super::passes::{self, embedder, embeds, mixed_up};
use super::{App, Caller, reply};
use crate::engine::{Pass, PassOutput};
use crate::http::{OpenAiProblem, Problem};
use crate::models::ServedModel;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use base64::Engine as _;
use limpid::encode::Normalization;
use limpid::pipeline::LongText;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// How the numbers of an embedding are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EncodingFormat {
    /// A list.
    #[default]
    Float,
    /// f32, little-endian, in base64.
    Base64,
}

/// Texts to embed.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct EmbeddingRequest {
    /// The model's name; without one, the first encoder.
    pub model: Option<String>,
    /// Text, texts, token ids, or lists of token ids.
    pub input: TextOrTokens,
    /// `float` or `base64`.
    pub encoding_format: Option<EncodingFormat>,
    /// Keep so many of the first components, scaled to length 1 again.
    pub dimensions: Option<usize>,
    /// What the answer is to be opened to.
    pub inspect: Option<Inspect>,
}

/// The numbers of an embedding.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Vector {
    /// A list.
    Float(Vec<f32>),
    /// f32, little-endian, in base64.
    Base64(String),
}

/// The embedding of one text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Embedding {
    /// `embedding`
    pub object: &'static str,
    /// Its number.
    pub index: usize,
    /// Its numbers.
    pub embedding: Vector,
}

/// Tokens of a request.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct EmbeddingUsage {
    /// Tokens that were read.
    pub prompt_tokens: usize,
    /// The same.
    pub total_tokens: usize,
}

/// The embeddings of a request.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Embeddings {
    /// `list`
    pub object: &'static str,
    /// One for each text.
    pub data: Vec<Embedding>,
    /// The model's name.
    pub model: String,
    /// Tokens.
    pub usage: EmbeddingUsage,
    /// What was found inside, for each text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect: Option<Vec<Inspection>>,
}

/// Embeds texts.
#[utoipa::path(post, path = "/v1/embeddings", tag = "OpenAI",
    request_body = EmbeddingRequest, responses((status = 200, body = Embeddings)))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, OpenAiProblem> {
    let request: EmbeddingRequest = app.payload(request).await?.json()?;
    let model = app.model(caller, request.model.as_deref(), embeds, "produce embeddings")?;
    let dimensions = check_dimensions(app.models.get(model), request.dimensions)?;
    if let Some(inspect) = &request.inspect {
        inspect.check(app.models.get(model))?;
    }
    let items = request.input.items("input")?;
    let passed = passes::run(&app, caller, model, items, tokenize).await?;
    let format = request.encoding_format.unwrap_or_default();
    let embedding = |(index, output): (usize, PassOutput)| match output {
        PassOutput::Vector(vector) => {
            let embedding = encoded(shortened(vector, dimensions), format);
            Ok(Embedding { object: "embedding", index, embedding })
        }
        _ => Err(mixed_up()),
    };
    let data = passed.outputs.into_iter().enumerate().map(embedding).collect::<Result<_, _>>()?;
    let usage = EmbeddingUsage { prompt_tokens: passed.tokens, total_tokens: passed.tokens };
    let inspect = match request.inspect {
        Some(inspect) => Some(inspect.open_texts(&app, caller, model, passed.read).await?),
        None => None,
    };
    let model = app.models.get(model).name.clone();
    Ok(reply(&Embeddings { object: "list", data, model, usage, inspect }))
}

fn tokenize(served: &ServedModel, item: Item) -> passes::Tokenized {
    let embedder = embedder(served).expect("the handler chose an encoder");
    let text = match item {
        Item::Text(text) => text,
        Item::Tokens(ids) => {
            let tokenizer = embedder.tokenizer();
            if let Some(id) = ids.iter().find(|id| !tokenizer.has_id(**id)) {
                let message = format!(
                    "token {id} is beyond the model's vocabulary of {} tokens: ids of another \
                     tokenizer? Send text (in langchain: check_embedding_ctx_length=False)",
                    tokenizer.vocab_size()
                );
                return Err(Problem::invalid(message).with_param("input"));
            }
            tokenizer.decode(&ids)?
        }
    };
    let encoded = embedder.tokenize(&text, None, LongText::Error)?;
    Ok(Pass::Embed(encoded, Normalization::UnitLength))
}

/// Checks the number of components that is asked for.
/// # Errors
/// A [`Problem`] if the model has fewer.
pub fn check_dimensions(
    served: &ServedModel,
    dimensions: Option<usize>,
) -> Result<Option<usize>, Problem> {
    let all = embedder(served).map_or(0, |embedder| embedder.dimension());
    dimensions.map(|dimensions| check_range("dimensions", dimensions, 1..=all)).transpose()
}

/// The first components of an embedding, scaled to length 1.
pub fn shortened(mut vector: Vec<f32>, dimensions: Option<usize>) -> Vec<f32> {
    if let Some(dimensions) = dimensions {
        vector.truncate(dimensions);
        let norm = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let norm = norm.max(1e-12);
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / norm) as f32);
    }
    vector
}

fn encoded(vector: Vec<f32>, format: EncodingFormat) -> Vector {
    match format {
        EncodingFormat::Float => Vector::Float(vector),
        EncodingFormat::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
            Vector::Base64(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
    }
}
