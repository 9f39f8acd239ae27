//! Checkpoints: everything a run needs to go on as if it had never stopped.
//!
//! ```text
//! checkpoints/step-00000200/  state.json          where the run stands
//!                             numbers.safetensors weights, moments and average, as flat blocks
//!                             manifest.json       size and hash of the two, written last
//! ```
//!
//! A checkpoint is written into a folder aside, flushed and renamed, and only then are old ones removed: whatever happens, the last good one is
//! there. One whose files are not what its manifest says is passed over, by name, and then renamed, so that it is never taken for the newest.
//!
//! Some are regular: every `train.checkpoint_every` steps, and the last. Those that somebody's Ctrl-C adds do not count among the ones that are
//! kept, nor in an average: a run that was stopped ends with what it would have had.

use crate::error::{Error, Result};
use crate::files::{create_folder, write_aside};
use crate::hash::{Xxh64, hash_bytes};
use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

const STATE: &str = "state.json";
const NUMBERS: &str = "numbers.safetensors";
const MANIFEST: &str = "manifest.json";
/// Before the name of a checkpoint that is being replaced by another of the same step.
const REPLACED: &str = "replaced-";

/// Where a run stands, besides its numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Tokens seen.
    pub tokens: u64,
    /// When the run began, in seconds since 1970.
    pub started: u64,
    /// Seconds of training, over all sittings.
    pub seconds: f64,
    /// The best validation loss so far, as the bits of an f64: a decimal would lose some.
    pub best_bits: Option<u64>,
    /// At which step.
    pub best_step: u64,
    /// Hash of the file that its weights were saved to: what lies there later may be of another moment.
    #[serde(default)]
    pub best_hash: Option<u64>,
    /// Validations since then.
    pub since_best: u64,
    /// Bytes of `metrics.jsonl` that were written before it.
    pub metrics_bytes: u64,
    /// What the run learns from: what it is, and its hash.
    pub sources: Vec<(String, u64)>,
    /// Sums since the last line of metrics, so that the next one is about the same steps whether the run was stopped or not.
    #[serde(default)]
    pub since: Since,
}

/// Sums since the last line of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Since {
    /// Σ loss · targets, as the bits of an f64.
    pub loss_bits: u64,
    /// Tokens that were predicted.
    pub targets: u64,
    /// Tokens that were read or predicted.
    pub tokens: u64,
    /// Seconds of training.
    pub seconds: f64,
}

impl Since {
    /// One step more.
    pub fn add(&mut self, loss: f32, targets: usize, tokens: usize, seconds: f64) {
        self.loss_bits = (f64::from_bits(self.loss_bits) + f64::from(loss) * targets as f64).to_bits();
        self.targets += targets as u64;
        self.tokens += tokens as u64;
        self.seconds += seconds;
    }

    /// The mean loss a token.
    pub fn loss(&self) -> f64 {
        f64::from_bits(self.loss_bits) / self.targets as f64
    }
}

impl State {
    /// The best validation loss so far.
    pub fn best(&self) -> Option<f64> {
        self.best_bits.map(f64::from_bits)
    }
}

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
pub(super) fn mend(folder: &Path) -> Result<()> {
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
pub(super) fn set_apart(place: &Path) -> Result<()> {
    let Some(name) = place.file_name() else { return Ok(()) };
    let apart = place.with_file_name(format!("damaged-{}", name.to_string_lossy()));
    let _ = fs::remove_dir_all(&apart);
    fs::rename(place, &apart).map_err(|e| Error::io("rename", place, &e))
}

fn name(step: u64) -> String {
    format!("step-{step:08}")
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

#[derive(Serialize, Deserialize)]
struct FileHash {
    name: String,
    bytes: u64,
    xxh64: u64,
}

/// All checkpoints of a run, oldest first.
pub fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let all = folder.join("checkpoints");
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("look into", &all, &e)),
    };
    let mut found: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            Some((name.to_str()?.strip_prefix("step-")?.parse().ok()?, entry.path()))
        })
        .collect();
    found.sort();
    Ok(found)
}

