//! One run in the place of another: the old one waits until the new one has a checkpoint, and is
//! restored if it never gets one.
//!
//! ```text
//! begin      the run's entries move into .replacing, which is renamed to .replaced
//! commit     .replaced is renamed to .discarded and removed        (the new run has a checkpoint)
//! roll back  what the new run has written is removed, .replaced is renamed to .replacing, and
//!            its entries move back
//! ```
//!
//! Renaming one of these folders is what takes a step, so a kill at any moment leaves one of the
//! two runs complete: with .replacing or .replaced the old one, else the new one.

use super::ops::{create, remove, rename};
use super::{CONFIG, clear, entries};
use crate::error::Result;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The old run, while its entries are moved.
const MOVING: &str = ".replacing";
/// The old run, complete.
const WAITING: &str = crate::hub::REPLACED;
/// The old run, about to be removed.
const DISCARDED: &str = ".discarded";
/// What may lie beside a run, or alone.
pub(super) const FOLDERS: [&str; 3] = [MOVING, WAITING, DISCARDED];

/// Moves the run in `folder` out of the way of a new one, until [`commit`] or [`undo`]. If a file
/// cannot be moved, opening the folder again restores it.
pub(in crate::train) fn begin(folder: &Path) -> Result<()> {
    let moving = folder.join(MOVING);
    create(&moving)?;
    for path in entries(folder) {
        rename(&path, &moving.join(path.file_name().unwrap_or_default()))?;
    }
    rename(&moving, &folder.join(WAITING))
}

/// Whether an old run waits here for the first checkpoint of a new one: then what
/// [`Contents::of`](super::Contents::of) sees is not the run.
pub(in crate::train) fn is_pending(folder: &Path) -> bool {
    [MOVING, WAITING].iter().any(|name| folder.join(name).is_dir())
}

/// Removes the old run: the new one has a checkpoint.
pub(in crate::train) fn commit(folder: &Path) -> Result<()> {
    let waiting = folder.join(WAITING);
    if waiting.is_dir() {
        rename(&waiting, &folder.join(DISCARDED))?;
    }
    remove_discarded(folder);
    Ok(())
}

/// Restores an old run whose successor has no checkpoint; says whether there was one.
pub(super) fn roll_back(folder: &Path) -> Result<bool> {
    let pending = is_pending(folder);
    let (moving, waiting) = (folder.join(MOVING), folder.join(WAITING));
    remove_discarded(folder);
    if waiting.is_dir() {
        clear(folder)?;
        rename(&waiting, &moving)?;
    }
    if moving.is_dir() {
        // First what makes the folder a run's, so that one restored half-way is still known as one.
        let listed = fs::read_dir(&moving).into_iter().flatten().flatten();
        let mut names: Vec<OsString> = listed.map(|entry| entry.file_name()).collect();
        names.sort_by_key(|name| name != CONFIG);
        for name in names {
            rename(&moving.join(&name), &folder.join(&name))?;
        }
        remove(&moving)?;
    }
    Ok(pending)
}

/// Removes what a new run has written, and restores the one that it was to overwrite. If a file
/// cannot be moved, opening the folder again finishes it.
pub(in crate::train) fn undo(folder: &Path) -> Result<()> {
    if is_pending(folder) { roll_back(folder).map(drop) } else { clear(folder) }
}

fn remove_discarded(folder: &Path) {
    // What cannot be removed now is tried again next time.
    let _ = remove(&folder.join(DISCARDED));
}
