//! Routes for whoever runs the server.

use super::App;
use crate::http::{Dialect, Problem, ProblemKind};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, Uri, header};
use std::sync::Arc;

fn text(status: StatusCode, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Whether the process lives.
#[utoipa::path(get, path = "/health", tag = "Operations", responses((status = 200)))]
pub async fn health() -> Response<Body> {
    text(StatusCode::OK, "ok\n")
}

/// Whether it takes requests: not while it is shutting down.
#[utoipa::path(get, path = "/ready", tag = "Operations",
    responses((status = 200), (status = 503, description = "Shutting down")))]
pub async fn ready(State(app): State<Arc<App>>) -> Response<Body> {
    match app.is_draining() {
        true => text(StatusCode::SERVICE_UNAVAILABLE, "draining\n"),
        false => text(StatusCode::OK, "ready\n"),
    }
}

/// What Prometheus reads.
#[utoipa::path(get, path = "/metrics", tag = "Operations", responses((status = 200)))]
pub async fn metrics(State(app): State<Arc<App>>) -> Response<Body> {
    text(StatusCode::OK, app.metrics.text(app.engine.load()))
}

/// The answer where a route has other methods.
pub async fn method_not_allowed(uri: Uri) -> Response<Body> {
    let message = format!("{} has another method; /docs lists all routes", uri.path());
    Problem::new(ProblemKind::MethodNotAllowed, message).respond(Dialect::of(uri.path()))
}

/// The answer where there is no route.
pub async fn not_found(uri: Uri) -> Response<Body> {
    let message = format!("there is no route {}; /docs lists all of them", uri.path());
    Problem::new(ProblemKind::NotFound, message).respond(Dialect::of(uri.path()))
}
