//! The accept loop: header timeout, a bound on connections, draining.

use super::access::Access;
use super::loading;
use super::stall::StallLimit;
use crate::api::{self, App};
use crate::engine::Engine;
use crate::error::ServeError;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::scheduler::Limits;
use axum::body::Body;
use axum::http::{Request, Response};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::Future;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or address, and a port; 0 for any free one.
    Tcp(String, u16),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it listens.
    pub address: Address,
    /// Who may ask.
    pub access: Access,
    /// Serve other machines without a key.
    pub open: bool,
    /// Bounds of the scheduler.
    pub limits: Limits,
    /// Bytes of keys and values of beginnings of prompts, for each model.
    pub prefix_cache: u64,
    /// Bytes of a body.
    pub body_limit: usize,
    /// Connections at once.
    pub connections: usize,
    /// How long a head or a body may take to arrive.
    pub read_timeout: Duration,
    /// How long a client may take nothing of its answer.
    pub write_timeout: Duration,
    /// How long a request may take.
    pub request_timeout: Duration,
    /// How long running requests have to finish after a signal to stop.
    pub drain_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: Address::Tcp("127.0.0.1".into(), 8000),
            access: Access::default(),
            open: false,
            limits: Limits {
                queue_tokens: 65_536,
                memory: 1 << 30,
                running: 64,
                step: Duration::from_millis(50),
            },
            prefix_cache: 128 << 20,
            body_limit: 2 << 20,
            connections: 1_024,
            read_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(300),
            drain_timeout: Duration::from_secs(30),
        }
    }
}

/// A socket that accepts connections.
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listener: Listener,
    engine: std::thread::JoinHandle<()>,
    address: String,
}

/// Header bytes of a request.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// Headers of a request.
const MAX_HEADERS: usize = 100;

impl Server {
    /// Listens, loads the models, and starts the engine. To be called in a runtime of tokio. While
    /// `load` runs, in a thread of its own, requests are told that the server is not ready.
    /// # Errors
    /// If the address cannot be listened on, or is open to other machines without a key; and those
    /// of `load`.
    pub async fn bind(
        mut settings: Settings,
        load: impl FnOnce() -> Result<Models, ServeError> + Send + 'static,
    ) -> Result<Self, ServeError> {
        let (listener, address) = listen(&mut settings).await?;
        let loaded = loading::until(&listener, tokio::task::spawn_blocking(load)).await;
        let models = Arc::new(loaded.map_err(std::io::Error::other)??);
        let metrics = Arc::new(Metrics::new());
        let (engine, thread) = Engine::start(
            Arc::clone(&models),
            settings.limits,
            settings.prefix_cache,
            Arc::clone(&metrics),
        )?;
        let app = Arc::new(App::new(models, engine, metrics, settings));
        Ok(Self { app, listener, engine: thread, address })
    }

    /// Its models.
    pub fn models(&self) -> &Models {
        &self.app.models
    }

    /// Where it listens: `http://127.0.0.1:8000`, or a path.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Answers requests until `stop` is ready; then refuses new ones, and ends when the others are
    /// answered or the drain timeout has passed.
    /// # Errors
    /// None at present: a connection that fails is its own problem.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let Self { app, listener, engine, .. } = self;
        let router = api::router(Arc::clone(&app));
        let permits = Arc::new(Semaphore::new(app.settings.connections));
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
            let (stream, peer) = match stream {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, say: others may close theirs.
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let (app, router, closed) = (Arc::clone(&app), router.clone(), closed.clone());
            let timeouts = Timeouts::of(&app.settings);
            let answer = move |request| {
                let (app, router) = (Arc::clone(&app), router.clone());
                async move { api::answer(&app, router, request, peer).await }
            };
            tokio::spawn(async move {
                connection(stream, closed, timeouts, answer).await;
                drop(permit);
            });
        }
        drop(listener);
        app.drain();
        tracing::info!("draining");
        let deadline = Instant::now() + app.settings.drain_timeout;
        let _ = closing.send(true);
        // Every connection holds a permit.
        let all = permits.acquire_many(app.settings.connections as u32);
        let idle = tokio::time::timeout_at(deadline.into(), all).await.is_ok();
        if app.engine.is_idle() {
            let _ = tokio::task::spawn_blocking(|| engine.join()).await;
        }
        tracing::info!(complete = idle, "stopped");
        Ok(())
    }
}

/// Either kind of connection.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Listener {
    pub(super) async fn accept(&self) -> std::io::Result<(Box<dyn Stream>, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok((Box::new(stream), Some(peer.ip())))
            }
            Self::Unix(listener) => Ok((Box::new(listener.accept().await?.0), None)),
        }
    }
}

/// How long a connection waits for its client.
#[derive(Clone, Copy)]
pub(crate) struct Timeouts {
    /// For the head of a request.
    pub read: Duration,
    /// For the client to read what was answered.
    pub write: Duration,
}

impl Timeouts {
    pub fn of(settings: &Settings) -> Self {
        Self { read: settings.read_timeout, write: settings.write_timeout }
    }
}

/// Answers the requests of one connection, until it ends or `closed` says so.
pub(crate) async fn connection<A: Future<Output = Response<Body>>>(
    stream: Box<dyn Stream>,
    mut closed: watch::Receiver<bool>,
    timeouts: Timeouts,
    answer: impl Fn(Request<Body>) -> A,
) {
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let answered = answer(request.map(Body::new));
        async { Ok::<Response<Body>, Infallible>(answered.await) }
    });
    let stream = StallLimit::new(stream, timeouts.write);
    let connection = builder(timeouts.read);
    let connection = connection.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        _ = closed.wait_for(|closed| *closed) => None,
    };
    let ended = match ended {
        Some(ended) => ended,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Connections whose heads are bounded in bytes and in time.
pub(super) fn builder(read_timeout: Duration) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(read_timeout)
        .max_buf_size(MAX_HEADER_BYTES)
        .max_headers(MAX_HEADERS);
    builder
}

async fn listen(settings: &mut Settings) -> Result<(Listener, String), ServeError> {
    match settings.address.clone() {
        Address::Unix(path) => {
            let address = path.display().to_string();
            remove_stale(&path);
            let bind = |source| ServeError::Bind { address: address.clone(), source };
            let listener = UnixListener::bind(&path).map_err(bind)?;
            Ok((Listener::Unix(listener), address))
        }
        Address::Tcp(host, port) => {
            let find = |source| ServeError::Host { host: host.clone(), source };
            let addresses: Vec<SocketAddr> =
                (host.as_str(), port).to_socket_addrs().map_err(find)?.collect();
            let local = addresses.iter().all(|address| address.ip().is_loopback());
            let address = format!("{host}:{port}");
            if !local && settings.access.keys.is_empty() && !settings.open {
                return Err(ServeError::Unprotected { address });
            }
            if local && settings.access.hosts.is_empty() {
                let names = ["localhost", "127.0.0.1", "::1"].map(String::from);
                settings.access.hosts = names.into_iter().chain([host.clone()]).collect();
            }
            let bind = |source| ServeError::Bind { address, source };
            let listener = TcpListener::bind(&addresses[..]).await.map_err(bind)?;
            let bound = listener.local_addr()?;
            Ok((Listener::Tcp(listener), format!("http://{bound}")))
        }
    }
}

/// A socket that nobody listens on any more is removed; anything else stays and is an error.
fn remove_stale(path: &std::path::Path) {
    use std::os::unix::fs::FileTypeExt;
    let socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if socket && std::os::unix::net::UnixStream::connect(path).is_err() {
        let _ = std::fs::remove_file(path);
    }
}
