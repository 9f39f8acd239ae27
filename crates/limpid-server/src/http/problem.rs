//! What went wrong with a request, in the words that its client understands.

use crate::engine::JobError;
use crate::scheduler::Refusal;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use limpid::error::{EncodeError, Error, GenerationError, InputProblem};
use serde::Serialize;
use std::time::Duration;

/// Whose error objects a route answers with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `{"error": {"message", "type", "param", "code"}}`
    OpenAi,
    /// text-embeddings-inference and Hugging Face: `{"error", "error_type"}`
    Tei,
    /// `{"error"}`
    LibreTranslate,
}

impl Dialect {
    /// The dialect of a path, for problems found before its handler runs.
    pub fn of(path: &str) -> Self {
        let of_model = path.starts_with("/models/");
        let is = |route: &str| path == route || of_model && path.ends_with(route);
        if ["/translate", "/detect", "/languages"].iter().any(|route| is(route)) {
            Self::LibreTranslate
        } else if path.starts_with("/v1") || of_model && path.contains("/v1/") {
            Self::OpenAi
        } else {
            Self::Tei
        }
    }
}

/// The kinds of problems; each has a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The request cannot work.
    Invalid,
    /// There is nothing in it.
    Empty,
    /// It is not what this route reads.
    Malformed,
    /// No key, or a wrong one.
    Unauthorized,
    /// This host name is not ours.
    WrongHost,
    /// No model of this name.
    ModelNotFound,
    /// The model cannot do this.
    WrongModel,
    /// No such route.
    NotFound,
    /// The route has other methods.
    MethodNotAllowed,
    /// The body is too large, or the request never fits.
    TooLarge,
    /// The body is not JSON or a form.
    MediaType,
    /// The body did not arrive in time.
    SlowBody,
    /// The queue is full.
    Overloaded(Duration),
    /// The server is shutting down.
    Draining,
    /// The models are loading.
    Loading,
    /// The deadline passed.
    Expired,
    /// A bug of ours.
    Internal,
}

/// A problem with a request.
#[derive(Clone, Debug)]
pub struct Problem {
    kind: ProblemKind,
    message: String,
    param: Option<&'static str>,
}

impl Problem {
    /// A problem of some kind.
    pub fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), param: None }
    }

    /// A request that cannot work.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ProblemKind::Invalid, message)
    }

    /// The same about one field.
    pub fn with_param(self, param: &'static str) -> Self {
        Self { param: Some(param), ..self }
    }

    /// The same about input `i` of several.
    pub fn of_input(self, i: usize) -> Self {
        Self { message: format!("input {}: {}", i + 1, self.message), ..self }
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The status in a dialect.
    pub fn status(&self, dialect: Dialect) -> StatusCode {
        use ProblemKind as K;
        let tei = dialect == Dialect::Tei;
        match self.kind {
            K::Invalid if tei => StatusCode::UNPROCESSABLE_ENTITY,
            K::Malformed if tei => StatusCode::UNPROCESSABLE_ENTITY,
            K::Invalid | K::Empty | K::Malformed => StatusCode::BAD_REQUEST,
            K::Unauthorized if dialect == Dialect::LibreTranslate => StatusCode::FORBIDDEN,
            K::Unauthorized => StatusCode::UNAUTHORIZED,
            K::WrongHost => StatusCode::FORBIDDEN,
            K::WrongModel if tei => StatusCode::FAILED_DEPENDENCY,
            K::WrongModel => StatusCode::BAD_REQUEST,
            K::ModelNotFound | K::NotFound => StatusCode::NOT_FOUND,
            K::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            K::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            K::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            K::SlowBody => StatusCode::REQUEST_TIMEOUT,
            K::Overloaded(_) => StatusCode::TOO_MANY_REQUESTS,
            K::Draining | K::Loading => StatusCode::SERVICE_UNAVAILABLE,
            K::Expired => StatusCode::GATEWAY_TIMEOUT,
            K::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The error object of a dialect, as JSON.
    pub fn json(&self, dialect: Dialect) -> String {
        let body = match dialect {
            Dialect::OpenAi => serde_json::to_string(&OpenAiError {
                error: OpenAiErrorBody {
                    message: &self.message,
                    r#type: self.openai_type(),
                    param: self.param,
                    code: self.openai_code(),
                },
            }),
            Dialect::Tei => serde_json::to_string(&TeiError {
                error: &self.message,
                error_type: self.tei_type(),
            }),
            Dialect::LibreTranslate => serde_json::to_string(&LibreError { error: &self.message }),
        };
        body.expect("strings are JSON")
    }

    /// The answer in a dialect.
    pub fn respond(&self, dialect: Dialect) -> Response<Body> {
        let mut response = Response::new(Body::from(self.json(dialect)));
        *response.status_mut() = self.status(dialect);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.kind {
            ProblemKind::Overloaded(after) => {
                // Jittered by up to a quarter, so that refused clients do not return together.
                let jitter = after.as_millis() as u64 * (jitter() % 256) / 1_024;
                let milliseconds = after.as_millis() as u64 + jitter;
                headers.insert(header::RETRY_AFTER, milliseconds.div_ceil(1_000).into());
                headers.insert("retry-after-ms", milliseconds.into());
            }
            ProblemKind::Draining | ProblemKind::Loading => {
                headers.insert(header::RETRY_AFTER, 5_u64.into());
            }
            ProblemKind::Expired | ProblemKind::TooLarge => {
                headers.insert("x-should-retry", HeaderValue::from_static("false"));
            }
            ProblemKind::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }

    fn openai_type(&self) -> &'static str {
        match self.kind {
            ProblemKind::Unauthorized => "authentication_error",
            ProblemKind::Overloaded(_) => "rate_limit_error",
            ProblemKind::Draining
            | ProblemKind::Loading
            | ProblemKind::Expired
            | ProblemKind::Internal => "server_error",
            _ => "invalid_request_error",
        }
    }

    fn openai_code(&self) -> Option<&'static str> {
        match self.kind {
            ProblemKind::ModelNotFound => Some("model_not_found"),
            ProblemKind::Unauthorized => Some("invalid_api_key"),
            ProblemKind::Overloaded(_) => Some("rate_limit_exceeded"),
            ProblemKind::Expired => Some("deadline_exceeded"),
            ProblemKind::TooLarge => Some("request_too_large"),
            _ => None,
        }
    }

    fn tei_type(&self) -> &'static str {
        match self.kind {
            ProblemKind::Empty => "empty",
            ProblemKind::Overloaded(_) => "overloaded",
            ProblemKind::Draining | ProblemKind::Loading => "unhealthy",
            ProblemKind::WrongModel => "backend",
            ProblemKind::Unauthorized | ProblemKind::WrongHost => "unauthorized",
            ProblemKind::ModelNotFound | ProblemKind::NotFound => "not_found",
            ProblemKind::Internal | ProblemKind::Expired => "backend",
            _ => "validation",
        }
    }
}

