//! The folder of a run: a state machine on disk.
//!
//! | on disk | state | next |
//! |---|---|---|
//! | nothing of a run | [`Contents::Empty`] | a run may start |
//! | `config.toml` | [`Contents::Run`], unfinished | resumes from its newest checkpoint |
//! | `config.toml`, `summary.json` | [`Contents::Run`], finished | may be extended or overwritten |
//! | `.replacing` or `.replaced` | an overwrite without a checkpoint | rolled back when opened |
//! | `.discarded` | an overwrite that is committed | removed when opened |
//!
//! Every transition is a rename, so a kill leaves one state or the next; [`RunFolder::open`] brings
//! the folder back to one of the first three. The process that trains holds a lock.

pub(in crate::train) mod ops;
pub(in crate::train) mod overwrite;
pub(in crate::train) mod repair;
#[cfg(test)]
mod tests;

use super::checkpoint;
use super::config::RunConfig;
use crate::error::{Error, ModelPresence, Result, RunError, RunProgress};
use crate::files::{create_folder, is_temporary};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The settings: what makes a folder a run's.
pub(super) const CONFIG: &str = "config.toml";

/// Everything a run writes into its folder; the settings last, so that a folder that is half
/// cleared is still known as a run's.
const ENTRIES: [&str; 10] = [
    "metrics.jsonl",
    "summary.json",
    "report.html",
    "translations.txt",
    "tokenizer",
    "cache",
    "checkpoints",
    "snapshots",
    "model",
    CONFIG,
];

/// Locked by the process that trains.
const LOCK: &str = ".lock";

/// The chart of a learning-rate search, which may be there before the run.
pub const FIND_LR: &str = "find-lr.svg";

/// What to do with a folder that contains a run already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStart {
    /// Refuse it.
    New,
    /// Resume from its newest checkpoint; start where there is none.
    Resume,
    /// Replace it, once the new run has a checkpoint.
    Overwrite,
}

/// What a folder contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Nothing of a run.
    Empty,
    /// A run.
    Run(RunProgress),
}

impl Contents {
    /// What is in `folder`, as far as can be seen without changing anything.
    ///
    /// # Errors
    /// [`RunError::ForeignFolder`] if it contains something else, [`RunError::ConfigMissing`] if it
    /// contains a run without its settings.
    pub fn of(folder: &Path) -> Result<Self> {
        let config = folder.join(CONFIG);
        let metrics = fs::metadata(folder.join("metrics.jsonl"));
        let has_trained = metrics.is_ok_and(|file| file.len() > 0)
            || checkpoint::list(folder).is_ok_and(|all| !all.is_empty());
        if config.is_file() && (has_trained || is_written_by_a_run(&config)) {
            let finished = folder.join("summary.json").is_file();
            let progress = if finished { RunProgress::Finished } else { RunProgress::Unfinished };
            return Ok(Contents::Run(progress));
        }
        if !config.exists() && has_trained {
            return Err(RunError::ConfigMissing { config }.into());
        }
        let mut listed = match fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Contents::Empty),
            Err(e) => return Err(Error::io("look into", folder, e)),
        };
        let foreign = |entry: std::io::Result<fs::DirEntry>| {
            entry.ok().map(|entry| entry.file_name()).filter(|name| !may_precede_a_run(name))
        };
        match listed.find_map(foreign) {
            None => Ok(Contents::Empty),
            Some(name) => {
                let (folder, entry) = (folder.to_path_buf(), name.to_string_lossy().into_owned());
                Err(RunError::ForeignFolder { folder, entry }.into())
            }
        }
    }

    /// Refuses a new run in the folder of another.
    pub(super) fn check(self, folder: &Path, start: RunStart) -> Result<Self, RunError> {
        match (self, start) {
            (Contents::Run(progress), RunStart::New) => {
                Err(RunError::FolderInUse { folder: folder.to_path_buf(), progress })
            }
            _ => Ok(self),
        }
    }
}

/// A locked run folder in one of the states of [`Contents`].
pub struct RunFolder {
    pub(super) path: PathBuf,
    /// The system releases it when the process ends, however it ends.
    _lock: File,
    /// Whether opening it restored a run that was to be overwritten.
    pub(super) restored: bool,
}

impl RunFolder {
    /// Creates or opens a folder, locks it, and recovers from a kill: an overwrite that has no
    /// checkpoint is rolled back.
    ///
    /// # Errors
    /// [`RunError::Locked`] if another process trains there; if a file cannot be moved.
    pub fn open(path: &Path) -> Result<Self> {
        create_folder(path)?;
        let lock = lock(path)?;
        let restored = overwrite::roll_back(path)?;
        Ok(Self { path: path.to_path_buf(), _lock: lock, restored })
    }

    /// Removes the folder itself, if nothing is left in it but the lock.
    pub(super) fn remove_if_empty(self) {
        let _ = fs::remove_file(self.path.join(LOCK));
        let _ = fs::remove_dir(&self.path);
    }

    /// A finished run without checkpoints cannot be resumed, and starting it again would overwrite
    /// its model.
    pub(super) fn check_resumable(&self) -> Result<()> {
        let is_finished = self.path.join("summary.json").is_file();
        if !is_finished || !checkpoint::list(&self.path)?.is_empty() {
            return Ok(());
        }
        let model = match self.path.join("model").join("model.safetensors").is_file() {
            true => ModelPresence::Present,
            false => ModelPresence::Missing,
        };
        Err(RunError::FinishedWithoutCheckpoint { folder: self.path.clone(), model }.into())
    }
}

/// A `config.toml` may also be the user's own: then it is not, byte for byte, what a run writes.
fn is_written_by_a_run(config: &Path) -> bool {
    let Ok(text) = fs::read_to_string(config) else { return false };
    RunConfig::parse_saved(&text).is_ok_and(|parsed| parsed.to_toml() == text)
}

/// Whether a path lies in a folder, however the two are written.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// What may be in a folder before a run: also settings that were being written during a kill.
fn may_precede_a_run(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    [LOCK, FIND_LR].contains(&&*text)
        || overwrite::FOLDERS.contains(&&*text)
        || (text.starts_with("config.toml.") && is_temporary(name))
}

/// TensorBoard's files.
pub(super) fn event_files(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names = names.filter(|name| name.to_string_lossy().starts_with("events.out.tfevents."));
    names.map(|name| folder.join(name)).collect()
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(|e| Error::io("write", &path, e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err(RunError::Locked { folder: folder.to_path_buf() }.into())
        }
        Err(fs::TryLockError::Error(e)) => Err(Error::io("lock", &path, e)),
    }
}

/// Everything of a run that is there.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let named: Vec<PathBuf> =
        ENTRIES.iter().map(|name| folder.join(name)).filter(|path| path.exists()).collect();
    event_files(folder).into_iter().chain(named)
}

fn clear(folder: &Path) -> Result<()> {
    entries(folder).try_for_each(|path| ops::remove(&path))
}
