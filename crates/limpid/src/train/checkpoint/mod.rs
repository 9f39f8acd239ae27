//! Checkpoints: everything a run needs to resume as if it had never stopped.
//!
//! ```text
//! checkpoints/step-00000200/  state.json         step, best model, sums: [`State`]
//!                             state.safetensors  weights, moments and moving average, flat
//!                             manifest.json      sizes and hashes of the two, written last
//! ```
//!
//! A checkpoint is written into a temporary folder, flushed and renamed, and only then are old ones
//! removed: whatever happens, the last good one is there. One whose files differ from its manifest
//! is skipped with a warning and renamed, so that it is never taken for the newest.
//!
//! Regular checkpoints are those of every `train.checkpoint_every` steps and of the last. One that
//! an interruption adds does not count among those that are kept, nor in an average: an interrupted
//! run ends with the checkpoints of an uninterrupted one.
//!
//! ```
//! use limpid::train::checkpoint;
//!
//! let run = std::env::temp_dir().join("limpid-doc-no-run");
//! assert!(checkpoint::list(&run)?.is_empty()); // (step, folder) of each, the oldest first
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod open;
mod save;
mod source;
mod state;

pub use open::{Checkpoint, Damaged};
pub use save::{Keep, Tensors, save, save_from};
pub(super) use save::{quarantine, recover};
pub use source::{TensorSource, send_slice};
pub use state::{LogSums, State};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const STATE: &str = "state.json";
const TENSORS: &str = "state.safetensors";
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

/// All checkpoints of a run, oldest first: step and path.
///
/// # Errors
/// If the folder cannot be listed.
pub fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let all = folder.join("checkpoints");
    let entries = match fs::read_dir(&all) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("look into", &all, e)),
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
    use crate::train::run_folder::ops::crash_at;

    fn scratch(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("limpid-checkpoint-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        create_folder(&folder).unwrap();
        folder
    }

    fn state(step: u64) -> State {
        State { step, best_loss_bits: Some(0.1_f64.to_bits()), ..State::default() }
    }

    fn two() -> Keep {
        Keep { count: 2, every: 1, last: 100 }
    }

    fn steps(folder: &Path) -> Vec<u64> {
        list(folder).unwrap().iter().map(|(step, _)| *step).collect()
    }

    #[test]
    fn a_checkpoint_of_an_interruption_displaces_no_regular_one() {
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
    fn leftovers_of_a_kill_are_removed_or_restored() {
        let folder = scratch("recover");
        for step in [1, 2] {
            save(&folder, &state(step), &[("params", &[1.0])], two()).unwrap();
        }
        let at = |name: &str| folder.join("checkpoints").join(name);
        create_folder(&at("tmp-77")).unwrap();
        create_folder(&at("replaced-step-00000001")).unwrap();
        fs::rename(at("step-00000002"), at("replaced-step-00000002")).unwrap();
        recover(&folder).unwrap();
        assert_eq!(steps(&folder), [1, 2]);
        assert_eq!(fs::read_dir(folder.join("checkpoints")).unwrap().count(), 2);
        assert_eq!(Checkpoint::newest(&folder).unwrap().0.unwrap().state.step, 2);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// What the newest checkpoint holds after a kill before operation number `kill` of saving this
    /// one, and after recovering, which may be killed too. Says whether saving was not killed.
    fn save_with_kill(folder: &Path, kill: usize, step: u64, value: f32) -> (f32, bool) {
        let finished = crash_at(kill, || {
            let _ = save(folder, &state(step), &[("params", &[value; 5])], two());
        });
        for second in 1.. {
            if crash_at(second, || drop(recover(folder))) {
                break;
            }
        }
        let (checkpoint, damaged) = Checkpoint::newest(folder).unwrap();
        assert!(damaged.is_empty(), "kill {kill}: {damaged:?}");
        let mut read = [0.0; 5];
        checkpoint.unwrap().read("params", &mut read).unwrap();
        (read[0], finished)
    }

    #[test]
    fn a_kill_at_any_moment_of_saving_leaves_the_old_or_the_new_checkpoint() {
        // The next step, and the same one again.
        for step in [4, 3] {
            for kill in 1.. {
                let folder = scratch("kill");
                for old in [1, 2, 3] {
                    save(&folder, &state(old), &[("params", &[old as f32; 5])], two()).unwrap();
                }
                let (found, finished) = save_with_kill(&folder, kill, step, 9.0);
                assert!(found == 9.0 || (found == 3.0 && !finished), "kill {kill}: {found}");
                assert!(steps(&folder).len() <= 3, "kill {kill}: {:?}", steps(&folder));
                fs::remove_dir_all(&folder).unwrap();
                if finished {
                    assert!(kill > 4, "saving has {kill} operations");
                    break;
                }
            }
        }
    }

    #[test]
    fn tensors_are_read_as_written_and_only_the_newest_are_kept() {
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
        assert!(
            checkpoint.read("m", &mut read).unwrap_err().to_string().contains("'m' is missing")
        );
        assert!(
            checkpoint.read("params", &mut read[..2]).unwrap_err().to_string().contains("3 values")
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_damaged_checkpoint_is_reported_and_the_one_before_it_used() {
        for (file, change) in [(TENSORS, 0), (STATE, 1), (MANIFEST, 2), (TENSORS, 3)] {
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
            quarantine(&damaged[0].0).unwrap();
            assert_eq!(list(&folder).unwrap().len(), 1);
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn a_checkpoint_with_values_that_are_not_finite_is_skipped() {
        let folder = scratch("nan");
        save(&folder, &state(1), &[("params", &[1.0, 2.0])], two()).unwrap();
        save(&folder, &state(2), &[("params", &[1.0, f32::NAN])], two()).unwrap();
        let (checkpoint, damaged) = Checkpoint::newest(&folder).unwrap();
        assert_eq!(checkpoint.unwrap().state.step, 1);
        assert!(
            damaged.len() == 1 && damaged[0].1.to_string().contains("value 1 of 'params' is NaN")
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
