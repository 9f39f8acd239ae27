//! Bodies: bounded in bytes and in time, JSON or a form.

use super::problem::{Problem, ProblemKind};
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Request, header};
use http_body_util::BodyExt;
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

/// So many times the limit of a body is read and thrown away, so that its client reads the answer:
/// one that is still sending when the connection closes may lose it.
const THROWN_AWAY: usize = 64;

/// Reads the body of a request: at most `limit` bytes, within `timeout`.
/// # Errors
/// A [`Problem`] for a body that is too large, too slow, compressed, or of another type.
pub async fn read(
    request: Request<Body>,
    limit: usize,
    timeout: Duration,
) -> Result<Payload, Problem> {
    let media_type = media_type(request.headers())?;
    // This client sends nothing before it is told to go on.
    let waits = request.headers().contains_key(header::EXPECT);
    let body = request.into_body();
    let too_large = || {
        let message = format!("the body is larger than {limit} bytes");
        Problem::new(ProblemKind::TooLarge, message)
    };
    if waits && body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(timeout, collect(body, limit)).await {
        Ok(Ok(Some(bytes))) => Ok(Payload { bytes, media_type }),
        Ok(Ok(None)) => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(ProblemKind::Malformed, "the body ended early")),
        Err(_) => {
            let seconds = timeout.as_secs();
            let message = format!("the body did not arrive within {seconds} seconds");
            Err(Problem::new(ProblemKind::SlowBody, message))
        }
    }
}

/// The bytes of a body; none if there are more than `limit`.
async fn collect(mut body: Body, limit: usize) -> Result<Option<Bytes>, axum::Error> {
    let (mut bytes, mut count) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        count += data.len();
        if count <= limit {
            bytes.extend_from_slice(&data);
        } else if count > limit.saturating_mul(THROWN_AWAY) {
            return Ok(None);
        }
    }
    Ok((count <= limit).then(|| bytes.into()))
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
