//! The routes: OpenAI's, text-embeddings-inference's, LibreTranslate's, Hugging Face's and those of
//! operations. All of them again under `/models/{id}/…`, where the path names the model.

mod chat;
mod completions;
mod docs;
mod embeddings;
mod generation;
mod hugging_face;
mod inputs;
mod inspect;
mod libre_translate;
mod logprobs;
mod models;
mod operations;
mod passes;
mod sampling;
mod sse;
mod tasks;
mod tei;
mod tokens;

use crate::engine::{Engine, Origin};
use crate::http::{Access, Dialect, Payload, Problem, ProblemKind, Settings, read};
use crate::metrics::Metrics;
use crate::models::{Models, ServedModel};
use axum::Router;
use axum::body::Body;
use axum::extract::MatchedPath;
use axum::http::{HeaderValue, Request, Response, Uri};
use axum::routing::{get, post};
use limpid::hash::hash_bytes;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tower::ServiceExt;

/// What all handlers share.
pub struct App {
    pub(crate) models: Arc<Models>,
    pub(crate) engine: Engine,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) settings: Settings,
    draining: AtomicBool,
    next_request: AtomicU64,
}

/// What is known of a request before its handler runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// The model that the path names.
    model: Option<usize>,
    /// A hash of its key or address.
    client: u64,
    /// Its number, in the log and in the header `x-request-id`.
    id: u64,
}

impl App {
    pub(crate) fn new(
        models: Arc<Models>,
        engine: Engine,
        metrics: Arc<Metrics>,
        settings: Settings,
    ) -> Self {
        let (draining, next_request) = (AtomicBool::new(false), AtomicU64::new(1));
        Self { models, engine, metrics, settings, draining, next_request }
    }

    /// Refuses new work from here on.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.engine.drain();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Reads the body of a request.
    async fn payload(&self, request: Request<Body>) -> Result<Payload, Problem> {
        read(request, self.settings.body_limit, self.settings.read_timeout).await
    }

    /// The model of a request: that of the path, else the named one, else the first that suits.
    fn model(
        &self,
        caller: Caller,
        named: Option<&str>,
        suits: impl Fn(&ServedModel) -> bool,
        task: &str,
    ) -> Result<usize, Problem> {
        let index = match (caller.model, named.filter(|name| !name.is_empty())) {
            (Some(index), _) => index,
            (None, Some(name)) => self.models.find(name).ok_or_else(|| self.unknown(name))?,
            (None, None) => {
                let found = self.models.iter().position(&suits);
                found.ok_or_else(|| {
                    let message = format!("no model of this server can {task}");
                    Problem::new(ProblemKind::WrongModel, message).with_param("model")
                })?
            }
        };
        let model = self.models.get(index);
        match suits(model) {
            true => Ok(index),
            false => {
                let able: Vec<&str> = self
                    .models
                    .iter()
                    .filter(|model| suits(model))
                    .map(|model| model.name.as_str())
                    .collect();
                let who = match able.is_empty() {
                    true => "no model of this server can".to_string(),
                    false => format!("these can: {}", able.join(", ")),
                };
                let (name, own) = (&model.name, model.task().name());
                let message = format!("{name} is a model for {own} and cannot {task}; {who}");
                Err(Problem::new(ProblemKind::WrongModel, message).with_param("model"))
            }
        }
    }

    /// The client with this key, which was accepted. Where nobody needs a key, keys tell nothing: a
    /// client could be another one with each request.
    fn client_of(&self, key: &str) -> Option<u64> {
        (!self.settings.access.keys.is_empty()).then(|| hash_bytes(key.as_bytes()))
    }

    fn unknown(&self, name: &str) -> Problem {
        let names: Vec<&str> = self.models.iter().map(|model| model.name.as_str()).collect();
        let message = format!("no model {name:?}; this server has {}", names.join(", "));
        Problem::new(ProblemKind::ModelNotFound, message).with_param("model")
    }

    fn origin(&self, caller: Caller, model: usize) -> Origin {
        Origin { model, client: caller.client, timeout: self.settings.request_timeout }
    }
}

/// The routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/v1/completions", post(completions::create))
        .route("/v1/chat/completions", post(chat::create))
        .route("/v1/embeddings", post(embeddings::create))
        .route("/embed", post(tei::embed))
        .route("/embed_all", post(tei::embed_all))
        .route("/rerank", post(tei::rerank))
        .route("/predict", post(tei::predict))
        .route("/similarity", post(tei::similarity))
        .route("/tokenize", post(tokens::tokenize))
        .route("/decode", post(tokens::decode))
        .route("/info", get(tei::info))
        .route("/translate", post(libre_translate::translate))
        .route("/languages", get(libre_translate::languages))
        .route("/detect", post(libre_translate::detect))
        .route("/", post(hugging_face::infer).get(docs::page))
        .route("/pipeline/{task}", post(hugging_face::pipeline))
        .route("/health", get(operations::health))
        .route("/ready", get(operations::ready))
        .route("/metrics", get(operations::metrics))
        .route("/openapi.json", get(docs::openapi))
        .route("/docs", get(docs::page))
        .route_layer(axum::middleware::from_fn(name_route))
        .method_not_allowed_fallback(operations::method_not_allowed)
        .fallback(operations::not_found)
        .with_state(app)
}

