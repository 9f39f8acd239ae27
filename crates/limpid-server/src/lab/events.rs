//! What happens while the page is open: one stream of events, fed by one watcher.

use super::problem::LabProblem;
use super::processes::Purpose;
use super::registry::RunEntry;
use super::types::{Demo, DemoModel, DemoState, Run};
use super::{State, runs};
use limpid::pipeline::model_folder;
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Between two looks at the run folders.
const INTERVAL: Duration = Duration::from_millis(300);
/// Events that wait for a slow reader.
const WAITING: usize = 256;

/// The models of the demo: id, title, steps, and whether a first visit needs it.
pub const DEMO: [(&str, &str, u64, bool); 5] = [
    ("fr-en", "Transformer, French to English", 2_000, true),
    ("story-gpt", "GPT that tells stories", 1_400, true),
    ("story-bert", "BERT that fills in their words", 1_600, true),
    ("rnn", "RNN without attention, French to English", 2_000, false),
    ("rnn-attention", "RNN with attention, French to English", 2_000, false),
];
const DEMO_FOLDER: &str = "limpid-demo";

/// A frame of the stream, as it is sent.
pub fn frame(event: &str, value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("our own types are JSON");
    format!("event: {event}\ndata: {json}\n\n")
}

/// Who wants to know.
pub struct Events(broadcast::Sender<Arc<str>>);

impl Events {
    pub fn new() -> Self {
        Self(broadcast::channel(WAITING).0)
    }

    /// Tells everybody.
    pub fn send(&self, event: &str, value: &impl Serialize) {
        let _ = self.0.send(frame(event, value).into());
    }

    /// Whether anybody wants to know.
    pub fn is_heard(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// From now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.subscribe()
    }
}

/// Where the model of the demo is, or will be.
pub fn demo_path(id: &str) -> PathBuf {
    Path::new(DEMO_FOLDER).join(id)
}

/// What became of the demo's models.
pub fn demo(state: &State) -> Demo {
    let is_training = state.processes.is_running(&Purpose::Demo);
    let models: Vec<DemoModel> = DEMO
        .iter()
        .map(|(id, title, steps, _)| demo_model(id, title, *steps, is_training))
        .collect();
    let needed = || DEMO.iter().zip(&models).filter(|(model, _)| model.3).map(|(_, model)| model);
    let ready = needed().all(|model| model.state == DemoState::Ready);
    let end = state.processes.end(&Purpose::Demo);
    let problem = match end {
        Some(super::processes::End::Failed(lines)) => Some(lines),
        _ => None,
    };
    let found = match (ready, is_training, &problem) {
        (true, ..) => DemoState::Ready,
        (_, true, _) => DemoState::Training,
        (.., Some(_)) => DemoState::Failed,
        _ => DemoState::Absent,
    };
    Demo { state: found, models, problem }
}

fn demo_model(id: &str, title: &str, steps: u64, is_training: bool) -> DemoModel {
    let folder = demo_path(id);
    let ready = model_folder(&folder).join("config.json").is_file();
    let (step, loss) = runs::progress(&folder);
    let begun = folder.join("demo.json").is_file() && step > 0;
    let found = match (ready, is_training && begun) {
        (true, _) => DemoState::Ready,
        (false, true) => DemoState::Training,
        (false, false) => DemoState::Absent,
    };
    let age = |name: &str| folder.join(name).metadata().ok()?.modified().ok()?.elapsed().ok();
    let seconds = match (found, age("demo.json"), age("metrics.jsonl")) {
        (DemoState::Training, Some(begun), Some(last)) => {
            let per_step = begun.saturating_sub(last).as_secs_f64() / step.max(1) as f64;
            Some(per_step * steps.saturating_sub(step) as f64)
        }
        _ => None,
    };
    let (id, title) = (id.to_string(), title.to_string());
    DemoModel { id, title, state: found, step, steps, loss, seconds_left: seconds }
}

