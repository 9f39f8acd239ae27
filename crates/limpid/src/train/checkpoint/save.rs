//! Writing a checkpoint, and which ones stay.

use super::{FileHash, MANIFEST, NUMBERS, STATE, State, list, name};
use crate::error::{Error, Result};
use crate::files::{create_folder, write_aside};
use crate::hash::{Xxh64, hash_bytes};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Before the name of a checkpoint that is being replaced by another of the same step.
const REPLACED: &str = "replaced-";

/// Named blocks of numbers.
pub type Numbers<'a> = [(&'static str, &'a [f32])];

/// Which checkpoints stay.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// So many regular ones; besides, the newest of all.
    pub count: usize,
    /// Steps from one regular one to the next; 0 for the last alone.
    pub every: u64,
    /// The run's last step.
    pub last: u64,
}

impl Keep {
    /// Whether an undisturbed run would have this one, too.
    pub fn is_regular(&self, step: u64) -> bool {
        step == self.last || (self.every > 0 && step.is_multiple_of(self.every))
    }

    /// Those that may go, of all that there are, oldest first.
    fn superfluous(&self, all: Vec<(u64, PathBuf)>) -> Vec<PathBuf> {
        let (mut regular, mut superfluous) = (0, Vec::new());
        for (i, (step, place)) in all.into_iter().rev().enumerate() {
            let is_regular = self.is_regular(step);
            regular += usize::from(is_regular);
            if i > 0 && !(is_regular && regular <= self.count.max(1)) {
                superfluous.push(place);
            }
        }
        superfluous
    }
}

/// Writes a checkpoint and removes those that need not stay.
pub fn save(folder: &Path, state: &State, numbers: &Numbers, keep: Keep) -> Result<()> {
    let all = folder.join("checkpoints");
    create_folder(&all)?;
    let aside = all.join(format!("aside-{}", std::process::id()));
    let _ = fs::remove_dir_all(&aside);
    create_folder(&aside)?;
    let written = write(&aside, state, numbers).and_then(|()| {
        let (place, old) = (all.join(name(state.step)), all.join(format!("{REPLACED}{}", name(state.step))));
        // The same step again: the old one goes when the new one is there.
        let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|e| Error::io("rename", to, &e));
        let replaces = place.exists();
        if replaces {
            let _ = fs::remove_dir_all(&old);
            rename(&place, &old)?;
        }
        rename(&aside, &place).inspect_err(|_| {
            if replaces {
                let _ = fs::rename(&old, &place);
            }
        })?;
        let _ = fs::remove_dir_all(&old);
        Ok(())
    });
    if let Err(error) = written {
        // Nothing half-written stays behind; that it cannot be removed changes nothing about the error.
        let _ = fs::remove_dir_all(&aside);
        return Err(error);
    }
    // The rename itself reaches the disk with its folder. Not every system can flush one.
    let _ = fs::File::open(&all).and_then(|folder| folder.sync_all());
    for old in keep.superfluous(list(folder)?) {
        // One too many is no reason to stop.
        let _ = fs::remove_dir_all(old);
    }
    Ok(())
}

/// After a kill: what was being written is removed, what was about to be replaced is put back.
pub(in crate::train) fn mend(folder: &Path) -> Result<()> {
    let all = folder.join("checkpoints");
    for path in fs::read_dir(&all).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let remove = || fs::remove_dir_all(&path).map_err(|e| Error::io("remove", &path, &e));
        match name.strip_prefix(REPLACED).map(|name| all.join(name)) {
            Some(place) if !place.exists() => {
                fs::rename(&path, &place).map_err(|e| Error::io("rename", &place, &e))?
            }
            Some(_) => remove()?,
            None if name.starts_with("aside-") => remove()?,
            None => {}
        }
    }
    Ok(())
}

/// Renames a damaged checkpoint, so that the next one to be written is the newest.
pub(in crate::train) fn set_apart(place: &Path) -> Result<()> {
    let Some(name) = place.file_name() else { return Ok(()) };
    let apart = place.with_file_name(format!("damaged-{}", name.to_string_lossy()));
    let _ = fs::remove_dir_all(&apart);
    fs::rename(place, &apart).map_err(|e| Error::io("rename", place, &e))
}

fn write(aside: &Path, state: &State, numbers: &Numbers) -> Result<()> {
    let state = serde_json::to_vec_pretty(state).expect("a state is JSON");
    write_aside(&aside.join(STATE), &state)?;
    let path = aside.join(NUMBERS);
    let (bytes, xxh64) = write_numbers(&path, numbers).map_err(|e| Error::io("write", &path, &e))?;
    let manifest = [
        FileHash { name: STATE.into(), bytes: state.len() as u64, xxh64: hash_bytes(&state) },
        FileHash { name: NUMBERS.into(), bytes, xxh64 },
    ];
    write_aside(&aside.join(MANIFEST), &serde_json::to_vec_pretty(&manifest).expect("a list is JSON"))
}

/// Numbers that are turned into bytes at a time.
const AT_A_TIME: usize = 1 << 16;

/// Writes the blocks one behind the other, without a copy of them, and flushes. Says how many bytes were written, and their hash: that of what
/// was meant, not of what a disk gives back.
///
/// ```text
/// length of the table (u64)  table of contents (JSON)  blocks
/// ```
fn write_numbers(path: &Path, numbers: &Numbers) -> std::io::Result<(u64, u64)> {
    let mut end = 0;
    let entry = |(name, block): &(&str, &[f32])| {
        let start = end;
        end += 4 * block.len();
        (name.to_string(), json!({ "dtype": "F32", "shape": [block.len()], "data_offsets": [start, end] }))
    };
    let mut table = Value::Object(numbers.iter().map(entry).collect()).to_string();
    // The blocks begin at a multiple of eight bytes, as the format wishes.
    table.extend(std::iter::repeat_n(' ', table.len().next_multiple_of(8) - table.len()));
    let mut file = fs::File::create(path)?;
    let (mut hash, mut written) = (Xxh64::default(), 0);
    let mut put = |bytes: &[u8]| {
        hash.update(bytes);
        written += bytes.len() as u64;
        file.write_all(bytes)
    };
    put(&(table.len() as u64).to_le_bytes())?;
    put(table.as_bytes())?;
    let mut bytes = Vec::with_capacity(4 * AT_A_TIME);
    for part in numbers.iter().flat_map(|(_, block)| block.chunks(AT_A_TIME)) {
        bytes.clear();
        bytes.extend(part.iter().flat_map(|x| x.to_le_bytes()));
        put(&bytes)?;
    }
    file.sync_all()?;
    Ok((written, hash.finish()))
}
