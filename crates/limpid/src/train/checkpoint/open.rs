//! Reading a checkpoint: damage is found before anything of it is used.

use super::{FileHash, MANIFEST, STATE, State, TENSORS, list};
use crate::error::{CheckpointProblem, Error, Result, RunError};
use crate::hash::hash_bytes;
use safetensors::tensor::{Dtype, SafeTensors};
use std::fs;
use std::path::{Path, PathBuf};

/// Checkpoints that cannot be used: the path of each, and what is wrong with it.
pub type Damaged = Vec<(PathBuf, Error)>;

/// A checkpoint that was read and is undamaged.
#[derive(Debug)]
pub struct Checkpoint {
    /// The state of the run.
    pub state: State,
    path: PathBuf,
    tensors: Vec<u8>,
}

fn damaged(path: PathBuf, problem: CheckpointProblem) -> Error {
    RunError::Checkpoint { path, problem }.into()
}

fn unreadable(reason: impl ToString) -> CheckpointProblem {
    CheckpointProblem::Unreadable { reason: reason.to_string() }
}

impl Checkpoint {
    /// The newest undamaged checkpoint of a run, and the damaged ones after it.
    ///
    /// # Errors
    /// If the folder of checkpoints cannot be listed.
    pub fn newest(folder: &Path) -> Result<(Option<Self>, Damaged)> {
        let mut damaged = Vec::new();
        for (_, path) in list(folder)?.into_iter().rev() {
            match Self::open(&path) {
                Ok(checkpoint) => return Ok((Some(checkpoint), damaged)),
                Err(error) => damaged.push((path, error)),
            }
        }
        Ok((None, damaged))
    }

    /// Reads one checkpoint.
    ///
    /// # Errors
    /// [`RunError::Checkpoint`] if a file differs from the manifest, cannot be parsed, or holds a
    /// value that is not finite.
    pub fn open(path: &Path) -> Result<Self> {
        let read = |name: &str| -> Result<Vec<u8>> {
            let path = path.join(name);
            fs::read(&path).map_err(|e| Error::io("read", &path, e))
        };
        let json = |name: &str, e: serde_json::Error| damaged(path.join(name), unreadable(e));
        let manifest: Vec<FileHash> =
            serde_json::from_slice(&read(MANIFEST)?).map_err(|e| json(MANIFEST, e))?;
        let checked = |name: &str| -> Result<Vec<u8>> {
            let bytes = read(name)?;
            let expected = manifest.iter().find(|file| file.name == name);
            let is_same = expected.is_some_and(|file| {
                file.bytes == bytes.len() as u64 && file.xxh64 == hash_bytes(&bytes)
            });
            match is_same {
                true => Ok(bytes),
                false => Err(damaged(path.join(name), CheckpointProblem::HashMismatch)),
            }
        };
        let state = serde_json::from_slice(&checked(STATE)?).map_err(|e| json(STATE, e))?;
        let tensors = checked(TENSORS)?;
        check_finite(&tensors).map_err(|problem| damaged(path.join(TENSORS), problem))?;
        Ok(Self { state, path: path.to_path_buf(), tensors })
    }

    /// Copies a tensor into `to`.
    ///
    /// # Errors
    /// [`RunError::Checkpoint`] if it is missing or of another size.
    pub fn read(&self, name: &str, to: &mut [f32]) -> Result<()> {
        let wrong = |problem| damaged(self.path.join(TENSORS), problem);
        let tensors = SafeTensors::deserialize(&self.tensors).map_err(|e| wrong(unreadable(e)))?;
        let view = tensors
            .tensor(name)
            .map_err(|_| wrong(CheckpointProblem::MissingTensor { name: name.into() }))?;
        if view.dtype() != Dtype::F32 || view.data().len() != 4 * to.len() {
            let (found, expected) = (view.data().len() / 4, to.len());
            let name = name.to_string();
            return Err(wrong(CheckpointProblem::WrongSize { name, found, expected }));
        }
        for (to, from) in to.iter_mut().zip(view.data().chunks_exact(4)) {
            *to = f32::from_le_bytes(from.try_into().expect("four bytes"));
        }
        Ok(())
    }
}

/// A checkpoint with a value that is not finite is unusable, whatever wrote it.
fn check_finite(bytes: &[u8]) -> Result<(), CheckpointProblem> {
    let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
    for (name, view) in tensors.iter().filter(|(_, view)| view.dtype() == Dtype::F32) {
        let mut values =
            view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        if let Some((index, value)) = values.by_ref().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(CheckpointProblem::NotFinite { name: name.into(), index, value });
        }
    }
    Ok(())
}
