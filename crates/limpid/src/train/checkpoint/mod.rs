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

mod open;
mod save;
mod state;

pub use open::{Checkpoint, Damaged};
pub use save::{Keep, Numbers, save};
pub(super) use save::{mend, set_apart};
pub use state::{Since, State};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const STATE: &str = "state.json";
const NUMBERS: &str = "numbers.safetensors";
const MANIFEST: &str = "manifest.json";

/// A line of the manifest.
#[derive(Serialize, Deserialize)]
struct FileHash {
    name: String,
    bytes: u64,
    xxh64: u64,
}

fn name(step: u64) -> String {
    format!("step-{step:08}")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::create_folder;

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
