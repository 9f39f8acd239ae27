//! `GET /v1/models`: the models of the server.

use super::{App, reply};
use crate::http::OpenAiProblem;
use crate::models::ServedModel;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// A model.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ModelCard {
    /// Its name.
    pub id: String,
    /// `model`
    pub object: &'static str,
    /// When its configuration was written, in seconds since 1970.
    pub created: u64,
    /// `limpid`
    pub owned_by: &'static str,
    /// What it does, in the words of Hugging Face's pipelines.
    pub task: &'static str,
    /// What the bits of its answers depend on.
    pub system_fingerprint: String,
}

/// All models.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ModelList {
    /// `list`
    pub object: &'static str,
    /// The models.
    pub data: Vec<ModelCard>,
}

fn card(model: &ServedModel) -> ModelCard {
    ModelCard {
        id: model.name.clone(),
        object: "model",
        created: model.created,
        owned_by: "limpid",
        task: model.task().name(),
        system_fingerprint: model.fingerprint.clone(),
    }
}

/// Lists the models.
#[utoipa::path(get, path = "/v1/models", tag = "OpenAI",
    responses((status = 200, body = ModelList)))]
pub async fn list(State(app): State<Arc<App>>) -> Response<Body> {
    reply(&ModelList { object: "list", data: app.models.iter().map(card).collect() })
}

/// One model.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "OpenAI",
    params(("id" = String, Path, description = "The model's name")),
    responses((status = 200, body = ModelCard)))]
pub async fn one(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
) -> Result<Response<Body>, OpenAiProblem> {
    let index = app.models.find(&id).ok_or_else(|| app.unknown(&id))?;
    Ok(reply(&card(app.models.get(index))))
}
