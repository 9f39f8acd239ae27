//! Bodies: bounded in bytes and in time, JSON or a form.

use super::problem::{Problem, ProblemKind};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// `application/json`
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
}

/// A body that was read.
pub struct Payload {
    bytes: Bytes,
    media_type: MediaType,
}

/// Reads the body of a request: at most `limit` bytes, within `timeout`.
/// # Errors
/// A [`Problem`] for a body that is too large, too slow, compressed, or of another type.
pub async fn read(
    request: Request<Body>,
    limit: usize,
    timeout: Duration,
) -> Result<Payload, Problem> {
    let media_type = media_type(request.headers())?;
    let body = Limited::new(request.into_body(), limit).collect();
    let body = tokio::time::timeout(timeout, body).await.map_err(|_| {
        let seconds = timeout.as_secs();
        Problem::new(
            ProblemKind::SlowBody,
            format!("the body did not arrive within {seconds} seconds"),
        )
    })?;
    match body {
        Ok(body) => Ok(Payload { bytes: body.to_bytes(), media_type }),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::new(
            ProblemKind::TooLarge,
            format!("the body is larger than {limit} bytes"),
        )),
        Err(_) => Err(Problem::new(ProblemKind::Malformed, "the body ended early")),
    }
}

fn media_type(headers: &HeaderMap) -> Result<MediaType, Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
    let encoding = text(header::CONTENT_ENCODING);
    let refuse = |message: String| Err(Problem::new(ProblemKind::MediaType, message));
    if !["", "identity"].contains(&encoding) {
        return refuse(format!("content-encoding {encoding:?}: only plain bodies are read"));
    }
    let found = text(header::CONTENT_TYPE).split(';').next().unwrap_or("").trim().to_lowercase();
    match found.as_str() {
        "" | "application/json" => Ok(MediaType::Json),
        "application/x-www-form-urlencoded" => Ok(MediaType::Form),
        other => refuse(format!("content-type {other:?}: expected application/json")),
    }
}

impl Payload {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The value of a JSON body.
    /// # Errors
    /// A [`Problem`] that says where the JSON is not what this route reads.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        if self.media_type != MediaType::Json {
            let message = "expected content-type application/json";
            return Err(Problem::new(ProblemKind::MediaType, message));
        }
        let malformed = |error: serde_json::Error| {
            Problem::new(ProblemKind::Malformed, format!("the body is not as expected: {error}"))
        };
        serde_json::from_slice(&self.bytes).map_err(malformed)
    }

    /// The value of a JSON body, or of a form with the same fields.
    /// # Errors
    /// As [`Payload::json`].
    pub fn json_or_form<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        match self.media_type {
            MediaType::Json => self.json(),
            MediaType::Form => serde_urlencoded::from_bytes(&self.bytes).map_err(|error| {
                let message = format!("the form is not as expected: {error}");
                Problem::new(ProblemKind::Malformed, message)
            }),
        }
    }
}
