//! Writing a checkpoint, and which ones are kept.

use super::source::{PIECE, TensorSource};
use super::{FileHash, MANIFEST, STATE, State, TENSORS, list, name};
use crate::error::{Error, Result};
use crate::files::write_atomic;
use crate::hash::{Xxh64, hash_bytes};
use crate::train::run_folder::ops;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Prefix of a checkpoint that is being written, before the id of the process.
const TEMPORARY: &str = "tmp-";
/// Prefix of a checkpoint that is being replaced by another of the same step.
const REPLACED: &str = "replaced-";

/// Named flat tensors.
pub type Tensors<'a> = [(&'static str, &'a [f32])];

/// Which checkpoints are kept.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// This many regular ones, and the newest of all.
    pub count: usize,
    /// Steps between regular ones; 0 for the last step only.
    pub every: u64,
    /// The run's last step.
    pub last: u64,
}

impl Keep {
    /// Whether an uninterrupted run would have this one, too.
    pub fn is_regular(&self, step: u64) -> bool {
        step == self.last || (self.every > 0 && step.is_multiple_of(self.every))
    }

    /// Those of `all`, oldest first, that are to be removed.
    fn outdated(&self, all: Vec<(u64, PathBuf)>) -> Vec<PathBuf> {
        let (mut regular, mut outdated) = (0, Vec::new());
        for (i, (step, place)) in all.into_iter().rev().enumerate() {
            let is_regular = self.is_regular(step);
            regular += usize::from(is_regular);
            if i > 0 && !(is_regular && regular <= self.count.max(1)) {
                outdated.push(place);
            }
        }
        outdated
    }
}

/// Writes a checkpoint, then removes those that are not kept.
///
/// # Errors
/// If a file cannot be written; earlier checkpoints are still there.
pub fn save(folder: &Path, state: &State, tensors: &Tensors, keep: Keep) -> Result<()> {
    let mut sources = Vec::with_capacity(tensors.len());
    for (name, values) in tensors {
        sources.push(TensorSource::flat(name, values));
    }
    save_from(folder, state, &mut sources, keep)
}

/// The same with tensors that are read piece by piece.
///
/// # Errors
/// If a file cannot be written, or a tensor cannot be read; earlier checkpoints are still there.
pub fn save_from(
    folder: &Path,
    state: &State,
    tensors: &mut [TensorSource],
    keep: Keep,
) -> Result<()> {
    let all = folder.join("checkpoints");
    let temporary = all.join(format!("{TEMPORARY}{}", std::process::id()));
    ops::remove(&temporary)?;
    ops::create(&temporary)?;
    let written = write(&temporary, state, tensors)
        .and_then(|()| replace(&temporary, &all.join(name(state.step))));
    if let Err(error) = written {
        // Nothing half-written is left; if it cannot be removed, the first error is the one to
        // report.
        let _ = ops::remove(&temporary);
        return Err(error);
    }
    // A rename is durable once its folder is flushed. Not every system can flush one.
    let _ = fs::File::open(&all).and_then(|folder| folder.sync_all());
    for old in keep.outdated(list(folder)?) {
        // One checkpoint too many is no reason to stop training.
        let _ = discard(&old);
    }
    Ok(())
}

/// Puts a complete checkpoint where it belongs. One of the same step is moved out of the way first,
/// and removed afterwards.
fn replace(temporary: &Path, path: &Path) -> Result<()> {
    if !path.exists() {
        return ops::rename(temporary, path);
    }
    let old = with_prefix(path, REPLACED);
    ops::remove(&old)?;
    ops::rename(path, &old)?;
    ops::rename(temporary, path).inspect_err(|_| drop(ops::rename(&old, path)))?;
    // What cannot be removed now is removed when the run is resumed.
    let _ = ops::remove(&old);
    Ok(())
}

/// Removes a checkpoint. Its name goes first: half of one is never taken for a checkpoint.
fn discard(path: &Path) -> Result<()> {
    let unnamed = with_prefix(path, TEMPORARY);
    ops::rename(path, &unnamed)?;
    ops::remove(&unnamed)
}

fn with_prefix(path: &Path, prefix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{prefix}{name}"))
}

/// After a kill: removes a checkpoint that was being written or removed, and restores one that was
/// being replaced.
///
/// # Errors
/// If a folder cannot be renamed or removed.
pub(in crate::train) fn recover(folder: &Path) -> Result<()> {
    let all = folder.join("checkpoints");
    for path in fs::read_dir(&all).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        match name.strip_prefix(REPLACED).map(|name| all.join(name)) {
            Some(original) if !original.exists() => ops::rename(&path, &original)?,
            Some(_) => ops::remove(&path)?,
            None if name.starts_with(TEMPORARY) => ops::remove(&path)?,
            None => {}
        }
    }
    Ok(())
}

/// Renames a damaged checkpoint, so that it is never taken for the newest.
pub(in crate::train) fn quarantine(path: &Path) -> Result<()> {
    let quarantined = with_prefix(path, "damaged-");
    ops::remove(&quarantined)?;
    ops::rename(path, &quarantined)
}

fn write(temporary: &Path, state: &State, tensors: &mut [TensorSource]) -> Result<()> {
    let state = serde_json::to_vec_pretty(state).expect("a state is JSON");
    write_atomic(&temporary.join(STATE), &state)?;
    let path = temporary.join(TENSORS);
    let (bytes, xxh64) = write_tensors(&path, tensors)?;
    let manifest = [
        FileHash { name: STATE.into(), bytes: state.len() as u64, xxh64: hash_bytes(&state) },
        FileHash { name: TENSORS.into(), bytes, xxh64 },
    ];
    write_atomic(
        &temporary.join(MANIFEST),
        &serde_json::to_vec_pretty(&manifest).expect("a list is JSON"),
    )
}

/// Writes a safetensors file without a copy of the tensors, and flushes it. Returns its length and
/// the hash of the bytes that were meant to be written, not of what the disk returns.
///
/// ```text
/// length of the header (u64)  header (JSON)  tensors
/// ```
fn write_tensors(path: &Path, tensors: &mut [TensorSource]) -> Result<(u64, u64)> {
    let mut end = 0;
    let entry = |tensor: &TensorSource| {
        let start = end;
        end += 4 * tensor.len;
        (
            tensor.name.to_string(),
            json!({ "dtype": "F32", "shape": [tensor.len], "data_offsets": [start, end] }),
        )
    };
    let mut header = Value::Object(tensors.iter().map(entry).collect()).to_string();
    // Tensors begin at a multiple of eight bytes, as the format asks.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    let failed = |e| Error::io("write", path, e);
    let mut file = fs::File::create(path).map_err(failed)?;
    let (mut hash, mut written) = (Xxh64::default(), 0);
    let mut put = |bytes: &[u8]| {
        hash.update(bytes);
        written += bytes.len() as u64;
        file.write_all(bytes).map_err(failed)
    };
    put(&(header.len() as u64).to_le_bytes())?;
    put(header.as_bytes())?;
    let (mut values, mut bytes) = (vec![0.0; PIECE], Vec::with_capacity(4 * PIECE));
    for tensor in tensors {
        for start in (0..tensor.len).step_by(PIECE) {
            let piece = &mut values[..PIECE.min(tensor.len - start)];
            tensor.read(piece)?;
            bytes.clear();
            bytes.extend(piece.iter().flat_map(|x| x.to_le_bytes()));
            put(&bytes)?;
        }
    }
    file.sync_all().map_err(failed)?;
    Ok((written, hash.finish()))
}
