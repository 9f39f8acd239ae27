//! Runs, the demo, and what can be trained.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Trains, started here.
    Running,
    /// Can be resumed.
    Stopped,
    /// Came to its end.
    Finished,
    /// Ended with an error.
    Failed,
    /// Trains, started by another process.
    Elsewhere,
}

/// Weights of a run at a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Snapshot {
    /// The step.
    pub step: u64,
    /// The id of the model.
    pub model: String,
}

/// A training run.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Run {
    /// By which requests name it.
    pub id: String,
    /// For people.
    pub name: String,
    /// Its folder, for people and commands.
    pub folder: String,
    /// What it is doing.
    pub state: RunState,
    /// What it learns: `gpt`, `translate`, `bert`, …
    pub task: String,
    /// Steps done.
    pub step: u64,
    /// Steps in all; 0 if it is not known yet.
    pub steps: u64,
    /// The last training loss.
    pub loss: Option<f64>,
    /// The id of its model, once there is one.
    pub model: Option<String>,
    /// What went wrong.
    pub problem: Option<String>,
    /// Weights at earlier steps.
    pub snapshots: Vec<Snapshot>,
    /// What to type to resume it.
    pub command: String,
}

/// All runs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Runs {
    /// In the order they were found.
    pub runs: Vec<Run>,
}

/// A run with its settings.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunDetail {
    /// The run.
    pub run: Run,
    /// `config.toml`.
    pub config: String,
    /// The last lines that it printed, if it was started here.
    pub log: String,
}

/// New lines of `metrics.jsonl`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Metrics {
    /// The id of the run.
    pub run: String,
    /// The byte where these lines begin: who has not read up to it asks for what is missing.
    pub from: u64,
    /// The byte to go on from.
    pub next: u64,
    /// The lines as they are.
    #[schema(value_type = Vec<Object>)]
    pub lines: Vec<serde_json::Value>,
}

/// What became of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "they are what they are called")]
pub enum DemoState {
    Absent,
    Training,
    Ready,
    Failed,
}

/// A model of the demo.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct DemoModel {
    /// The id that the model has or will have.
    pub id: String,
    /// For people.
    pub title: String,
    /// Whether it is there.
    pub state: DemoState,
    /// Steps done.
    pub step: u64,
    /// Steps in all.
    pub steps: u64,
    /// The last training loss.
    pub loss: Option<f64>,
    /// Until it is trained.
    pub seconds_left: Option<f64>,
}

/// The demo's models.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Demo {
    /// Of those that a first visit needs.
    pub state: DemoState,
    /// All of them.
    pub models: Vec<DemoModel>,
    /// What went wrong.
    pub problem: Option<String>,
}

/// Models of the demo to train.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DemoRequest {
    /// Their ids.
    pub models: Vec<String>,
}

/// A corpus to train on.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Corpus {
    /// By which requests name it.
    pub id: String,
    /// For people.
    pub title: String,
    /// The tasks it suits.
    pub tasks: Vec<String>,
    /// Its lines, or examples.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Whether the program makes it.
    pub builtin: bool,
}

/// A task to train for.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TrainingTask {
    /// `gpt`, `translate` or `bert`.
    pub task: String,
    /// For people.
    pub title: String,
    /// Architectures to choose from.
    pub archs: Vec<String>,
    /// What is used for what a request leaves out.
    pub defaults: TrainingSizes,
}

/// Sizes of a run.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[allow(missing_docs, reason = "the keys of a run's configuration")]
pub struct TrainingSizes {
    pub layers: usize,
    pub heads: usize,
    pub hidden_size: usize,
    pub context_length: usize,
    pub steps: u64,
    pub batch_tokens: usize,
    pub learning_rate: f64,
    pub vocab_size: usize,
    pub seed: u64,
}

/// What can be trained.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Training {
    /// Tasks.
    pub tasks: Vec<TrainingTask>,
    /// Corpora.
    pub corpora: Vec<Corpus>,
}

/// A run to start.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the keys of a run's configuration")]
pub struct TrainRequest {
    /// The name of its folder.
    pub name: String,
    pub task: String,
    /// The id of a corpus.
    pub corpus: String,
    #[serde(default)]
    pub arch: Option<String>,
    #[serde(default)]
    pub attention: Option<String>,
    #[serde(default)]
    pub layers: Option<usize>,
    #[serde(default)]
    pub heads: Option<usize>,
    #[serde(default)]
    pub hidden_size: Option<usize>,
    #[serde(default)]
    pub context_length: Option<usize>,
    #[serde(default)]
    pub steps: Option<u64>,
    #[serde(default)]
    pub batch_tokens: Option<usize>,
    #[serde(default)]
    pub learning_rate: Option<f64>,
    #[serde(default)]
    pub vocab_size: Option<usize>,
    #[serde(default)]
    pub seed: Option<u64>,
    /// Keep weights at steps 1, 2, 4, 8, …
    #[serde(default)]
    pub snapshots: bool,
}

/// Why a run would not work.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EstimateProblem {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// What a run would need.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Estimate {
    /// Trained parameters.
    pub parameters: usize,
    /// Of weights, gradients, moments and a batch.
    pub memory_bytes: f64,
    /// What this machine has free.
    pub available_bytes: Option<f64>,
    /// Of a step.
    pub tokens_per_step: usize,
    /// Of the whole run on this machine.
    pub seconds: Option<f64>,
    /// Whether it fits into memory.
    pub fits: bool,
    /// Set if it cannot work.
    pub problem: Option<EstimateProblem>,
}

/// A run that was started.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Started {
    /// The id of the run.
    pub run: String,
}

/// A page to show in a frame.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameRequest {
    /// The id of a run: its report.
    pub run: String,
}

/// Where a frame's page is, for a minute.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Frame {
    /// A path of this server.
    pub url: String,
}
