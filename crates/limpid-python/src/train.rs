//! Training in a run folder, with a callback.

use crate::error::{ConfigError, exception};
use crate::interrupt::{Signals, detached};
use limpid::error::{Error, Result};
use limpid::train::config::Settings;
use limpid::train::setup::{RunStart, open};
use limpid::train::{Control, Outcome, RunConfig, TaskKind, TrainEvent};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What a training run has done.
#[pyclass(frozen, get_all, module = "limpid")]
pub struct TrainResult {
    /// The folder of the run.
    folder: PathBuf,
    /// The folder of its best model, once there is one.
    model: Option<PathBuf>,
    /// "completed", "early_stopped" or "interrupted".
    outcome: &'static str,
    /// Steps done.
    step: u64,
    /// Steps in all.
    steps: u64,
    /// What was noticed and survived.
    warnings: Vec<String>,
}

#[pymethods]
impl TrainResult {
    fn __repr__(&self) -> String {
        let Self { folder, outcome, step, steps, .. } = self;
        format!("<TrainResult {}: {outcome} after step {step} of {steps}>", folder.display())
    }
}

/// Trains a model in a run folder.
///
/// `config` is a TOML file or a dict of its content, `overrides` change keys such as
/// "train.steps". `on_event` is called with a dict after each step and for each line of
/// metrics.jsonl; if it returns False, or raises, training stops after a checkpoint. `start` is
/// "new", "resume" or "overwrite".
#[pyfunction]
#[pyo3(signature = (
    config, out, *, overrides = None, start = "new", on_event = None, data_folder = None
))]
pub fn train(
    py: Python<'_>,
    config: &Bound<'_, PyAny>,
    out: PathBuf,
    overrides: Option<&Bound<'_, PyDict>>,
    start: &str,
    on_event: Option<Py<PyAny>>,
    data_folder: Option<PathBuf>,
) -> PyResult<TrainResult> {
    let start = match start {
        "new" => RunStart::New,
        "resume" => RunStart::Resume,
        "overwrite" => RunStart::Overwrite,
        other => {
            let message = format!("start: '{other}' is none of new, resume, overwrite");
            return Err(PyValueError::new_err(message));
        }
    };
    let mut settings = settings(config, data_folder)?;
    if let Some(overrides) = overrides {
        set_all(&mut settings, "", overrides)?;
    }
    let config = with_absolute_paths(settings.resolve().map_err(exception)?)?;
    let on_event = on_event.as_ref();
    detached(py, |signals| run(config, &out, start, on_event, signals))
}

/// The keys of a file or of a dict.
fn settings(config: &Bound<'_, PyAny>, data_folder: Option<PathBuf>) -> PyResult<Settings> {
    let Ok(sections) = config.cast::<PyDict>() else {
        let path: PathBuf = config.extract()?;
        return Settings::read(&path, data_folder.as_deref()).map_err(exception);
    };
    let Some(task) = sections.get_item("task")? else {
        return Err(ConfigError::new_err("the configuration has no task"));
    };
    let task: TaskKind = task.extract::<String>()?.parse().map_err(exception)?;
    let mut settings = Settings::new(task).with_data_folder(data_folder);
    for (section, value) in sections {
        match (section.extract::<String>()?, value.cast::<PyDict>()) {
            (section, Ok(keys)) => set_all(&mut settings, &format!("{section}."), keys)?,
            (section, Err(_)) if section != "task" => set(&mut settings, &section, &value)?,
            _ => {}
        }
    }
    Ok(settings)
}

/// Sets keys whose names begin with `prefix`.
fn set_all(settings: &mut Settings, prefix: &str, keys: &Bound<'_, PyDict>) -> PyResult<()> {
    keys.iter().try_for_each(|(key, value)| {
        set(settings, &format!("{prefix}{}", key.extract::<String>()?), &value)
    })
}

fn set(settings: &mut Settings, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match toml_value(value)? {
        Some(value) => settings.set(&format!("{key}={value}")).map_err(exception),
        None => Ok(()),
    }
}

/// A run may go on from another place.
fn with_absolute_paths(mut config: RunConfig) -> PyResult<RunConfig> {
    let mut lost = None;
    config.each_path(|path| match std::path::absolute(&*path) {
        Ok(absolute) => *path = absolute,
        Err(error) => lost = Some(Error::io("find", path, error)),
    });
    lost.map_or(Ok(config), |error| Err(exception(error)))
}

