//! Errors of the teaching material: what was found, what was expected, and where.
//!
//! [`Error`] is one enum over the parts of this crate and the library below it. Options of worked
//! examples are named by their key (`heads`): how a key is set is the caller's business.
//!
//! ```
//! use limpid_learn::error::{Error, ExampleError};
//! use limpid_learn::explain::Inputs;
//!
//! let error = Inputs::parse("scaling", &[("query", "1 two")]).unwrap_err();
//! assert!(matches!(error, Error::Example(ExampleError::NotANumber { .. })));
//! assert_eq!(error.to_string(), "option query: \"two\" (number 2) is not a number");
//! ```

mod corpus;
mod example;
mod experiment;

pub use corpus::CorpusError;
pub use example::{ExampleError, Expected, Position};
pub use experiment::{ExperimentError, Setting};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong outside the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library's own.
    #[error(transparent)]
    Library(limpid::error::Error),
    /// A worked example or its inputs.
    #[error(transparent)]
    Example(#[from] ExampleError),
    /// A built-in corpus, or a model measured on it.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// An experiment or its settings.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
}

/// Also errors of parts of the library that have not become its [`limpid::error::Error`] yet.
impl<E: Into<limpid::error::Error>> From<E> for Error {
    fn from(error: E) -> Self {
        Error::Library(error.into())
    }
}
