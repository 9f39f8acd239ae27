//! The routes of the lab's API, a file for what each group shows.

mod ablation;
mod attention;
mod beams;
mod explain;
mod generation;
mod learn;
mod lens;
mod masks;
mod models;
mod passes;
mod runs;

pub use explain::explain;
pub use generation::KeptGeneration;
pub use learn::experiment_state;
pub use runs::Ticket;

use super::State;
use super::problem::{Kind, LabProblem};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, Response, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// What a route answers.
type Answer = Result<Response<Body>, LabProblem>;
/// The lab, as routes are given it.
type Shared = axum::extract::State<Arc<State>>;

/// All routes under `/api/`.
pub fn api() -> Router<Arc<State>> {
    Router::new()
        .route("/api/lab", get(models::lab))
        .route("/api/models", get(models::all))
        .route("/api/models/{id}", get(models::one))
        .route("/api/models/{id}/cost", get(models::cost))
        .route("/api/models/{id}/tokens", post(models::tokens))
        .route("/api/models/{id}/tokenize", post(models::tokenize))
        .route("/api/passes", post(passes::create))
        .route("/api/passes/{id}/tensor", get(passes::tensor))
        .route("/api/passes/{id}/thumbnails", get(attention::thumbnails))
        .route("/api/passes/{id}/tile", get(attention::tile))
        .route("/api/passes/{id}/weights", get(attention::weights))
        .route("/api/passes/{id}/roles", get(attention::roles))
        .route("/api/explain", post(explain::create))
        .route("/api/ablate", post(ablation::create))
        .route("/api/ablate/all", post(ablation::all))
        .route("/api/lens", post(lens::create))
        .route("/api/generate", post(generation::create))
        .route("/api/generations/{id}/logits", get(generation::logits))
        .route("/api/truth", post(generation::truth))
        .route("/api/beams", post(beams::create))
        .route("/api/fill-mask", post(masks::create))
        .route("/api/examples", get(learn::examples))
        .route("/api/examples/{name}", post(learn::example))
        .route("/api/experiments", get(learn::experiments))
        .route("/api/experiments/{name}", get(learn::experiment))
        .route("/api/experiments/{name}/pictures/{picture}", get(learn::picture))
        .route("/api/experiments/{name}/run", post(learn::run))
        .route("/api/training", get(runs::options).post(runs::start))
        .route("/api/training/estimate", post(runs::estimate))
        .route("/api/runs", get(runs::all))
        .route("/api/runs/{id}", get(runs::one))
        .route("/api/runs/{id}/stop", post(runs::stop))
        .route("/api/runs/{id}/resume", post(runs::resume))
        .route("/api/runs/{id}/metrics", get(runs::metrics))
        .route("/api/demo", post(runs::demo))
        .route("/api/events", get(runs::events))
        .route("/api/frames", post(runs::frames))
        .route("/frames/{ticket}", get(runs::framed))
        .route("/api/{*rest}", axum::routing::any(missing))
}

async fn missing(uri: axum::http::Uri) -> Response<Body> {
    LabProblem::new(Kind::NotFound, format!("there is no route {}", uri.path())).into_response()
}

/// The value of a JSON body.
async fn body<T: DeserializeOwned>(request: Request<Body>) -> Result<T, LabProblem> {
    let found = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let plain = found.unwrap_or("").split(';').next().unwrap_or("").trim();
    if !plain.eq_ignore_ascii_case("application/json") {
        let message = "expected content-type application/json";
        return Err(LabProblem::new(Kind::MediaType, message));
    }
    let limited = Limited::new(request.into_body(), super::MAX_BODY).collect();
    let read = tokio::time::timeout(BODY_TIMEOUT, limited).await;
    let malformed = |message: String| LabProblem::new(Kind::Malformed, message);
    let bytes = match read {
        Err(_) => return Err(malformed("the body did not arrive in time".into())),
        Ok(Ok(read)) => read.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the body is larger than {} bytes", super::MAX_BODY);
            return Err(LabProblem::new(Kind::TooLarge, message));
        }
        Ok(Err(_)) => return Err(malformed("the body ended early".into())),
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| malformed(format!("the body is not as expected: {error}")))
}

/// The value of a query.
fn query<T: DeserializeOwned>(uri: &axum::http::Uri) -> Result<T, LabProblem> {
    serde_urlencoded::from_str(uri.query().unwrap_or("")).map_err(|error| {
        LabProblem::new(Kind::Malformed, format!("the query is not as expected: {error}"))
    })
}

fn json(value: &impl Serialize) -> Response<Body> {
    let json = serde_json::to_vec(value).expect("our own types are JSON");
    with_type(json.into(), "application/json")
}

fn with_type(bytes: Bytes, media_type: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Numbers with their shape.
fn binary(bytes: Vec<u8>, [rows, columns]: [usize; 2]) -> Response<Body> {
    let mut response = with_type(bytes.into(), "application/octet-stream");
    let shape = HeaderValue::from_str(&format!("{rows},{columns}")).expect("digits");
    response.headers_mut().insert("x-shape", shape);
    response
}

/// f32, little-endian.
fn floats(numbers: impl Iterator<Item = f32>, shape: [usize; 2]) -> Response<Body> {
    binary(numbers.flat_map(f32::to_le_bytes).collect(), shape)
}

/// Refuses answers that are too large.
fn check_numbers(count: usize, limit: usize) -> Result<(), LabProblem> {
    match count > limit {
        true => Err(LabProblem::invalid("rows", format!("{count} numbers, at most {limit}"))),
        false => Ok(()),
    }
}
