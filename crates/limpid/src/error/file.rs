//! Errors of files and folders, whatever is in them.

use std::path::PathBuf;

/// A file or folder that cannot be read, written or created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "read", "write", …
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the system answered.
        source: std::io::Error,
    },
    /// A file would be overwritten that holds something of another kind.
    #[error("{} exists and holds something else: it is not overwritten", path.display())]
    Occupied {
        /// The file.
        path: PathBuf,
    },
    /// A file is to be written whose folder does not exist.
    #[error("{} cannot be written: its folder does not exist", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// A file is to be written where a folder is.
    #[error("{} cannot be written: it is a folder", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder is to be created where a file is.
    #[error("{} cannot be created as a folder: it is a file", path.display())]
    IsFile {
        /// The file.
        path: PathBuf,
    },
}

/// Paths as a message lists them.
pub(super) fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { "no file".into() } else { paths.join(", ") }
}
