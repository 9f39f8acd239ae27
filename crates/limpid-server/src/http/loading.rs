//! While the models are loading: `/health` is 200, all else 503, `/ready` among it.

use super::accept::{Listener, builder};
use super::problem::{Dialect, Problem, ProblemKind};
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, header};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Connections at once; later ones wait for the server itself.
const CONNECTIONS: usize = 32;

/// How long a head may take to arrive.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Answers until `loaded` is ready, and gives its value.
pub async fn until<T>(listener: &Listener, loaded: impl Future<Output = T>) -> T {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    tokio::pin!(loaded);
    loop {
        let accepted = async {
            let permit = Arc::clone(&permits).acquire_owned().await.expect("never closed");
            (listener.accept().await, permit)
        };
        let (stream, permit) = tokio::select! {
            value = &mut loaded => return value,
            accepted = accepted => accepted,
        };
        let Ok((stream, _)) = stream else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(async move {
            let service =
                service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
            let mut builder = builder(READ_TIMEOUT);
            // A client asks again over a connection of the server itself.
            let connection =
                builder.keep_alive(false).serve_connection(TokioIo::new(stream), service);
            let _ = connection.await;
            drop(permit);
        });
    }
}

fn answer(request: &Request<hyper::body::Incoming>) -> Response<Body> {
    let path = request.uri().path();
    let mut response = match path {
        "/health" => Response::new(Body::from("ok\n")),
        _ => {
            let problem = Problem::new(ProblemKind::Loading, "the models are loading");
            problem.respond(Dialect::of(path))
        }
    };
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