/// Checkpoints that cannot be used: where each is, and what is wrong with it.
pub type Damaged = Vec<(PathBuf, Error)>;

/// A checkpoint, read and found to be undamaged.
#[derive(Debug)]
pub struct Checkpoint {
    /// Where the run stood.
    pub state: State,
    place: PathBuf,
    numbers: Vec<u8>,
}

impl Checkpoint {
    /// The newest undamaged checkpoint of a run, and newer ones, with what is wrong with each.
    pub fn newest(folder: &Path) -> Result<(Option<Self>, Damaged)> {
        let mut damaged = Vec::new();
        for (_, place) in list(folder)?.into_iter().rev() {
            match Self::open(&place) {
                Ok(checkpoint) => return Ok((Some(checkpoint), damaged)),
                Err(error) => damaged.push((place, error)),
            }
        }
        Ok((None, damaged))
    }

    /// One checkpoint.
    pub fn open(place: &Path) -> Result<Self> {
        let read = |name: &str| -> Result<Vec<u8>> {
            let path = place.join(name);
            fs::read(&path).map_err(|e| Error::io("read", &path, &e))
        };
        let json = |name: &str, e: serde_json::Error| Error::format(&place.join(name), e);
        let manifest: Vec<FileHash> =
            serde_json::from_slice(&read(MANIFEST)?).map_err(|e| json(MANIFEST, e))?;
        let checked = |name: &str| -> Result<Vec<u8>> {
            let bytes = read(name)?;
            let noted = manifest.iter().find(|file| file.name == name);
            if noted.is_none_or(|file| file.bytes != bytes.len() as u64 || file.xxh64 != hash_bytes(&bytes)) {
                return Err(Error::format(
                    &place.join(name),
                    "it is not what was written: damaged or cut short",
                ));
            }
            Ok(bytes)
        };
        let state = serde_json::from_slice(&checked(STATE)?).map_err(|e| json(STATE, e))?;
        let numbers = checked(NUMBERS)?;
        check_finite(&numbers).map_err(|what| Error::format(&place.join(NUMBERS), what))?;
        Ok(Self { state, place: place.to_path_buf(), numbers })
    }

    /// Copies a block into `to`.
    pub fn read(&self, name: &str, to: &mut [f32]) -> Result<()> {
        let path = self.place.join(NUMBERS);
        let wrong =
            |what: String| Error::format(&path, what).hint("it is of another model or another version");
        let tensors = SafeTensors::deserialize(&self.numbers).map_err(|e| wrong(e.to_string()))?;
        let view = tensors.tensor(name).map_err(|_| wrong(format!("there is no '{name}' in it")))?;
        if view.dtype() != Dtype::F32 || view.data().len() != 4 * to.len() {
            let there = view.data().len() / 4;
            return Err(wrong(format!("'{name}' has {there} numbers, the model {}", to.len())));
        }
        for (to, from) in to.iter_mut().zip(view.data().chunks_exact(4)) {
            *to = f32::from_le_bytes(from.try_into().expect("four bytes"));
        }
        Ok(())
    }
}

