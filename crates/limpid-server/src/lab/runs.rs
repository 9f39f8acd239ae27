//! Run folders as the page shows them: state, progress, metrics, snapshots.

use super::State;
use super::processes::{End, Purpose};
use super::registry::RunEntry;
use super::types::{Metrics, ModelState, Run, RunState, Snapshot};
use limpid::hash::hash_bytes;
use limpid::train::RunConfig;
use limpid::train::config::Length;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Bytes at the end of `metrics.jsonl` that are read for the last step.
const TAIL: u64 = 64 << 10;
/// Bytes of metrics in one answer.
const MAX_BYTES: u64 = 1 << 20;

/// Changes when anything that [`describe`] or [`metrics`] tells of a run changes.
pub fn stamp(state: &State, entry: &RunEntry) -> u64 {
    let purpose = Purpose::Run(entry.id.clone());
    let running = state.processes.is_running(&purpose);
    let ended = state.processes.end(&purpose).is_some();
    let mut facts = vec![u8::from(running), u8::from(ended), u8::from(is_locked(&entry.path))];
    for name in ["metrics.jsonl", "config.toml", "summary.json", "model/config.json", "snapshots"] {
        if let Ok(meta) = entry.path.join(name).metadata() {
            facts.extend(meta.len().to_le_bytes());
            let time = meta.modified().ok();
            let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            facts.extend(since.map_or(0, |since| since.as_nanos()).to_le_bytes());
        }
    }
    hash_bytes(&facts)
}

/// A run as it is now.
pub fn describe(state: &State, entry: &RunEntry) -> Run {
    let RunEntry { id, path, model } = entry;
    let purpose = Purpose::Run(id.clone());
    let config = RunConfig::read_saved(&path.join("config.toml"));
    let (task, steps) = match &config {
        Ok(config) => {
            let steps = match config.train.length {
                Length::Steps(steps) => steps,
                Length::Epochs(_) => 0,
            };
            (config.kind().to_string(), steps)
        }
        Err(_) => ("unknown".into(), 0),
    };
    let (step, loss) = progress(path);
    let ended = state.processes.end(&purpose);
    let run_state = match &ended {
        _ if state.processes.is_running(&purpose) => RunState::Running,
        _ if is_locked(path) => RunState::Elsewhere,
        _ if path.join("summary.json").is_file() => RunState::Finished,
        Some(End::Failed(_)) => RunState::Failed,
        _ => RunState::Stopped,
    };
    let problem = match (ended, config) {
        (Some(End::Failed(lines)), _) if run_state == RunState::Failed => Some(lines),
        // A run that has just begun has not written its settings yet.
        (_, Err(error)) if run_state != RunState::Running => Some(error.to_string()),
        _ => None,
    };
    let found = state.registry.find(model).ok();
    let has_model = found.is_some_and(|(model, _)| model.state == ModelState::Ready);
    Run {
        id: id.clone(),
        name: id.clone(),
        folder: path.display().to_string(),
        state: run_state,
        task,
        step,
        steps,
        loss,
        model: has_model.then(|| model.clone()),
        problem,
        snapshots: snapshots(state, id, path),
        command: state.settings.commands.resume(path),
    }
}

/// All runs.
pub fn all(state: &State) -> Vec<Run> {
    state.registry.runs().iter().map(|entry| describe(state, entry)).collect()
}

/// The last step and training loss of `metrics.jsonl`.
pub fn progress(folder: &Path) -> (u64, Option<f64>) {
    let path = folder.join("metrics.jsonl");
    let length = path.metadata().map_or(0, |meta| meta.len());
    let (lines, _) = read_lines(&path, length.saturating_sub(TAIL), TAIL);
    let mut found = (0, None);
    for line in lines {
        let number = |key: &str| line.get(key).and_then(serde_json::Value::as_f64);
        if let Some(step) = number("step") {
            found.0 = found.0.max(step as u64);
        }
        let is_train = line.get("kind").and_then(|kind| kind.as_str()).is_none_or(|k| k == "train");
        if let Some(loss) = number("loss").filter(|_| is_train) {
            found.1 = Some(loss);
        }
    }
    found
}

/// Whole lines from a byte on, and the byte after them. A beginning inside a line is skipped.
fn read_lines(path: &Path, from: u64, most: u64) -> (Vec<serde_json::Value>, u64) {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = bytes[..end].split(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    (lines, from + end as u64)
}

/// The end of the metrics of a run, so far.
pub fn metrics_end(entry: &RunEntry) -> u64 {
    entry.path.join("metrics.jsonl").metadata().map_or(0, |meta| meta.len())
}

/// New lines of the metrics of a run.
pub fn metrics(entry: &RunEntry, from: u64) -> Metrics {
    let path = entry.path.join("metrics.jsonl");
    // A run that was started again is shorter than before.
    let length = path.metadata().map_or(0, |meta| meta.len());
    let from = if from > length { 0 } else { from };
    let (lines, next) = read_lines(&path, from, MAX_BYTES);
    Metrics { run: entry.id.clone(), from, next, lines }
}

/// Weights of earlier steps.
fn snapshots(state: &State, id: &str, folder: &Path) -> Vec<Snapshot> {
    let entries = std::fs::read_dir(folder.join("snapshots")).into_iter().flatten().flatten();
    let mut found: Vec<Snapshot> = entries
        .filter(|entry| entry.path().join("config.json").is_file())
        .filter_map(|entry| {
            let step = entry.file_name().to_str()?.parse().ok()?;
            let model = state.registry.add_snapshot(id, step, &entry.path());
            Some(Snapshot { step, model })
        })
        .collect();
    found.sort_by_key(|snapshot| snapshot.step);
    found
}

/// Whether another process holds the lock of a run. Asked of the system, not by trying: a run that
/// starts at this moment must find its lock free.
fn is_locked(folder: &Path) -> bool {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        let Ok(meta) = folder.join(".lock").metadata() else { return false };
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let inode = format!(":{}", meta.ino());
        locks.lines().any(|line| line.split_whitespace().any(|word| word.ends_with(&inode)))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let meta = folder.join("metrics.jsonl").metadata();
        let age = meta.and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
        age.is_some_and(|age| age.as_secs() < 30) && !folder.join("summary.json").is_file()
    }
}
