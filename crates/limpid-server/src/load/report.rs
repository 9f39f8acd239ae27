//! What a load found.

use super::client::Answer;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The counts and times of a load.
#[derive(Clone, Debug, Default)]
pub struct LoadReport {
    /// How long it took.
    pub seconds: f64,
    /// Requests that were sent.
    pub sent: usize,
    /// Answers by status.
    pub statuses: BTreeMap<u16, usize>,
    /// Answers with status 200 that were not as expected.
    pub wrong: usize,
    /// Clients that left before their answer.
    pub left: usize,
    /// Connections that the server closed or did not accept.
    pub closed: usize,
    /// Requests without an answer in time.
    pub timed_out: usize,
    /// Connections that sent a byte at a time, and were closed or ended with the load.
    pub drips: usize,
    /// The longest that one of them stayed open.
    pub longest_drip: f64,
    /// Seconds until each answer with status 200.
    pub latencies: Vec<f64>,
}

/// A report as JSON has it.
#[derive(Serialize)]
struct Summary<'a> {
    seconds: f64,
    sent: usize,
    statuses: &'a BTreeMap<u16, usize>,
    wrong: usize,
    left: usize,
    closed: usize,
    timed_out: usize,
    drips: usize,
    longest_drip_seconds: f64,
    answers_per_second: f64,
    p50_ms: f64,
    p90_ms: f64,
    p99_ms: f64,
}

impl LoadReport {
    pub(super) fn count(&mut self, answer: &Answer, elapsed: Duration, right: bool) {
        self.sent += 1;
        match answer {
            Answer::Status(status, _) => {
                *self.statuses.entry(*status).or_default() += 1;
                if *status == 200 {
                    self.latencies.push(elapsed.as_secs_f64());
                    self.wrong += usize::from(!right);
                }
            }
            Answer::Left => self.left += 1,
            Answer::Closed => self.closed += 1,
            Answer::TimedOut => self.timed_out += 1,
        }
    }

    pub(super) fn dripped(&mut self, elapsed: Duration) {
        self.drips += 1;
        self.longest_drip = self.longest_drip.max(elapsed.as_secs_f64());
    }

    /// Answers with this status.
    pub fn status(&self, status: u16) -> usize {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Whether every request that was sent has one end.
    pub fn adds_up(&self) -> bool {
        let answers: usize = self.statuses.values().sum();
        self.sent == answers + self.left + self.closed + self.timed_out
    }

    /// The latency, in seconds, that a fraction of the answers is within; 0 without answers.
    pub fn percentile(&self, fraction: f64) -> f64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_by(f64::total_cmp);
        let at = (fraction * sorted.len() as f64) as usize;
        sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }

    /// Answers with status 200 per second.
    pub fn throughput(&self) -> f64 {
        self.latencies.len() as f64 / self.seconds.max(1e-9)
    }

    /// One line of JSON.
    pub fn json(&self) -> String {
        let milliseconds = |fraction| 1e3 * self.percentile(fraction);
        let summary = Summary {
            seconds: self.seconds,
            sent: self.sent,
            statuses: &self.statuses,
            wrong: self.wrong,
            left: self.left,
            closed: self.closed,
            timed_out: self.timed_out,
            drips: self.drips,
            longest_drip_seconds: self.longest_drip,
            answers_per_second: self.throughput(),
            p50_ms: milliseconds(0.5),
            p90_ms: milliseconds(0.9),
            p99_ms: milliseconds(0.99),
        };
        serde_json::to_string(&summary).expect("numbers are JSON")
    }
}
