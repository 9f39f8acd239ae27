//! One run in the place of another, with `--force`: the old one waits until the new one has saved something, and is put back if it never does.

use super::folder::{clear, ours};
use crate::error::{Error, Result};
use crate::files::create_folder;
use std::fs;
use std::path::Path;

/// Where the run that `--force` replaces waits until the new one has a checkpoint: first while it is moved, then as a whole, then to be removed. Renaming
/// the folder is what takes a step, so that a kill at any moment leaves one of the two runs complete.
const MOVING: &str = ".replacing";
const ASIDE: &str = crate::hub::REPLACED;
const DISCARDED: &str = ".discarded";
/// What may stand beside a run, or alone.
pub(super) const FOLDERS: [&str; 3] = [MOVING, ASIDE, DISCARDED];

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io("rename", from, &e))
}

/// Moves a run aside.
pub(super) fn set_aside(folder: &Path) -> Result<()> {
    let moving = folder.join(MOVING);
    create_folder(&moving)?;
    for path in ours(folder) {
        rename(&path, &moving.join(path.file_name().unwrap_or_default()))?;
    }
    rename(&moving, &folder.join(ASIDE))
}

/// Whether a run waits here for its successor's first checkpoint.
pub(super) fn is_waiting(folder: &Path) -> bool {
    [MOVING, ASIDE].iter().any(|name| folder.join(name).is_dir())
}

/// Moves a run back whose successor has saved nothing; says whether there was one.
pub(super) fn put_back(folder: &Path) -> Result<bool> {
    let waited = is_waiting(folder);
    let (moving, aside) = (folder.join(MOVING), folder.join(ASIDE));
    remove_discarded(folder);
    if aside.is_dir() {
        clear(folder)?;
        rename(&aside, &moving)?;
    }
    if moving.is_dir() {
        // First what makes the folder a run's: if this ends half-way, the next one who opens it goes on here.
        let mut names: Vec<_> =
            fs::read_dir(&moving).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
        names.sort_by_key(|name| name != "config.toml");
        for name in names {
            rename(&moving.join(&name), &folder.join(&name))?;
        }
        let _ = fs::remove_dir(&moving);
    }
    Ok(waited)
}

/// Removes it: the new one has a checkpoint.
pub(super) fn discard(folder: &Path) -> Result<()> {
    let aside = folder.join(ASIDE);
    if aside.is_dir() {
        rename(&aside, &folder.join(DISCARDED))?;
    }
    remove_discarded(folder);
    Ok(())
}

fn remove_discarded(folder: &Path) {
    // What cannot be removed now is tried again next time.
    let _ = fs::remove_dir_all(folder.join(DISCARDED));
}
