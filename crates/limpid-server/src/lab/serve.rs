//! Listening on this machine, and answering.

use super::guard::Hosts;
use super::problem::{Kind, LabProblem};
use super::{LabSettings, State, assets, events, guard, routes};
use crate::error::ServeError;
use crate::http::{Timeouts, connection};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use axum::response::IntoResponse;
use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

/// Connections at once: a browser opens six.
const CONNECTIONS: usize = 64;
/// How long answers may go on after the lab was told to stop.
const DRAIN: Duration = Duration::from_millis(500);
const TIMEOUTS: Timeouts =
    Timeouts { read: Duration::from_secs(10), write: Duration::from_secs(60) };

/// A lab that listens.
pub struct LabServer {
    state: Arc<State>,
    listener: TcpListener,
    port: u16,
}

impl LabServer {
    /// Listens on 127.0.0.1. To be called in a runtime of tokio.
    /// # Errors
    /// If the port is taken.
    pub async fn bind(settings: LabSettings) -> Result<Self, ServeError> {
        let address = (Ipv4Addr::LOCALHOST, settings.port);
        let failed =
            |source| ServeError::Bind { address: format!("127.0.0.1:{}", address.1), source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State::new(settings, Hosts::of_port(port))?);
        Ok(Self { state, listener, port })
    }

    /// What to open in a browser. Who knows it may ask.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#token={}", self.port, self.state.token.text())
    }

    /// Answers requests until `stop` is ready.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { state, listener, .. } = self;
        let watching = tokio::spawn(events::watch(Arc::clone(&state)));
        if state.settings.sources.is_empty() && state.registry.is_empty() {
            // A first visit: the demo's models are trained while the page is looked at.
            let ids = events::DEMO.iter().filter(|model| model.3).map(|model| model.0.to_string());
            if let Err(problem) = events::start_demo(&state, &ids.collect::<Vec<_>>()) {
                tracing::warn!(problem = problem.message, "the demo was not started");
            }
        }
        let router = router(Arc::clone(&state));
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        let (closing, closed) = watch::channel(false);
        tokio::pin!(stop);
        loop {
            let accepted = async {
                let permit = Arc::clone(&permits).acquire_owned().await.expect("never closed");
                (listener.accept().await, permit)
            };
            let (stream, permit) = tokio::select! {
                accepted = accepted => accepted,
                () = &mut stop => break,
            };
            let Ok((stream, _)) = stream else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (state, router, closed) = (Arc::clone(&state), router.clone(), closed.clone());
            let answer = move |request| {
                let (state, router) = (Arc::clone(&state), router.clone());
                async move { answer(&state, router, request).await }
            };
            tokio::spawn(async move {
                connection(Box::new(stream), closed, TIMEOUTS, answer).await;
                drop(permit);
            });
        }
        watching.abort();
        state.processes.stop_all();
        let _ = closing.send(true);
        // Streams of events have no end of their own.
        let all = permits.acquire_many(CONNECTIONS as u32);
        let _ = tokio::time::timeout(DRAIN, all).await;
    }
}

fn router(state: Arc<State>) -> Router {
    routes::api()
        .fallback(assets::file)
        .method_not_allowed_fallback(|| async {
            LabProblem::new(Kind::Method, "this route has another method").into_response()
        })
        .with_state(state)
}

/// Guards a request, answers it, and sets the headers that every answer has.
async fn answer(state: &State, router: Router, request: Request<Body>) -> Response<Body> {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match guard::check(&state.hosts, &state.token, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => router.oneshot(request).await.unwrap_or_else(|never| match never {}),
    };
    let headers = response.headers_mut();
    let mut set = |name: header::HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, assets::POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    if is_api {
        set(header::CACHE_CONTROL, "no-store");
    }
    response
}
