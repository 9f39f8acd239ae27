//! Disk space: refused before training, not after hours of it.

use crate::error::RunError;
use limpid_tensor::disk::free_space;
use std::fs;
use std::path::Path;

/// Refuses a run whose checkpoints and models do not fit on the disk of `folder`. What it has
/// written already counts as done. One checkpoint more than the `keep` that are kept exists while
/// it is written, and another after an interruption; the best model is replaced when the next is
/// complete.
pub(super) fn check_disk_space(
    folder: &Path,
    checkpoint: u64,
    model: u64,
    keep: usize,
) -> Result<(), RunError> {
    match free_space(folder) {
        Some(free) => fits(folder, checkpoint, model, keep, free),
        None => Ok(()),
    }
}

fn fits(
    folder: &Path,
    checkpoint: u64,
    model: u64,
    keep: usize,
    free: u64,
) -> Result<(), RunError> {
    let checkpoints = keep.max(1) as u64 + 2;
    let written = size(&folder.join("checkpoints")) + size(&folder.join("model"));
    let total = checkpoint.saturating_mul(checkpoints).saturating_add(2 * model);
    let needed = total.saturating_sub(written);
    if needed <= free {
        return Ok(());
    }
    let folder = folder.to_path_buf();
    Err(RunError::DiskSpace { folder, needed, free, checkpoint, checkpoints })
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
        let fits = |free| fits(&folder, 100, 30, 2, free);
        // Four checkpoints of 100 bytes and two models of 30.
        assert!(fits(460).is_ok());
        let error = fits(459).unwrap_err();
        assert!(matches!(error, RunError::DiskSpace { needed: 460, free: 459, .. }), "{error}");
        fs::write(folder.join("checkpoints/step-00000001/state.json"), [0; 100]).unwrap();
        assert!(fits(360).is_ok() && fits(359).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