/// Answers one request: access, model of the path, route, metrics, log.
pub(crate) async fn answer(
    app: &Arc<App>,
    router: Router,
    mut request: Request<Body>,
    peer: Option<IpAddr>,
) -> Response<Body> {
    let id = app.next_request.fetch_add(1, Ordering::Relaxed);
    let method = request.method().clone();
    let mut ended = Ended::new(app);
    let prepared = prepare(app, &mut request, peer, id);
    let dialect = Dialect::of(request.uri().path());
    let mut response = match prepared {
        Err(problem) => problem.respond(dialect),
        Ok(()) => router.oneshot(request).await.unwrap_or_else(|never| match never {}),
    };
    let route = response.extensions_mut().remove::<Route>().map_or("none".into(), |route| route.0);
    let headers = response.headers_mut();
    headers.insert("x-request-id", id.into());
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    let status = response.status().as_u16();
    let milliseconds = ended.begun.elapsed().as_secs_f64() * 1e3;
    tracing::info!(request = id, %method, route, status, milliseconds, "answered");
    ended.with(&route, &format!("{}xx", status / 100));
    response
}

/// Counts a request once: by its status, or as cancelled if its client left before the answer.
struct Ended<'a> {
    app: &'a App,
    begun: Instant,
    counted: bool,
}

impl<'a> Ended<'a> {
    fn new(app: &'a App) -> Self {
        Self { app, begun: Instant::now(), counted: false }
    }

    fn with(&mut self, route: &str, outcome: &str) {
        self.app.metrics.request(route, outcome, self.begun.elapsed());
        self.counted = true;
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if !self.counted {
            self.with("none", "cancelled");
        }
    }
}

/// The route that answered, as it is declared: for the log and the metrics.
#[derive(Clone)]
struct Route(String);

async fn name_route(request: Request<Body>, next: axum::middleware::Next) -> Response<Body> {
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_string());
    let mut response = next.run(request).await;
    if let Some(path) = matched {
        response.extensions_mut().insert(Route(path));
    }
    response
}

/// Checks host and key, and takes the model out of the path.
fn prepare(
    app: &App,
    request: &mut Request<Body>,
    peer: Option<IpAddr>,
    id: u64,
) -> Result<(), Problem> {
    let access = &app.settings.access;
    access.check_host(request.uri(), request.headers())?;
    let model = model_of_path(app, request)?;
    let key = Access::key_of(request.headers());
    let path = request.uri().path();
    // LibreTranslate's clients send their key in the body: that handler checks it.
    let by_body = ["/translate", "/detect", "/languages"].contains(&path) && key.is_none();
    if !["/health", "/ready"].contains(&path) && !by_body {
        access.check_key(key)?;
    }
    let client = match (key.and_then(|key| app.client_of(key)), peer) {
        (Some(client), _) => client,
        (None, Some(IpAddr::V4(address))) => hash_bytes(&address.octets()),
        (None, Some(IpAddr::V6(address))) => hash_bytes(&address.octets()),
        (None, None) => 0,
    };
    request.extensions_mut().insert(Caller { model, client, id });
    Ok(())
}

/// `/models/{id}/embed` becomes `/embed`: names are looked up in a table, never in the file system.
fn model_of_path(app: &App, request: &mut Request<Body>) -> Result<Option<usize>, Problem> {
    let path = request.uri().path().to_string();
    let Some(rest) = path.strip_prefix("/models/") else { return Ok(None) };
    let decoded = percent_decoded(rest);
    let matches = |model: &ServedModel| {
        let rest = decoded.strip_prefix(model.name.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_string())
    };
    let found = app.models.iter().enumerate().filter_map(|(i, model)| Some((i, matches(model)?)));
    // The longest name, if one is the beginning of another.
    let Some((index, rest)) = found.min_by_key(|(_, rest)| rest.len()) else {
        return Err(app.unknown(decoded.split('/').next().unwrap_or("")));
    };
    let rest = if rest.is_empty() { "/" } else { &rest };
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let uri = format!("{rest}{query}").parse::<Uri>();
    let missing = |_| Problem::new(ProblemKind::NotFound, format!("there is no route {rest}"));
    *request.uri_mut() = uri.map_err(missing)?;
    Ok(Some(index))
}

/// A path with its `%2F` decoded; what is not UTF-8 then matches no model.
fn percent_decoded(path: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        match (first, tail.get(..2).and_then(hex)) {
            (b'%', Some(byte)) => (bytes.push(byte), rest = &tail[2..]).1,
            _ => (bytes.push(*first), rest = tail).1,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A value as the JSON of a successful answer.
fn reply(value: &impl serde::Serialize) -> Response<Body> {
    let json = serde_json::to_vec(value).expect("our own types are JSON");
    let mut response = Response::new(Body::from(json));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(axum::http::header::CONTENT_TYPE, json);
    response
}

/// Now, in seconds since 1970.
fn unix_seconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