/// A checkpoint with a number that is none is as good as damaged, whatever wrote it.
fn check_finite(numbers: &[u8]) -> std::result::Result<(), String> {
    let tensors = SafeTensors::deserialize(numbers).map_err(|e| e.to_string())?;
    for (name, view) in tensors.iter().filter(|(_, view)| view.dtype() == Dtype::F32) {
        let numbers = || view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        if let Some((at, x)) = numbers().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(format!("number {at} of '{name}' is {x}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("limpid-checkpoint-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        create_folder(&folder).unwrap();
        folder
    }

    fn state(step: u64) -> State {
        State { step, best_bits: Some(0.1_f64.to_bits()), ..State::default() }
    }

    fn two() -> Keep {
        Keep { count: 2, every: 1, last: 100 }
    }

    fn steps(folder: &Path) -> Vec<u64> {
        list(folder).unwrap().iter().map(|(step, _)| *step).collect()
    }

    #[test]
    fn what_an_interruption_adds_pushes_no_regular_checkpoint_out() {
        let folder = scratch("regular");
        let keep = Keep { count: 2, every: 10, last: 35 };
        for step in [10, 20, 23, 27, 30] {
            save(&folder, &state(step), &[("params", &[1.0])], keep).unwrap();
        }
        assert_eq!(steps(&folder), [20, 30]);
        save(&folder, &state(33), &[("params", &[1.0])], keep).unwrap();
        assert_eq!(steps(&folder), [20, 30, 33]);
        save(&folder, &state(35), &[("params", &[1.0])], keep).unwrap();
        assert_eq!(steps(&folder), [30, 35]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_a_kill_left_behind_is_removed_or_put_back() {
        let folder = scratch("mend");
        for step in [1, 2] {
            save(&folder, &state(step), &[("params", &[1.0])], two()).unwrap();
        }
        let at = |name: &str| folder.join("checkpoints").join(name);
        create_folder(&at("aside-77")).unwrap();
        create_folder(&at("replaced-step-00000001")).unwrap();
        fs::rename(at("step-00000002"), at("replaced-step-00000002")).unwrap();
        mend(&folder).unwrap();
        assert_eq!(steps(&folder), [1, 2]);
        assert_eq!(fs::read_dir(folder.join("checkpoints")).unwrap().count(), 2);
        assert_eq!(Checkpoint::newest(&folder).unwrap().0.unwrap().state.step, 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_read_is_what_was_written_and_only_the_newest_are_kept() {
        let folder = scratch("keep");
        let numbers = [1.5, -0.0, f32::MIN_POSITIVE / 8.0];
        for step in [1, 20, 3] {
            save(&folder, &state(step), &[("params", &numbers)], two()).unwrap();
        }
        assert_eq!(steps(&folder), [3, 20]);
        let (checkpoint, damaged) = Checkpoint::newest(&folder).unwrap();
        let checkpoint = checkpoint.unwrap();
        assert_eq!((checkpoint.state.clone(), damaged.len()), (state(20), 0));
        let mut read = [0.0; 3];
        checkpoint.read("params", &mut read).unwrap();
        assert_eq!(read.map(f32::to_bits), numbers.map(f32::to_bits));
        assert!(checkpoint.read("m", &mut read).unwrap_err().to_string().contains("no 'm'"));
        assert!(checkpoint.read("params", &mut read[..2]).unwrap_err().to_string().contains("3 numbers"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_damaged_checkpoint_is_named_and_the_one_before_it_is_used() {
        for (file, change) in [(NUMBERS, 0), (STATE, 1), (MANIFEST, 2), (NUMBERS, 3)] {
            let folder = scratch("damage");
            save(&folder, &state(1), &[("params", &[1.0; 9])], two()).unwrap();
            save(&folder, &state(2), &[("params", &[2.0; 9])], two()).unwrap();
            let path = folder.join("checkpoints").join(name(2)).join(file);
            let mut bytes = fs::read(&path).unwrap();
            match change {
                0 => bytes.truncate(bytes.len() - 5),
                1 => bytes[3] ^= 4,
                2 => bytes.clear(),
                _ => *bytes.last_mut().unwrap() ^= 1,
            }
            fs::write(&path, bytes).unwrap();
            let (checkpoint, damaged) = Checkpoint::newest(&folder).unwrap();
            assert_eq!(checkpoint.unwrap().state.step, 1);
            assert!(damaged.len() == 1 && damaged[0].1.to_string().contains(file), "{damaged:?}");
            set_apart(&damaged[0].0).unwrap();
            assert_eq!(list(&folder).unwrap().len(), 1);
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn a_checkpoint_with_numbers_that_are_not_finite_is_passed_over() {
        let folder = scratch("nan");
        save(&folder, &state(1), &[("params", &[1.0, 2.0])], two()).unwrap();
        save(&folder, &state(2), &[("params", &[1.0, f32::NAN])], two()).unwrap();
        let (checkpoint, damaged) = Checkpoint::newest(&folder).unwrap();
        assert_eq!(checkpoint.unwrap().state.step, 1);
        assert!(damaged.len() == 1 && damaged[0].1.to_string().contains("number 1 of 'params' is NaN"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
