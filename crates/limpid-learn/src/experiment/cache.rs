//! Results of finished trainings on disk, so that an interrupted experiment resumes.
//!
//! ```text
//! training-003.bin   one line of JSON: {"key", "name", "record", "params", "xxh64"}
//!                    then the parameters, f32 little-endian
//! ```
//!
//! Files are written atomically. One of another run, or damaged, is ignored: that training
//! runs again.

use crate::error::Result;
use limpid::files::{create_folder, write_atomic};
use limpid::hash::hash_bytes;
use limpid_tensor::params::Params;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Finished trainings of one experiment, in a folder.
#[derive(Debug)]
pub(super) struct TrainingCache {
    folder: PathBuf,
    /// What the numbers depend on besides the code: experiment, effort, seed, sizes.
    key: String,
}

#[derive(Serialize, Deserialize)]
struct Header {
    key: String,
    name: String,
    /// Bits of f64: JSON text would not keep every one.
    record: Vec<u64>,
    params: usize,
    xxh64: u64,
}

impl TrainingCache {
    pub(super) fn open(folder: &Path, key: String) -> Result<Self> {
        create_folder(folder)?;
        Ok(Self { folder: folder.to_path_buf(), key })
    }

    fn file(&self, number: usize) -> PathBuf {
        self.folder.join(format!("training-{number:03}.bin"))
    }

    pub(super) fn save(
        &self,
        number: usize,
        name: &str,
        params: &Params,
        record: &[f64],
    ) -> Result<()> {
        let body: Vec<u8> = params.flat().iter().flat_map(|x| x.to_le_bytes()).collect();
        let header = Header {
            key: self.key.clone(),
            name: name.into(),
            record: record.iter().map(|x| x.to_bits()).collect(),
            params: params.flat().len(),
            xxh64: hash_bytes(&body),
        };
        let mut bytes = serde_json::to_vec(&header).expect("a header is JSON");
        bytes.push(b'\n');
        bytes.extend(body);
        Ok(write_atomic(&self.file(number), &bytes)?)
    }

    /// Fills `params` and returns the record, if this training was finished before.
    pub(super) fn restore(
        &self,
        number: usize,
        name: &str,
        params: &mut Params,
    ) -> Option<Vec<f64>> {
        let bytes = std::fs::read(self.file(number)).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (header, body) = (&bytes[..end], &bytes[end + 1..]);
        let header: Header = serde_json::from_slice(header).ok()?;
        let (numbers, rest) = body.as_chunks::<4>();
        let is_ours = header.key == self.key
            && header.name == name
            && header.params == params.flat().len()
            && numbers.len() == header.params
            && rest.is_empty()
            && hash_bytes(body) == header.xxh64;
        if !is_ours {
            return None;
        }
        for (to, from) in params.flat_mut().iter_mut().zip(numbers) {
            *to = f32::from_le_bytes(*from);
        }
        Some(header.record.into_iter().map(f64::from_bits).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid::model::Model;
    use limpid::model::config::DecoderConfig;

    #[test]
    fn a_finished_training_is_restored_bit_for_bit_and_a_damaged_or_foreign_one_is_not() {
        let folder = std::env::temp_dir().join(format!("limpid-cache-{}", std::process::id()));
        let config = DecoderConfig::gpt2(5, 4, 1, 1, 4);
        let trained = Model::new(&config, 1).unwrap();
        let cache = TrainingCache::open(&folder, "heads".into()).unwrap();
        let record = [0.1, f64::NAN, -0.0];
        cache.save(3, "one", &trained.params, &record).unwrap();

        let mut other = Model::new(&config, 2).unwrap();
        let initial = other.params.flat().to_vec();
        assert_eq!(cache.restore(2, "one", &mut other.params), None);
        assert_eq!(cache.restore(3, "two", &mut other.params), None);
        let foreign = TrainingCache::open(&folder, "norm".into()).unwrap();
        assert_eq!(foreign.restore(3, "one", &mut other.params), None);
        assert_eq!(other.params.flat(), initial);

        let restored = cache.restore(3, "one", &mut other.params).unwrap();
        assert_eq!(other.params.flat(), trained.params.flat());
        assert!(restored.iter().zip(record).all(|(a, b)| a.to_bits() == b.to_bits()));

        let file = cache.file(3);
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(cache.restore(3, "one", &mut other.params), None);
        bytes.truncate(bytes.len() - 3);
        std::fs::write(&file, &bytes).unwrap();
        assert_eq!(cache.restore(3, "one", &mut other.params), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
