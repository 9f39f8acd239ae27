//! Files and folders.

use limpid::error::FileError;
use std::io::ErrorKind;

pub(super) fn hint(error: &FileError) -> Option<String> {
    let text = match error {
        FileError::Io { source, .. } => match source.kind() {
            ErrorKind::NotFound => "check the path",
            ErrorKind::PermissionDenied => "check the permissions of the file and its folder",
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                "free some disk space, then run the same command again"
            }
            _ => return None,
        },
        FileError::GitLfsPointer { .. } => {
            "fetch the file itself: `git lfs pull` in the folder, or download it again"
        }
        FileError::Occupied { .. } => "choose another name, or remove the file",
        FileError::NoFolder { .. } => "create the folder first, or choose another one",
        FileError::IsFolder { .. } => "give the name of a file",
        FileError::NotEmpty { .. } => "choose another folder, or empty it first",
        FileError::IsFile { .. } => "give the name of a folder",
        _ => return None,
    };
    Some(text.into())
}
