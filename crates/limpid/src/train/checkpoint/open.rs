//! Reading a checkpoint back: what is damaged is found before it is used.

use super::{FileHash, MANIFEST, NUMBERS, STATE, State, list};
use crate::error::{Error, Result};
use crate::hash::hash_bytes;
use safetensors::tensor::{Dtype, SafeTensors};
use std::fs;
use std::path::{Path, PathBuf};

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
