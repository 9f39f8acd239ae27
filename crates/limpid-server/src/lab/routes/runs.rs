//! Training: what can be trained, runs, their metrics and reports, and the stream of events.

use super::{Answer, Shared, body, json, models, query, with_type};
use crate::lab::events::{self, frame};
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::processes::Purpose;
use crate::lab::types::{DemoRequest, Frame, FrameRequest, RunDetail, Runs, Started, TrainRequest};
use crate::lab::{State, runs, training};
use axum::body::{Body, Bytes};
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderValue, Request, Response, Uri, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::error::RecvError;
use tokio_stream::StreamExt;

/// A comment is sent after so long without an event.
const PING: Duration = Duration::from_secs(15);
/// How long the page of a frame can be fetched.
const TICKET: Duration = Duration::from_secs(60);
/// What the page of a frame may do: show itself, with its own styles and scripts; it is sandboxed.
const FRAME_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    script-src 'unsafe-inline'; sandbox allow-scripts; frame-ancestors 'self'";

pub async fn options(Extract(state): Shared) -> Answer {
    let shared = Arc::clone(&state);
    let found = state.work.light(move || Ok(training::options(&shared))).await?;
    Ok(json(&found))
}

pub async fn estimate(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: TrainRequest = body(request).await?;
    let shared = Arc::clone(&state);
    let found = state.work.light(move || training::estimate(&shared, &request)).await?;
    Ok(json(&found))
}

pub async fn start(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: TrainRequest = body(request).await?;
    let shared = Arc::clone(&state);
    let run = state.work.light(move || training::start(&shared, &request)).await?;
    Ok(json(&Started { run }))
}

pub async fn all(Extract(state): Shared) -> Answer {
    let shared = Arc::clone(&state);
    let runs = state.work.light(move || Ok(runs::all(&shared))).await?;
    Ok(json(&Runs { runs }))
}

pub async fn one(Extract(state): Shared, Path(id): Path<String>) -> Answer {
    let shared = Arc::clone(&state);
    let found = state.work.light(move || {
        let entry = shared.registry.run(&id)?;
        let config = std::fs::read_to_string(entry.path.join("config.toml")).unwrap_or_default();
        let log = shared.processes.log(&Purpose::Run(id));
        Ok(RunDetail { run: runs::describe(&shared, &entry), config, log })
    });
    Ok(json(&found.await?))
}

pub async fn stop(
    Extract(state): Shared,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Answer {
    let Nothing {} = body(request).await?;
    state.registry.run(&id)?;
    state.processes.stop(&Purpose::Run(id.clone()))?;
    Ok(json(&Started { run: id }))
}

pub async fn resume(
    Extract(state): Shared,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Answer {
    let Nothing {} = body(request).await?;
    let shared = Arc::clone(&state);
    let run = state.work.light(move || training::resume(&shared, &id).map(|()| id)).await?;
    Ok(json(&Started { run }))
}

/// A body without fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricsQuery {
    #[serde(default)]
    from: u64,
}

pub async fn metrics(Extract(state): Shared, Path(id): Path<String>, uri: Uri) -> Answer {
    let MetricsQuery { from } = query(&uri)?;
    let entry = state.registry.run(&id)?;
    let found = state.work.light(move || Ok(runs::metrics(&entry, from))).await?;
    Ok(json(&found))
}

pub async fn demo(Extract(state): Shared, request: Request<Body>) -> Answer {
    let DemoRequest { models } = body(request).await?;
    let shared = Arc::clone(&state);
    let found = state.work.light(move || {
        events::start_demo(&shared, &models)?;
        Ok(events::demo(&shared))
    });
    Ok(json(&found.await?))
}

/// What happens while the page is open.
pub async fn events(Extract(state): Shared) -> Answer {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(16);
    let mut news = state.events.subscribe();
    let shared = Arc::clone(&state);
    let hello = state.work.light(move || Ok(models::overview(&shared))).await?;
    tokio::spawn(async move {
        if sender.send(frame("hello", &Hello { lab: &hello }).into()).await.is_err() {
            return;
        }
        loop {
            let next = tokio::select! {
                next = news.recv() => next,
                () = tokio::time::sleep(PING) => Ok(": ping\n\n".into()),
                () = sender.closed() => return,
            };
            let frame: Arc<str> = match next {
                Ok(frame) => frame,
                // The page was too slow for some: it asks for everything again.
                Err(RecvError::Lagged(_)) => "event: lagged\ndata: {}\n\n".into(),
                Err(RecvError::Closed) => return,
            };
            if sender.send(frame.to_string().into()).await.is_err() {
                return;
            }
        }
    });
    let frames = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut response = with_type(Bytes::new(), "text/event-stream");
    *response.body_mut() = Body::from_stream(frames.map(Ok::<Bytes, Infallible>));
    Ok(response)
}

#[derive(serde::Serialize)]
struct Hello<'a> {
    lab: &'a crate::lab::types::Lab,
}

/// A page to show in a sandboxed frame: the address has a ticket, for a frame sends no token.
pub struct Ticket {
    id: String,
    run: String,
    until: Instant,
}

pub async fn frames(Extract(state): Shared, request: Request<Body>) -> Answer {
    let FrameRequest { run } = body(request).await?;
    state.registry.run(&run)?;
    let id = crate::lab::AccessToken::new().text().to_string();
    let url = format!("/frames/{id}");
    let mut tickets = state.tickets.lock().unwrap_or_else(PoisonError::into_inner);
    tickets.retain(|ticket| ticket.until > Instant::now());
    tickets.push(Ticket { id, run, until: Instant::now() + TICKET });
    Ok(json(&Frame { url }))
}

/// The report of a run.
pub async fn framed(Extract(state): Shared, Path(id): Path<String>) -> Response<Body> {
    let found = ticket(&state, &id);
    let shared = Arc::clone(&state);
    let page = match found {
        Some(run) => state.work.light(move || report(&shared, &run)).await,
        None => Err(LabProblem::new(Kind::NotFound, "this page was shown before: open it again")),
    };
    match page {
        Err(problem) => problem.into_response(),
        Ok(page) => {
            let mut response = with_type(page.into(), "text/html; charset=utf-8");
            let policy = HeaderValue::from_static(FRAME_POLICY);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
    }
}

fn ticket(state: &State, id: &str) -> Option<String> {
    let tickets = state.tickets.lock().unwrap_or_else(PoisonError::into_inner);
    let found = tickets.iter().find(|ticket| ticket.id == id && ticket.until > Instant::now());
    found.map(|ticket| ticket.run.clone())
}

fn report(state: &State, run: &str) -> Result<String, LabProblem> {
    let entry = state.registry.run(run)?;
    let run = limpid::report::Run::read(&entry.path)
        .map_err(|error| LabProblem::new(Kind::ModelUnusable, error.to_string()))?;
    Ok(limpid::report::html(&run))
}
