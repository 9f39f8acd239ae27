//! Errors of the command: those of the libraries, and those of the command line itself.

use std::fmt;
use std::path::Path;

/// A result whose error is shown with its hint.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What is shown as `error:`, and, through [`crate::hints`], as `hint:`.
#[derive(Debug)]
pub enum Error {
    /// The library's.
    Library(limpid::error::Error),
    /// The teaching material's.
    Learn(limpid_learn::Error),
    /// The server's.
    Serve(limpid_server::ServeError),
    /// Found at the command line.
    Typed {
        /// What is wrong.
        message: String,
        /// What to type instead.
        hint: Option<String>,
    },
}

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Error::Typed { message: message.into(), hint: None }
    }

    /// Flags or arguments that cannot work.
    pub fn config(message: impl Into<String>) -> Self {
        Self::new(message)
    }

    /// Input that cannot be used.
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(message)
    }

    /// A file whose content is wrong.
    pub fn format(path: &Path, message: impl fmt::Display) -> Self {
        Self::new(format!("{}: {message}", path.display()))
    }

    /// A file that could not be read or written: `action` is "read", "write", …
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Error::Library(limpid::error::Error::io(action, path, source))
    }

    /// The same error with this hint.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Error::Typed { message: self.to_string(), hint: Some(hint.into()) }
    }

    /// What to type about it.
    pub fn hint_text(&self) -> Option<String> {
        match self {
            Error::Library(error) => crate::hints::hint(error),
            Error::Learn(error) => crate::hints::learn::hint(error),
            Error::Serve(error) => crate::hints::serve::hint(error),
            Error::Typed { hint, .. } => hint.clone(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Library(error) => error.fmt(f),
            Error::Learn(error) => error.fmt(f),
            Error::Serve(error) => error.fmt(f),
            Error::Typed { message, .. } => f.write_str(message),
        }
    }
}

/// The library's error, and those of its parts that a command gets directly.
macro_rules! from_library {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Error::Library(error.into())
            }
        }
    )+};
}

from_library!(limpid::error::Error, limpid::error::FileError, limpid::eval::EvalError);

impl From<limpid_learn::Error> for Error {
    fn from(error: limpid_learn::Error) -> Self {
        match error {
            limpid_learn::Error::Library(error) => Error::Library(error),
            error => Error::Learn(error),
        }
    }
}

impl From<limpid_server::ServeError> for Error {
    fn from(error: limpid_server::ServeError) -> Self {
        match error {
            limpid_server::ServeError::Library(error) => Error::Library(error),
            error => Error::Serve(error),
        }
    }
}
