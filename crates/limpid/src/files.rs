//! Atomic writes, and checks of output paths before work starts.
//!
//! ```
//! let path = std::env::temp_dir().join("limpid-doc-files.txt");
//! limpid::files::write_atomic(&path, b"all of it, or the old file")?;
//! assert_eq!(std::fs::read(&path).unwrap(), b"all of it, or the old file");
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use crate::error::{Error, FileError, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Writes a file atomically: to a temporary file in the same folder, which is synced and renamed. A
/// reader never sees a part of it, and a full disk leaves the old file.
/// # Errors
/// If the file cannot be written or renamed; the temporary file is removed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    // A device or a pipe is written to, not replaced.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return fs::write(path, bytes).map_err(|e| Error::io("write", path, e));
    }
    let temporary = &temporary_path(path);
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(temporary, path)
    };
    write().map_err(|e| {
        // If the temporary file cannot be removed either, the first error is the one to report.
        let _ = fs::remove_file(temporary);
        Error::io("write", path, e)
    })
}

/// Whether a file with this beginning is a pointer of git-LFS: what a clone without git-LFS leaves
/// in place of a large file.
pub(crate) fn is_lfs_pointer(beginning: &[u8]) -> bool {
    beginning.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// The temporary path of an atomic write: no other process uses this name.
pub(crate) fn temporary_path(path: &Path) -> PathBuf {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    temporary.into()
}

/// Whether a name is the temporary name of an atomic write, by any process: a killed one leaves it
/// behind.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let number = name.strip_suffix(".tmp").and_then(|name| name.rsplit_once('.'));
    number
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Removes temporary files of atomic writes that a killed process has left in a folder, and no
/// other file with the extension `tmp`.
pub(crate) fn remove_temporaries(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_temporary(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path()).map_err(|e| Error::io("remove", &entry.path(), e))?;
        }
    }
    Ok(())
}

/// Refuses to overwrite a file that has another format: a non-empty one whose content does not
/// start with `prefix`.
/// # Errors
/// [`FileError::Occupied`] if the file has another format.
pub fn check_replaceable(path: &Path, prefix: &str) -> Result<()> {
    let mut start = vec![0; prefix.len()];
    let Ok(mut file) = fs::File::open(path) else { return Ok(()) };
    let is_file = file.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    if is_file && (file.read_exact(&mut start).is_err() || start != prefix.as_bytes()) {
        return Err(FileError::Occupied { path: path.into() }.into());
    }
    Ok(())
}

/// Refuses an output file whose folder does not exist, before the work that produces its content.
/// # Errors
/// If the path is a folder, or its folder does not exist.
pub fn check_output_path(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Err(FileError::IsFolder { path: path.into() }.into());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(FileError::NoFolder { path: path.into() }.into());
    }
    Ok(())
}

/// Creates a folder and its parents.
/// # Errors
/// If the path is a file, or the folder cannot be created.
pub fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_file() {
        return Err(FileError::IsFile { path: folder.into() }.into());
    }
    fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_files_of_a_killed_process_are_removed_and_no_others() {
        let folder = std::env::temp_dir().join(format!("limpid-asides-{}", std::process::id()));
        create_folder(&folder.join("folder.12.tmp")).unwrap();
        let mine = temporary_path(&folder.join("config.toml"));
        for path in [mine.clone(), folder.join("notes.tmp"), folder.join("notes.v2.tmp")] {
            fs::write(path, "text").unwrap();
        }
        remove_temporaries(&folder).unwrap();
        assert!(!mine.exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("limpid-files-{}", std::process::id()));
        create_folder(&folder).unwrap();
        let path = folder.join("file");
        write_atomic(&path, b"old").unwrap();
        // A folder cannot be replaced by a file: the rename fails after the temporary file exists.
        let taken = folder.join("taken");
        create_folder(&taken.join("full")).unwrap();
        assert!(write_atomic(&taken, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert!(check_output_path(&path).is_ok() && check_output_path(Path::new("file")).is_ok());
        assert!(
            check_output_path(&taken).is_err()
                && check_output_path(&folder.join("no/file")).is_err()
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
