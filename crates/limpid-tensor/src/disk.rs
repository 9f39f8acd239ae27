//! Free disk space: here because asking the system takes an `unsafe` call.
//!
//! ```
//! // Linux answers for every folder that exists.
//! let free = limpid_tensor::disk::free_space(std::path::Path::new("."));
//! assert!(free.is_none_or(|bytes| bytes > 0));
//! ```

use std::path::Path;

/// Bytes that an unprivileged process may still write to the file system of `folder`; `None` if the
/// folder does not exist or the system does not say.
#[cfg(target_os = "linux")]
pub fn free_space(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: `path` is a string that ends with a zero byte, `found` has room for one statvfs, and
    // both outlive the call.
    let answer = unsafe { libc::statvfs(path.as_ptr(), found.as_mut_ptr()) };
    if answer != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so it has filled in all of `found`.
    let found = unsafe { found.assume_init() };
    // The field types differ between Linux platforms.
    #[allow(clippy::unnecessary_cast)]
    Some(found.f_bavail as u64 * found.f_frsize as u64)
}

/// Bytes that may still be written to the file system of `folder`: unknown on this system.
#[cfg(not(target_os = "linux"))]
pub fn free_space(_folder: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_folder_has_an_answer_and_a_missing_one_has_none() {
        let here = free_space(&std::env::temp_dir());
        assert_eq!(here.is_some(), cfg!(target_os = "linux"));
        assert_eq!(free_space(Path::new("/no/such/folder")), None);
    }
}
