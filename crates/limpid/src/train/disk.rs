//! Disk space: refused before training, not after hours of it.

use crate::error::RunError;
use limpid_tensor::disk::free_space;
use std::fs;
use std::path::Path;

/// What a run is going to have on disk besides its cache, which is written by now.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiskPlan {
    /// Bytes of one checkpoint.
    pub(super) checkpoint: u64,
    /// Checkpoints that exist at the same time.
    pub(super) checkpoints: u64,
    /// Bytes of the model, twice: the best one is replaced when the next is complete.
    pub(super) model: u64,
}

impl DiskPlan {
    /// For tensors of this many bytes per checkpoint and model. One checkpoint more than are kept
    /// exists while it is written, and another after an interruption.
    pub(super) fn new(checkpoint: u64, model: u64, keep: usize) -> Self {
        Self { checkpoint, checkpoints: keep.max(1) as u64 + 2, model: 2 * model }
    }

    /// Refuses a run whose files do not fit on the disk of `folder`. What it has written already
    /// counts as done.
    pub(super) fn check(&self, folder: &Path) -> Result<(), RunError> {
        match free_space(folder) {
            Some(free) => self.fits(folder, free),
            None => Ok(()),
        }
    }

    fn fits(&self, folder: &Path, free: u64) -> Result<(), RunError> {
        let written = size(&folder.join("checkpoints")) + size(&folder.join("model"));
        let total = self.checkpoint.saturating_mul(self.checkpoints).saturating_add(self.model);
        let needed = total.saturating_sub(written);
        if needed <= free {
            return Ok(());
        }
        let (folder, checkpoint) = (folder.to_path_buf(), self.checkpoint);
        Err(RunError::DiskSpace { folder, needed, free, checkpoint, checkpoints: self.checkpoints })
    }
}

/// Bytes of all files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size_of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(size_of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_fit_is_refused_and_what_is_written_counts() {
        let folder = std::env::temp_dir().join(format!("limpid-disk-{}", std::process::id()));
        fs::create_dir_all(folder.join("checkpoints/step-00000001")).unwrap();
        let plan = DiskPlan::new(100, 30, 2);
        // Four checkpoints of 100 bytes and two models of 30.
        assert!(plan.fits(&folder, 460).is_ok());
        let error = plan.fits(&folder, 459).unwrap_err();
        assert!(matches!(error, RunError::DiskSpace { needed: 460, free: 459, .. }), "{error}");
        fs::write(folder.join("checkpoints/step-00000001/state.json"), [0; 100]).unwrap();
        assert!(plan.fits(&folder, 360).is_ok() && plan.fits(&folder, 359).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
