//! The folder of a run: what may be in it, what of it is the run's, and who may write there.

use super::checkpoint;
use super::config::RunConfig;
use super::replace;
use super::setup::Beginning;
use crate::error::{Error, Result};
use crate::files::is_aside;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Everything a run writes into its folder; last what makes it a run's, so that one that is half removed still is.
const OURS: [&str; 9] = [
    "metrics.jsonl",
    "summary.json",
    "report.html",
    "translations.txt",
    "tokenizer",
    "cache",
    "checkpoints",
    "model",
    "config.toml",
];

/// Held by the process that trains.
pub(super) const LOCK: &str = ".lock";

/// The picture that `--find-lr` leaves in a folder, which may become a run's.
pub const FIND_LR: &str = "find-lr.svg";

/// Whether a folder holds a run, if one may begin or go on there.
pub(super) fn check_folder(folder: &Path, beginning: Beginning) -> Result<bool> {
    let config = folder.join("config.toml");
    let has_metrics = fs::metadata(folder.join("metrics.jsonl")).is_ok_and(|file| file.len() > 0);
    let has_begun = has_metrics || checkpoint::list(folder).is_ok_and(|all| !all.is_empty());
    if config.is_file() && (has_begun || is_written_by_a_run(&config)) {
        if beginning != Beginning::Fresh {
            return Ok(true);
        }
        let finished = if folder.join("summary.json").is_file() { "a finished run" } else { "a run" };
        let resume = format!("limpid train {} --resume", config.display());
        return Err(Error::config(format!("{} holds {finished} already", folder.display())).hint(format!(
            "`{resume}` goes on with it, --force begins anew, --out DIR names another folder"
        )));
    }
    if !config.exists() && has_begun {
        return Err(Error::config(format!("{} is gone: nobody knows what this run was", config.display()))
            .hint("put it back, or give another folder with --out DIR"));
    }
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::io("look into", folder, &e).hint("give a folder with --out DIR")),
    };
    match entries.find_map(|entry| entry.ok().map(|e| e.file_name()).filter(|name| !is_harmless(name))) {
        None => Ok(false),
        Some(name) => Err(Error::config(format!(
            "{} holds something that no run has made: {}",
            folder.display(),
            name.to_string_lossy()
        ))
        .hint("give a new folder with --out DIR")),
    }
}

/// A `config.toml` may also be somebody's own: then it is not, byte for byte, what a run would write.
fn is_written_by_a_run(config: &Path) -> bool {
    let Ok(text) = fs::read_to_string(config) else { return false };
    RunConfig::parse(&text, &[]).is_ok_and(|parsed| parsed.to_toml() == text)
}

/// Whether a path is in a folder, however the two are written.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// What may be in a folder that is to become a run's; also the configuration that somebody was writing when he was killed.
fn is_harmless(name: &OsStr) -> bool {
    let text = name.to_string_lossy();
    [LOCK, FIND_LR].contains(&&*text)
        || replace::FOLDERS.contains(&&*text)
        || (text.starts_with("config.toml.") && is_aside(name))
}

/// TensorBoard's files.
pub(super) fn events(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names = names.filter(|name| name.to_string_lossy().starts_with("events.out.tfevents."));
    names.map(|name| folder.join(name)).collect()
}

/// The system lets go of it when the process ends, however it ends.
pub(super) fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(|e| Error::io("write", &path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Error::config(format!("another process is training in {}", folder.display()))
                .hint("wait for it, stop it, or give another folder with --out DIR"))
        }
        Err(fs::TryLockError::Error(e)) => Err(Error::io("lock", &path, &e)),
    }
}

/// Everything of a run that is there.
pub(super) fn ours(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let named: Vec<PathBuf> =
        OURS.iter().map(|name| folder.join(name)).filter(|path| path.exists()).collect();
    events(folder).into_iter().chain(named)
}

pub(super) fn clear(folder: &Path) -> Result<()> {
    for path in ours(folder) {
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("remove", &path, &e)),
            _ => {}
        }
    }
    Ok(())
}
