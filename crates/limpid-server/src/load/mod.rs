//! Load on an HTTP server, ours or another: clients that ask one after another, or requests that
//! arrive at random whether the server keeps up or not; clients that leave, read slowly, or never
//! finish their request. Every answer is counted, and compared with what it should be.

mod client;
mod report;

pub use report::LoadReport;

use client::{Answer, Connection, Patience};
use limpid_tensor::rng::Stream;
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A request, as a line of JSON has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadRequest {
    /// The route.
    pub path: String,
    /// The body.
    pub body: serde_json::Value,
    /// What must stand at a place of the answer.
    pub expect: Option<Expectation>,
}

/// What must stand at a place of an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// The place, as a JSON pointer: `/choices/0/text`.
    pub pointer: String,
    /// The value.
    pub value: serde_json::Value,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// So many clients, each of which sends a request when it has the answer to the last (a closed
    /// loop: it slows down with the server).
    Clients(usize),
    /// At random, so many per second (an open loop: a Poisson process).
    PerSecond(f64),
}

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Host and port.
    pub address: String,
    /// An API key.
    pub key: Option<String>,
    /// Requests, sent in turn.
    pub requests: Vec<LoadRequest>,
    /// When they are sent.
    pub arrivals: Arrivals,
    /// For how long.
    pub duration: Duration,
    /// The fraction of clients that leave before their answer.
    pub leaving: f64,
    /// The fraction of clients that read their answer slowly.
    pub slow: f64,
    /// Connections that send their request a byte at a time (slowloris).
    pub dripping: usize,
    /// Seed of all that is random.
    pub seed: u64,
}

/// The longest that a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// A request as bytes, with what is expected of its answer.
struct Prepared {
    bytes: Vec<u8>,
    expect: Option<Expectation>,
}

impl Load {
    /// Sends the load, and counts. To be called in a runtime of tokio.
    pub async fn run(&self) -> LoadReport {
        let report = Arc::new(Mutex::new(LoadReport::default()));
        let prepared: Arc<Vec<Prepared>> =
            Arc::new(self.requests.iter().map(|request| self.prepare(request)).collect());
        let begun = Instant::now();
        let until = begun + self.duration;
        let drips: Vec<_> = (0..self.dripping)
            .map(|_| tokio::spawn(client::drip(self.address.clone(), until, Arc::clone(&report))))
            .collect();
        match self.arrivals {
            Arrivals::Clients(clients) => self.closed(clients, until, &prepared, &report).await,
            Arrivals::PerSecond(rate) => self.open(rate, until, &prepared, &report).await,
        }
        let elapsed = begun.elapsed();
        for drip in drips {
            let _ = drip.await;
        }
        let mut report = std::mem::take(&mut *lock(&report));
        report.seconds = elapsed.as_secs_f64();
        report
    }

    fn prepare(&self, request: &LoadRequest) -> Prepared {
        let body = request.body.to_string();
        let key = self.key.as_ref().map(|key| format!("authorization: Bearer {key}\r\n"));
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n{}content-length: \
             {}\r\n\r\n",
            request.path,
            self.address,
            key.unwrap_or_default(),
            body.len()
        );
        Prepared {
            bytes: [head.as_bytes(), body.as_bytes()].concat(),
            expect: request.expect.clone(),
        }
    }

    async fn closed(
        &self,
        clients: usize,
        until: Instant,
        prepared: &Arc<Vec<Prepared>>,
        report: &Arc<Mutex<LoadReport>>,
    ) {
        let client = |first: usize| {
            let (prepared, report) = (Arc::clone(prepared), Arc::clone(report));
            let address = self.address.clone();
            async move {
                let mut connection = Connection::new(address);
                for i in (first..).step_by(clients) {
                    if Instant::now() >= until {
                        return;
                    }
                    let request = &prepared[i % prepared.len()];
                    let sent = Instant::now();
                    let answer = connection.ask(&request.bytes, Patience::Waits(PATIENCE)).await;
                    count(&report, request, answer, sent);
                }
            }
        };
        let clients: Vec<_> = (0..clients).map(|first| tokio::spawn(client(first))).collect();
        for client in clients {
            let _ = client.await;
        }
    }

    async fn open(
        &self,
        rate: f64,
        until: Instant,
        prepared: &Arc<Vec<Prepared>>,
        report: &Arc<Mutex<LoadReport>>,
    ) {
        let mut rng = Stream::new(self.seed, 1);
        let mut next = Instant::now();
        let mut running = Vec::new();
        for i in 0.. {
            // Exponential times between arrivals.
            next += Duration::from_secs_f64(-(1.0 - f64::from(rng.uniform())).ln() / rate);
            if next >= until {
                break;
            }
            tokio::time::sleep_until(next.into()).await;
            let patience = match f64::from(rng.uniform()) {
                u if u < self.leaving => {
                    Patience::Leaves(Duration::from_secs_f64(0.3 * f64::from(rng.uniform())))
                }
                u if u < self.leaving + self.slow => Patience::ReadsSlowly(PATIENCE),
                _ => Patience::Waits(PATIENCE),
            };
            let (prepared, report) = (Arc::clone(prepared), Arc::clone(report));
            let address = self.address.clone();
            running.push(tokio::spawn(async move {
                let request = &prepared[i % prepared.len()];
                let sent = Instant::now();
                let answer = Connection::new(address).ask(&request.bytes, patience).await;
                count(&report, request, answer, sent);
            }));
        }
        for request in running {
            let _ = request.await;
        }
    }
}

fn count(report: &Mutex<LoadReport>, request: &Prepared, answer: Answer, sent: Instant) {
    let elapsed = sent.elapsed();
    let right = match (&answer, &request.expect) {
        (Answer::Status(200, body), Some(expect)) => {
            let found: Option<serde_json::Value> = serde_json::from_slice(body).ok();
            found.and_then(|found| Some(same(found.pointer(&expect.pointer)?, &expect.value)))
        }
        _ => Some(true),
    };
    lock(report).count(&answer, elapsed, right == Some(true));
}

/// Whether two values are the same, numbers as f32: one may have more digits than the other.
fn same(found: &Value, expected: &Value) -> bool {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let single =
                |number: &serde_json::Number| number.as_f64().map(|x| (x as f32).to_bits());
            single(a) == single(b)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        _ => found == expected,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_the_same_if_they_are_the_same_f32() {
        assert!(same(&json!([0.061733644, 1]), &json!([0.06173364445567131, 1.0])));
        assert!(!same(&json!([0.061733644]), &json!([0.061733648])));
        assert!(!same(&json!([1]), &json!([1, 2])) && !same(&json!("1"), &json!(1)));
        assert!(same(&json!("a"), &json!("a")) && !same(&json!(0.0), &json!(-0.0)));
    }
}
