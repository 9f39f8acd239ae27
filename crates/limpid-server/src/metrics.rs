//! Metrics in the text format of Prometheus. Labels are models, tasks and outcomes: never texts,
//! keys or addresses.

use crate::scheduler::{Load, Plan, What};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Mutex;
use std::time::Duration;

/// The labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// The route, as it is declared.
    pub route: String,
    /// The class of the status code: `2xx`, `4xx`, `cancelled`, …
    pub outcome: String,
}

/// The labels of tokens.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ModelLabels {
    /// The model's name.
    pub model: String,
}

/// All metrics of a server.
pub struct Metrics {
    registry: Mutex<Registry>,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RequestLabels, Histogram>,
    prompt_tokens: Family<ModelLabels, Counter>,
    generated_tokens: Family<ModelLabels, Counter>,
    steps: Counter,
    step_seconds: Histogram,
    decoded_rows: Histogram,
    queued_jobs: Gauge,
    queued_tokens: Gauge,
    running: Gauge,
    memory: Gauge,
    prefixes: Gauge,
    reused: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All zero.
    pub fn new() -> Self {
        let seconds = || Histogram::new(exponential_buckets(0.001, 2.0, 16));
        let metrics = Self {
            registry: Mutex::new(Registry::with_prefix("limpid")),
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds as fn() -> Histogram),
            prompt_tokens: Family::default(),
            generated_tokens: Family::default(),
            steps: Counter::default(),
            step_seconds: seconds(),
            decoded_rows: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            queued_jobs: Gauge::default(),
            queued_tokens: Gauge::default(),
            running: Gauge::default(),
            memory: Gauge::default(),
            prefixes: Gauge::default(),
            reused: Counter::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&self) {
        let mut registry = self.registry.lock().expect("nothing panics with it");
        let r = &mut *registry;
        r.register("requests", "Requests by route and outcome", self.requests.clone());
        let help = "Time from a request's head to the end of its answer";
        r.register_with_unit("request", help, Unit::Seconds, self.seconds.clone());
        r.register("prompt_tokens", "Tokens read", self.prompt_tokens.clone());
        r.register("generated_tokens", "Tokens generated", self.generated_tokens.clone());
        r.register("steps", "Steps of the engine", self.steps.clone());
        r.register_with_unit("step", "Time of a step", Unit::Seconds, self.step_seconds.clone());
        r.register("decoded_sequences", "Generations per step", self.decoded_rows.clone());
        r.register("queued_jobs", "Jobs in the queue", self.queued_jobs.clone());
        r.register("queued_tokens", "Tokens in the queue", self.queued_tokens.clone());
        r.register("running_generations", "Generations that run", self.running.clone());
        let help = "Reserved for keys and values";
        r.register_with_unit("kv", help, Unit::Bytes, self.memory.clone());
        let help = "Keys and values of beginnings of prompts";
        r.register_with_unit("prefix_cache", help, Unit::Bytes, self.prefixes.clone());
        let help = "Tokens of prompts that were known, and not computed";
        r.register("prefix_reused_tokens", help, self.reused.clone());
    }

    /// A request ended.
    pub fn request(&self, route: &str, outcome: &str, elapsed: Duration) {
        let labels = RequestLabels { route: route.into(), outcome: outcome.into() };
        self.requests.get_or_create(&labels).inc();
        self.seconds.get_or_create(&labels).observe(elapsed.as_secs_f64());
    }

    /// A request of a model read and generated so many tokens.
    pub fn tokens(&self, model: &str, prompt: usize, generated: usize) {
        let labels = ModelLabels { model: model.into() };
        self.prompt_tokens.get_or_create(&labels).inc_by(prompt as u64);
        self.generated_tokens.get_or_create(&labels).inc_by(generated as u64);
    }

    /// A step of the engine ended.
    pub fn step(&self, elapsed: Duration, plan: &Plan, prefix_bytes: u64) {
        self.steps.inc();
        self.prefixes.set(prefix_bytes as i64);
        self.step_seconds.observe(elapsed.as_secs_f64());
        let advances = plan.work.iter().filter(|work| matches!(work.what, What::Advance(_)));
        self.decoded_rows.observe(advances.count() as f64);
    }

    /// So many tokens of a prompt were known.
    pub fn reused(&self, tokens: usize) {
        self.reused.inc_by(tokens as u64);
    }

    /// The text that Prometheus reads.
    pub fn text(&self, load: Load) -> String {
        self.queued_jobs.set(load.queued_jobs as i64);
        self.queued_tokens.set(load.queued_tokens as i64);
        self.running.set(load.running as i64);
        self.memory.set(load.memory as i64);
        let mut text = String::new();
        let registry = self.registry.lock().expect("nothing panics with it");
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
        text
    }
}
