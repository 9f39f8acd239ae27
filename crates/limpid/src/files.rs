//! Files that are either there as a whole or not at all.

use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Writes a file aside, flushes it and renames it: a reader never sees half of it, and a full disk leaves what was there.
pub fn write_aside(path: &Path, bytes: &[u8]) -> Result<()> {
    // A device or a pipe is written to, not replaced.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return fs::write(path, bytes).map_err(|e| Error::io("write", path, &e));
    }
    let aside = &aside_of(path);
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(aside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(aside, path)
    };
    write().map_err(|e| {
        // Nothing half-written stays behind; that it cannot be removed changes nothing about the error.
        let _ = fs::remove_file(aside);
        Error::io("write", path, &e)
    })
}

/// Where a file is written before it is renamed: no other process uses this name.
pub(crate) fn aside_of(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{}.tmp", std::process::id()));
    aside.into()
}

/// Whether a name is one of those, made by any process: what is left of it after a kill.
pub(crate) fn is_aside(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let number = name.strip_suffix(".tmp").and_then(|name| name.rsplit_once('.'));
    number.is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Removes what a kill has left of files that were being written into a folder; nothing else that is called `.tmp`.
pub(crate) fn remove_asides(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_aside(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path()).map_err(|e| Error::io("remove", &entry.path(), &e))?;
        }
    }
    Ok(())
}

/// Refuses to write over a file that is not of the kind that is to be written: one that begins otherwise.
pub fn check_kind(path: &Path, begins: &str) -> Result<()> {
    let mut there = vec![0; begins.len()];
    let Ok(mut file) = fs::File::open(path) else { return Ok(()) };
    let is_file = file.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    if is_file && (file.read_exact(&mut there).is_err() || there != begins.as_bytes()) {
        return Err(occupied(path));
    }
    Ok(())
}

/// A file that holds something else than what is to be written.
pub fn occupied(path: &Path) -> Error {
    Error::config(format!("{} holds something else: it is not written over", path.display()))
        .hint("give another name, or remove the file")
}

/// Refuses a file whose folder is not there: now, and not when there is something to be written.
pub fn check_place(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) || path.is_dir() {
        let what = if path.is_dir() { "is a folder" } else { "is in a folder that is not there" };
        return Err(Error::config(format!("{} {what}: nothing can be written there", path.display()))
            .hint("give the name of a file in a folder that is there"));
    }
    Ok(())
}

/// Makes a folder and those above it.
pub fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_file() {
        return Err(Error::config(format!(
            "{} is a file, and a folder is to be made there",
            folder.display()
        ))
        .hint("give the name of a folder"));
    }
    fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_file_that_was_being_written_is_removed_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("limpid-asides-{}", std::process::id()));
        create_folder(&folder.join("folder.12.tmp")).unwrap();
        let mine = aside_of(&folder.join("config.toml"));
        for path in [mine.clone(), folder.join("notes.tmp"), folder.join("notes.v2.tmp")] {
            fs::write(path, "text").unwrap();
        }
        remove_asides(&folder).unwrap();
        assert!(!mine.exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_beside_it() {
        let folder = std::env::temp_dir().join(format!("limpid-files-{}", std::process::id()));
        create_folder(&folder).unwrap();
        let path = folder.join("file");
        write_aside(&path, b"old").unwrap();
        // A folder cannot be replaced by a file: the rename fails after the file was written aside.
        let taken = folder.join("taken");
        create_folder(&taken.join("full")).unwrap();
        assert!(write_aside(&taken, b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        assert!(check_place(&path).is_ok() && check_place(Path::new("file")).is_ok());
        assert!(check_place(&taken).is_err() && check_place(&folder.join("no/file")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
