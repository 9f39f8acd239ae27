//! What went wrong with a request, as the page shows it.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use limpid::error::{EncodeError, Error, GenerationError, InputProblem, InspectError};
use serde::Serialize;

/// Kinds of problems; each has a code and a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The host name is not ours.
    WrongHost,
    /// Another site asks.
    WrongOrigin,
    /// No token, or a wrong one.
    NoToken,
    /// No such route, file, run or ticket.
    NotFound,
    /// The route has another method.
    Method,
    /// The body is too large.
    TooLarge,
    /// The body is not JSON.
    MediaType,
    /// The body is not what the route reads.
    Malformed,
    /// A field cannot work.
    Invalid,
    /// There is nothing in the text.
    Empty,
    /// The text exceeds the context.
    TooLong,
    /// No model of this id.
    NoModel,
    /// The model cannot be used now.
    ModelUnusable,
    /// The model cannot do this.
    WrongModel,
    /// The pass was forgotten.
    PassExpired,
    /// The pass has no such number.
    NoElement,
    /// Nothing to show, and why.
    Unsupported,
    /// Too much is waiting.
    Busy,
    /// A bug of ours.
    Internal,
}

impl Kind {
    fn code(self) -> (&'static str, StatusCode) {
        use StatusCode as S;
        match self {
            Kind::WrongHost => ("wrong_host", S::FORBIDDEN),
            Kind::WrongOrigin => ("wrong_origin", S::FORBIDDEN),
            Kind::NoToken => ("no_token", S::UNAUTHORIZED),
            Kind::NotFound => ("not_found", S::NOT_FOUND),
            Kind::Method => ("method", S::METHOD_NOT_ALLOWED),
            Kind::TooLarge => ("too_large", S::PAYLOAD_TOO_LARGE),
            Kind::MediaType => ("media_type", S::UNSUPPORTED_MEDIA_TYPE),
            Kind::Malformed => ("malformed", S::BAD_REQUEST),
            Kind::Invalid => ("invalid", S::UNPROCESSABLE_ENTITY),
            Kind::Empty => ("empty", S::UNPROCESSABLE_ENTITY),
            Kind::TooLong => ("too_long", S::UNPROCESSABLE_ENTITY),
            Kind::NoModel => ("no_model", S::NOT_FOUND),
            Kind::ModelUnusable => ("model_unusable", S::CONFLICT),
            Kind::WrongModel => ("wrong_model", S::UNPROCESSABLE_ENTITY),
            Kind::PassExpired => ("pass_expired", S::GONE),
            Kind::NoElement => ("no_element", S::NOT_FOUND),
            Kind::Unsupported => ("unsupported", S::UNPROCESSABLE_ENTITY),
            Kind::Busy => ("busy", S::TOO_MANY_REQUESTS),
            Kind::Internal => ("internal", S::INTERNAL_SERVER_ERROR),
        }
    }
}

/// A problem with a request.
#[derive(Clone, Debug)]
pub struct LabProblem {
    /// Which.
    pub kind: Kind,
    /// A sentence for people.
    pub message: String,
    hint: Option<String>,
    field: Option<&'static str>,
}

#[derive(Serialize)]
struct Outer<'a> {
    error: Inner<'a>,
}

#[derive(Serialize)]
struct Inner<'a> {
    code: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'static str>,
}

impl LabProblem {
    /// A problem of some kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, field: None }
    }

    /// A field that cannot work.
    pub fn invalid(field: &'static str, message: impl Into<String>) -> Self {
        Self { field: Some(field), ..Self::new(Kind::Invalid, message) }
    }

    /// A text with more tokens than the model reads.
    pub fn too_long(tokens: usize, max: usize) -> Self {
        let message = format!("the text has {tokens} tokens, the model reads at most {max}");
        Self { field: Some("text"), ..Self::new(Kind::TooLong, message) }.hint("shorten the text")
    }

    /// The same with what to do.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let Self { kind, message, hint, field } = self;
        let (code, _) = kind.code();
        let error = Inner { code, message, hint: hint.as_deref(), field: *field };
        serde_json::to_string(&Outer { error }).expect("strings are JSON")
    }
}

impl IntoResponse for LabProblem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.json()));
        *response.status_mut() = self.kind.code().1;
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

impl From<Error> for LabProblem {
    fn from(error: Error) -> Self {
        match &error {
            Error::Encode(EncodeError::Input { problem, .. }) => match problem {
                InputProblem::TooLong { tokens, max_tokens } => {
                    Self::too_long(*tokens, *max_tokens)
                }
                InputProblem::Empty => Self::new(Kind::Empty, problem.to_string()),
                _ => Self::new(Kind::Invalid, problem.to_string()),
            },
            Error::Generation(GenerationError::PromptTooLong { tokens, context, .. }) => {
                Self::too_long(*tokens, *context)
            }
            Error::Generation(GenerationError::SourceTooLong { tokens, max_tokens, .. }) => {
                Self::too_long(*tokens, *max_tokens)
            }
            Error::Generation(GenerationError::EmptyPrompt { .. }) => {
                Self::new(Kind::Empty, "the text is empty, and this model has no start token")
            }
            Error::Inspect(InspectError::NoElement) => {
                Self::new(Kind::NoElement, error.to_string())
            }
            Error::Inspect(InspectError::NoSite { .. }) => {
                Self::invalid("edits", error.to_string())
            }
            Error::Inspect(_) => Self::new(Kind::Unsupported, error.to_string()),
            Error::Generation(GenerationError::NoAttention) => {
                Self::new(Kind::Unsupported, error.to_string())
            }
            Error::Pipeline(_) => Self::new(Kind::WrongModel, error.to_string()),
            Error::Generation(_)
            | Error::Encode(_)
            | Error::Tokenizer(_)
            | Error::Setting(_)
            | Error::ModelConfig(_)
            | Error::Plan(_) => Self::new(Kind::Invalid, error.to_string()),
            _ => Self::new(Kind::ModelUnusable, error.to_string()),
        }
    }
}
