//! The file operations of the transitions of run folders and checkpoints. Tests let them fail at
//! any point, as a kill would.

use crate::error::{Error, Result};
use std::fs;
use std::io;
use std::path::Path;

/// Renames a file or folder: the only operation that takes a transition from one state to the next.
pub(in crate::train) fn rename(from: &Path, to: &Path) -> Result<()> {
    before(from).and_then(|()| fs::rename(from, to)).map_err(|e| Error::io("rename", from, e))
}

/// Creates a folder, if it does not exist.
pub(in crate::train) fn create(folder: &Path) -> Result<()> {
    before(folder)
        .and_then(|()| fs::create_dir_all(folder))
        .map_err(|e| Error::io("create", folder, e))
}

/// Removes a file or a folder with everything in it, if it exists. Not atomic: what is left after a
/// kill must be removable again.
pub(in crate::train) fn remove(path: &Path) -> Result<()> {
    let removed = before_removal(path).and_then(|()| match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    });
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path, e)),
        _ => Ok(()),
    }
}

#[cfg(not(test))]
fn before(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(test))]
fn before_removal(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
pub(in crate::train) use crash::crash_at;
#[cfg(test)]
use crash::{before, before_removal};

/// A kill, simulated: from a chosen operation on, none happens any more.
#[cfg(test)]
mod crash {
    use std::cell::Cell;
    use std::fs;
    use std::io;
    use std::path::Path;

    thread_local! {
        /// The number of the operation that fails, counted from the next one.
        static FAILS: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Runs `work`; operation number `operation` of it and all after that fail. Says whether there
    /// were fewer, so that none failed.
    pub(in crate::train) fn crash_at(operation: usize, work: impl FnOnce()) -> bool {
        FAILS.set(Some(operation));
        work();
        FAILS.replace(None).is_some_and(|left| left > 0)
    }

    pub(super) fn before(_path: &Path) -> io::Result<()> {
        match FAILS.get() {
            None => Ok(()),
            Some(left) => {
                FAILS.set(Some(left.saturating_sub(1)));
                if left > 1 { Ok(()) } else { Err(io::Error::other("killed")) }
            }
        }
    }

    /// A removal that is killed may be half done: the first entry of the folder is gone.
    pub(super) fn before_removal(path: &Path) -> io::Result<()> {
        let is_killed_here = FAILS.get() == Some(1);
        before(path).inspect_err(|_| {
            let first = fs::read_dir(path).ok().and_then(|mut entries| entries.next()?.ok());
            if let Some(entry) = first.filter(|_| is_killed_here) {
                let _ = fs::remove_dir_all(entry.path());
                let _ = fs::remove_file(entry.path());
            }
        })
    }
}
