//! Worked examples and experiments.

use super::{Answer, Shared, body, json};
use crate::lab::State;
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::processes::{End, Purpose};
use axum::body::Body;
use axum::extract::{Path, State as Extract};
use axum::http::Request;
use limpid_learn::experiment::ALL;
use limpid_learn::explain::{self, DefaultValue, ExampleOption, Inputs, ValueKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Serialize)]
struct Examples {
    examples: Vec<Example>,
}

#[derive(Serialize)]
struct Example {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    options: Vec<Choice>,
    see_also: &'static [&'static str],
}

#[derive(Serialize)]
struct Choice {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    default: &'static str,
    computed: bool,
    choices: &'static [&'static str],
}

fn choice(option: &ExampleOption) -> Choice {
    let (default, computed) = match option.default {
        DefaultValue::Text(text) => (text, false),
        DefaultValue::Computed(how) => (how, true),
    };
    let kind = match option.kind {
        ValueKind::Matrix => "matrix",
        ValueKind::Row { .. } => "row",
        ValueKind::Number { .. } => "number",
        ValueKind::Count { .. } => "count",
        ValueKind::Words => "words",
        ValueKind::Choice(_) => "choice",
    };
    let choices = match option.kind {
        ValueKind::Choice(choices) => choices,
        _ => &[],
    };
    Choice { name: option.name, kind, help: option.help, default, computed, choices }
}

pub async fn examples() -> Answer {
    let one = |example: &explain::Example| Example {
        name: example.name,
        title: example.title,
        summary: example.summary,
        options: example.options.iter().map(choice).collect(),
        see_also: example.see_also,
    };
    Ok(json(&Examples { examples: explain::examples().iter().map(one).collect() }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Numbers {
    #[serde(default)]
    options: BTreeMap<String, String>,
}

pub async fn example(
    Extract(state): Shared,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Answer {
    let Numbers { options } = body(request).await?;
    if let Err(error) = explain::find(&name) {
        return Err(LabProblem::new(Kind::NotFound, error.to_string()));
    }
    let found = state.work.light(move || {
        let invalid =
            |error: limpid_learn::Error| LabProblem::invalid("options", error.to_string());
        let options: Vec<(String, String)> = options.into_iter().collect();
        let inputs = Inputs::parse(&name, &options).map_err(invalid)?;
        explain::explain(&name, &inputs).map_err(invalid)
    });
    Ok(json(&found.await?))
}

/// Where outcomes are kept.
const EXPERIMENTS: &str = "experiments";

#[derive(Serialize)]
struct Experiments {
    experiments: Vec<ExperimentState>,
}

/// An experiment and what became of it.
#[derive(Serialize)]
pub struct ExperimentState {
    name: String,
    claim: String,
    minutes: f64,
    state: &'static str,
    effort: Option<String>,
    verdict: Option<String>,
    line: String,
}

/// An experiment and what became of it.
pub fn experiment_state(state: &State, name: &str) -> ExperimentState {
    let found = ALL.iter().find(|experiment| experiment.name == name);
    let purpose = Purpose::Experiment(name.into());
    let outcome = outcome(name).ok();
    let text = |key: &str| Some(outcome.as_ref()?.get(key)?.as_str()?.to_string());
    let progress = match (state.processes.is_running(&purpose), &outcome) {
        (true, _) => "running",
        (false, Some(_)) => "done",
        (false, None) => match state.processes.end(&purpose) {
            Some(End::Failed(_)) => "failed",
            _ => "none",
        },
    };
    let log = state.processes.log(&purpose);
    ExperimentState {
        name: name.into(),
        claim: found.map_or(String::new(), |experiment| experiment.claim.to_string()),
        minutes: found.map_or(0.0, |experiment| experiment.minutes),
        state: progress,
        effort: text("effort"),
        verdict: text("verdict"),
        line: log.lines().last().unwrap_or("").to_string(),
    }
}

fn outcome(name: &str) -> Result<serde_json::Value, LabProblem> {
    let missing = || {
        LabProblem::new(Kind::NotFound, "this experiment has no outcome yet").hint("run it first")
    };
    let path = folder_of(name)?.join("outcome.json");
    let bytes = std::fs::read(path).map_err(|_| missing())?;
    serde_json::from_slice(&bytes).map_err(|_| missing())
}

/// The folder of a known experiment: no other name leads anywhere.
fn folder_of(name: &str) -> Result<PathBuf, LabProblem> {
    match ALL.iter().find(|experiment| experiment.name == name) {
        Some(experiment) => Ok(PathBuf::from(EXPERIMENTS).join(experiment.name)),
        None => Err(LabProblem::new(Kind::NotFound, format!("there is no experiment {name:?}"))),
    }
}

pub async fn experiments(Extract(state): Shared) -> Answer {
    let shared = Arc::clone(&state);
    let found = state.work.light(move || {
        let all = ALL.iter().map(|experiment| experiment_state(&shared, experiment.name));
        Ok(Experiments { experiments: all.collect() })
    });
    Ok(json(&found.await?))
}

pub async fn experiment(Extract(state): Shared, Path(name): Path<String>) -> Answer {
    let found = state.work.light(move || {
        let mut found = outcome(&name)?;
        let pictures = pictures(&name)?;
        if let Some(object) = found.as_object_mut() {
            object.insert("pictures".into(), pictures.into());
        }
        Ok(found)
    });
    Ok(json(&found.await?))
}

/// The names of the pictures in its folder.
fn pictures(name: &str) -> Result<Vec<String>, LabProblem> {
    let entries = std::fs::read_dir(folder_of(name)?).into_iter().flatten().flatten();
    let name = |entry: std::fs::DirEntry| {
        Some(entry.file_name().to_str()?.strip_suffix(".svg")?.to_string())
    };
    let mut found: Vec<String> = entries.filter_map(name).collect();
    found.sort();
    Ok(found)
}

pub async fn picture(
    Extract(state): Shared,
    Path((name, picture)): Path<(String, String)>,
) -> Answer {
    let svg = state.work.light(move || {
        let missing = || LabProblem::new(Kind::NotFound, format!("no picture {picture:?}"));
        // Only a name of the list leads to a file.
        let found = pictures(&name)?.into_iter().find(|own| *own == picture);
        let path = folder_of(&name)?.join(format!("{}.svg", found.ok_or_else(missing)?));
        std::fs::read(path).map_err(|_| missing())
    });
    Ok(super::with_type(svg.await?.into(), "image/svg+xml"))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Running {
    effort: RunEffort,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RunEffort {
    Quick,
    Full,
}

pub async fn run(
    Extract(state): Shared,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Answer {
    let Running { effort } = body(request).await?;
    let shared = Arc::clone(&state);
    let found = state.work.light(move || {
        let folder = folder_of(&name)?;
        let quick = effort == RunEffort::Quick;
        let command = shared.settings.commands.experiment(&name, quick, &folder);
        shared.processes.start(Purpose::Experiment(name.clone()), command)?;
        Ok(experiment_state(&shared, &name))
    });
    Ok(json(&found.await?))
}