/// Starts the training of some of the demo's models.
pub fn start_demo(state: &State, ids: &[String]) -> Result<(), LabProblem> {
    let known = |id: &str| DEMO.iter().any(|(own, ..)| *own == id);
    if let Some(id) = ids.iter().find(|id| !known(id)) {
        return Err(LabProblem::invalid("models", format!("the demo has no model {id:?}")));
    }
    let missing: Vec<&str> = ids
        .iter()
        .map(String::as_str)
        .filter(|id| !model_folder(demo_path(id)).join("config.json").is_file())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let command = state.settings.commands.demo(&missing, Path::new(DEMO_FOLDER));
    state.processes.start(Purpose::Demo, command)?;
    for id in missing {
        state.registry.add(&demo_path(id));
    }
    Ok(())
}

/// Looks after which runs that are not trained here are looked at, too.
const SELDOM: u64 = 7;

/// What was told last.
#[derive(Default)]
struct Told {
    looks: u64,
    demo: Option<Demo>,
    runs: HashMap<String, Run>,
    stamps: HashMap<String, u64>,
    bytes: HashMap<String, u64>,
}

/// Looks at processes and run folders as long as the lab runs.
pub async fn watch(state: Arc<State>) {
    let mut told = Told::default();
    for entry in state.registry.runs() {
        // What was there before is asked for, not told.
        told.bytes.insert(entry.id.clone(), runs::metrics_end(&entry));
    }
    loop {
        tokio::time::sleep(INTERVAL).await;
        let shared = Arc::clone(&state);
        let looked = tokio::task::spawn_blocking(move || {
            look(&shared, &mut told);
            told
        });
        let Ok(again) = looked.await else { return };
        told = again;
    }
}

fn look(state: &State, told: &mut Told) {
    for purpose in state.processes.ended() {
        match purpose {
            Purpose::Run(id) => refresh_run(state, &id),
            Purpose::Demo => {}
            Purpose::Experiment(name) => {
                state.events.send("experiment", &super::routes::experiment_state(state, &name));
            }
        }
    }
    for (id, ..) in DEMO {
        let path = demo_path(id);
        // A model that has just been trained.
        let appeared = state.registry.find(id).is_ok_and(|(model, own)| {
            own == path
                && model.state != super::types::ModelState::Ready
                && path.join("config.json").is_file()
        });
        if appeared && let Some(model) = state.registry.refresh(&path) {
            state.events.send("model", &model);
        }
    }
    told.looks += 1;
    if !state.events.is_heard() {
        // Who comes is told everything first.
        return;
    }
    let demo = demo(state);
    if told.demo.as_ref() != Some(&demo) {
        state.events.send("demo", &demo);
        told.demo = Some(demo);
    }
    for entry in state.registry.runs() {
        look_at_run(state, told, &entry);
    }
}

/// Tells what is new of a run. Its files are read only when they have changed: a look costs a
/// training nothing.
fn look_at_run(state: &State, told: &mut Told, entry: &RunEntry) {
    let is_own = state.processes.is_running(&Purpose::Run(entry.id.clone()));
    if !is_own && !told.looks.is_multiple_of(SELDOM) {
        return;
    }
    let stamp = runs::stamp(state, entry);
    if told.stamps.insert(entry.id.clone(), stamp) == Some(stamp) {
        return;
    }
    let from = told.bytes.get(&entry.id).copied().unwrap_or(0);
    let metrics = runs::metrics(entry, from);
    if !metrics.lines.is_empty() {
        state.events.send("metrics", &metrics);
    }
    told.bytes.insert(entry.id.clone(), metrics.next);
    let mut run = runs::describe(state, entry);
    if run.model.is_none() && entry.path.join("model/config.json").is_file() {
        refresh_run(state, &entry.id);
        run = runs::describe(state, entry);
    }
    if told.runs.get(&entry.id) != Some(&run) {
        state.events.send("run", &run);
        told.runs.insert(entry.id.clone(), run);
    }
}

fn refresh_run(state: &State, id: &str) {
    if let Ok(entry) = state.registry.run(id)
        && let Some(model) = state.registry.refresh(&entry.path)
    {
        state.events.send("model", &model);
    }
}
