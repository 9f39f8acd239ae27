//! What can go wrong outside the program, said so that one knows what to do: what was found, what was expected, where,
//! and a hint.
//!
//! Mistakes in calls between our own functions are not here: those panic.

use std::fmt;
use std::path::Path;

/// A result whose error is ours.
pub type Result<T> = std::result::Result<T, Error>;

/// Which part of the outside world is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A setting, or a combination of settings, that cannot work.
    Config,
    /// Reading or writing a file.
    Io,
    /// A file whose content is not what it should be.
    Format,
    /// Text or ids that cannot be used.
    Data,
    /// Numbers that are no longer numbers: a loss that is infinite or NaN.
    Numeric,
}

/// An error with its hint.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// A setting that cannot work.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    /// A file whose content is wrong.
    pub fn format(path: &Path, message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Format, format!("{}: {message}", path.display()))
    }

    /// Text or ids that cannot be used.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message)
    }

    /// Numbers that are no longer numbers.
    pub fn numeric(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Numeric, message)
    }

    /// A file that could not be read or written: `doing` is "read", "write", …
    pub fn io(doing: &str, path: &Path, source: &std::io::Error) -> Self {
        let error = Self::new(ErrorKind::Io, format!("cannot {doing} {}: {source}", path.display()));
        match source.kind() {
            std::io::ErrorKind::NotFound => error.hint("check the path"),
            std::io::ErrorKind::PermissionDenied => error.hint("check who may read and write there"),
            std::io::ErrorKind::StorageFull
            | std::io::ErrorKind::QuotaExceeded
            | std::io::ErrorKind::FileTooLarge => {
                error.hint("free some space, then run the same command again")
            }
            _ => error,
        }
    }

    /// The same error, found in this file.
    pub fn in_file(self, path: &Path) -> Self {
        Self {
            kind: ErrorKind::Format,
            message: format!("{}: {}", path.display(), self.message),
            hint: self.hint,
        }
    }

    /// The same in other words.
    pub fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.message = words(&self.message);
        self
    }

    /// Says what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Which part of the outside world is to blame.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