/// Some bits that differ between calls.
fn jitter() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| u64::from(now.subsec_nanos()) / 997)
}

#[derive(Serialize)]
struct OpenAiError<'a> {
    error: OpenAiErrorBody<'a>,
}

#[derive(Serialize)]
struct OpenAiErrorBody<'a> {
    message: &'a str,
    r#type: &'static str,
    param: Option<&'static str>,
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct TeiError<'a> {
    error: &'a str,
    error_type: &'static str,
}

#[derive(Serialize)]
struct LibreError<'a> {
    error: &'a str,
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal {
            Refusal::Overloaded { retry_after } => ProblemKind::Overloaded(retry_after),
            Refusal::TooManyTokens { .. } | Refusal::TooMuchMemory { .. } => ProblemKind::TooLarge,
            Refusal::Draining => ProblemKind::Draining,
        };
        let message = match refusal {
            Refusal::Overloaded { retry_after } => {
                let seconds = retry_after.as_secs_f64().ceil();
                format!("the queue is full; try again in {seconds} seconds")
            }
            Refusal::TooManyTokens { tokens, limit } => format!(
                "the request reads and generates up to {tokens} tokens, the queue takes {limit}"
            ),
            Refusal::TooMuchMemory { bytes, limit } => {
                format!("the request can need {bytes} bytes of keys and values, of {limit}")
            }
            Refusal::Draining => "the server is shutting down".into(),
        };
        Self::new(kind, message)
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Expired => Self::new(ProblemKind::Expired, error.to_string()),
            JobError::Library(error) => error.into(),
            JobError::KvFormat(_) => Self::invalid(error.to_string()),
            _ => Self::new(ProblemKind::Internal, error.to_string()),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let message = match &error {
            // Requests have one text per job; its number is known where the request is.
            Error::Encode(EncodeError::Input { problem, .. }) => problem.to_string(),
            error => error.to_string(),
        };
        let kind = match &error {
            Error::Encode(EncodeError::Input { problem: InputProblem::Empty, .. })
            | Error::Generation(GenerationError::EmptyPrompt { .. }) => ProblemKind::Empty,
            Error::Generation(GenerationError::NotANumber { .. }) => ProblemKind::Internal,
            Error::Encode(EncodeError::TokenizerMismatch { .. })
            | Error::Generation(_)
            | Error::Encode(_)
            | Error::Chat(_)
            | Error::Tokenizer(_) => ProblemKind::Invalid,
            _ => ProblemKind::Internal,
        };
        Self::new(kind, message)
    }
}

macro_rules! dialect_problem {
    ($($name:ident, $dialect:expr, $doc:literal;)+) => {$(
        #[doc = $doc]
        pub struct $name(pub Problem);

        impl<E: Into<Problem>> From<E> for $name {
            fn from(error: E) -> Self {
                Self(error.into())
            }
        }

        impl IntoResponse for $name {
            fn into_response(self) -> Response<Body> {
                self.0.respond($dialect)
            }
        }
    )+};
}

dialect_problem! {
    OpenAiProblem, Dialect::OpenAi, "A problem, answered as OpenAI does.";
    TeiProblem, Dialect::Tei, "A problem, answered as text-embeddings-inference does.";
    LibreProblem, Dialect::LibreTranslate, "A problem, answered as LibreTranslate does.";
}