fn run(
    config: RunConfig,
    folder: &Path,
    start: RunStart,
    on_event: Option<&Py<PyAny>>,
    signals: &mut Signals,
) -> Result<TrainResult> {
    let opened = open(config, folder, start, &mut |_| {})?;
    let mut warnings: Vec<String> = opened.warnings.iter().map(ToString::to_string).collect();
    let mut run = opened.run;
    let outcome = run.train(&mut |event| {
        if let TrainEvent::Warning(warning) = &event {
            warnings.push(warning.to_string());
        }
        let goes_on = match on_event {
            Some(call) => called(call, event).map_err(|raised| signals.raise(raised)),
            None => Ok(Control::Continue),
        };
        match (signals.check(), goes_on) {
            (Ok(()), Ok(control)) => control,
            _ => Control::Stop,
        }
    })?;
    let outcome = match outcome {
        Outcome::Completed => "completed",
        Outcome::EarlyStopped => "early_stopped",
        Outcome::Interrupted => "interrupted",
    };
    let (step, steps) = run.steps();
    let model = Some(folder.join("model")).filter(|model| model.join("config.json").is_file());
    Ok(TrainResult { folder: folder.to_path_buf(), model, outcome, step, steps, warnings })
}

/// Calls back; `False` stops.
fn called(on_event: &Py<PyAny>, event: TrainEvent) -> PyResult<Control> {
    Python::attach(|py| {
        let event = python_value(py, &described(event))?;
        let answer = on_event.bind(py).call1((event,))?;
        let stops = answer.cast::<PyBool>().is_ok_and(|answer| !answer.is_true());
        Ok(if stops { Control::Stop } else { Control::Continue })
    })
}

/// An event as a dict: the keys of `metrics.jsonl`, or those of a step.
fn described(event: TrainEvent) -> Value {
    match event {
        TrainEvent::Step(step) => json!({
            "kind": "step", "step": step.step, "steps": step.steps, "loss": step.loss,
            "grad_norm": step.grad_norm, "lr": step.lr, "tokens": step.tokens,
            "targets": step.targets, "seconds": step.seconds,
        }),
        TrainEvent::Metric(metric) => serde_json::to_value(metric).expect("a metric is JSON"),
        TrainEvent::Warning(warning) => json!({"kind": "warning", "message": warning.to_string()}),
        TrainEvent::Scoring { sentences, split } => {
            json!({"kind": "scoring", "sentences": sentences, "split": split.name()})
        }
    }
}

fn python_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(value) => match value.as_i64() {
            Some(whole) => whole.into_bound_py_any(py),
            None => value.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(all) => {
            let all: PyResult<Vec<_>> = all.iter().map(|value| python_value(py, value)).collect();
            Ok(PyList::new(py, all?)?.into_any())
        }
        Value::Object(all) => {
            let dict = PyDict::new(py);
            for (key, value) in all {
                dict.set_item(key, python_value(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// A value of a configuration; `None` stands for a key that is not set.
fn toml_value(value: &Bound<'_, PyAny>) -> PyResult<Option<toml::Value>> {
    use toml::Value;
    Ok(Some(if value.is_none() {
        return Ok(None);
    } else if let Ok(value) = value.cast::<PyBool>() {
        Value::Boolean(value.is_true())
    } else if value.is_instance_of::<PyInt>() {
        Value::Integer(value.extract()?)
    } else if value.is_instance_of::<PyFloat>() {
        Value::Float(value.extract()?)
    } else if let Ok(keys) = value.cast::<PyDict>() {
        let mut table = toml::Table::new();
        for (key, value) in keys {
            if let Some(value) = toml_value(&value)? {
                table.insert(key.extract()?, value);
            }
        }
        Value::Table(table)
    } else if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let all: PyResult<Vec<_>> = value.try_iter()?.map(|value| toml_value(&value?)).collect();
        Value::Array(all?.into_iter().flatten().collect())
    } else if value.is_instance_of::<PyString>() {
        Value::String(value.extract()?)
    } else {
        // A path; a number of numpy is none of the above and has no path either.
        match value.extract::<PathBuf>().ok().as_deref().and_then(Path::to_str) {
            Some(path) => Value::String(path.into()),
            None => {
                let class = value.get_type().name()?;
                let message = format!("a configuration cannot hold a value of type {class}");
                return Err(PyTypeError::new_err(message));
            }
        }
    }))
}
