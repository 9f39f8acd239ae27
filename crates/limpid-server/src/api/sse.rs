//! Server-sent events: frames in order, a comment while nothing happens, and an end when the client
//! leaves.

use crate::http::{Dialect, Problem};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use serde::Serialize;
use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::StreamExt;

/// Frames that wait for a slow reader; then its generation waits too.
const FRAMES: usize = 64;
/// A comment is sent after so long without a frame.
const PING: Duration = Duration::from_secs(15);
/// A reader that takes no frame for so long has left.
const STALL: Duration = Duration::from_secs(60);

/// Sends frames to one client.
pub struct Frames {
    sender: mpsc::Sender<Bytes>,
}

/// The client has left.
pub struct Left;

impl Frames {
    /// Sends a value as a frame.
    /// # Errors
    /// [`Left`].
    pub async fn send(&self, value: &impl Serialize) -> Result<(), Left> {
        let json = serde_json::to_string(value).expect("our own types are JSON");
        self.raw(format!("data: {json}\n\n")).await
    }

    /// Sends the end that OpenAI's clients wait for.
    /// # Errors
    /// [`Left`].
    pub async fn done(&self) -> Result<(), Left> {
        self.raw("data: [DONE]\n\n".into()).await
    }

    /// Sends a problem in the middle of a stream.
    /// # Errors
    /// [`Left`].
    pub async fn problem(&self, problem: &Problem, dialect: Dialect) -> Result<(), Left> {
        self.raw(format!("data: {}\n\n", problem.json(dialect))).await
    }

    async fn raw(&self, frame: String) -> Result<(), Left> {
        match self.sender.send_timeout(frame.into(), STALL).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Left),
        }
    }

    /// Waits for `next`, with comments meanwhile.
    /// # Errors
    /// [`Left`].
    pub async fn wait<T>(&self, next: impl Future<Output = T>) -> Result<T, Left> {
        tokio::pin!(next);
        loop {
            tokio::select! {
                value = &mut next => return Ok(value),
                () = self.sender.closed() => return Err(Left),
                () = tokio::time::sleep(PING) => self.raw(": ping\n\n".into()).await?,
            }
        }
    }
}

/// An answer whose frames `write` sends. When the client leaves, what `write` holds is dropped.
pub fn stream<F>(write: impl FnOnce(Frames) -> F) -> Response<Body>
where
    F: Future<Output = Result<(), Left>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(FRAMES);
    let writing = write(Frames { sender });
    tokio::spawn(async move {
        let _ = writing.await;
    });
    let frames = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let mut response = Response::new(Body::from_stream(frames.map(Ok::<Bytes, Infallible>)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
