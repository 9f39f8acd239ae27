//! Errors of starting and running a server.

use std::path::PathBuf;

/// Why a server does not start or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A model folder cannot be used.
    #[error(transparent)]
    Library(#[from] limpid::error::Error),
    /// No model was named.
    #[error("no model to serve")]
    NoModels,
    /// Two models with one name.
    #[error("two models have the name {name}")]
    SameName {
        /// The name.
        name: String,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// Host and port, or a path.
        address: String,
        /// Why.
        source: std::io::Error,
    },
    /// The host name stands for no address.
    #[error("cannot find the address of {host}: {source}")]
    Host {
        /// The name.
        host: String,
        /// Why.
        source: std::io::Error,
    },
    /// Other machines could use the server, and no key protects it.
    #[error("{address} can be reached from other machines, and there is no API key")]
    Unprotected {
        /// The address.
        address: String,
    },
    /// The file of keys cannot be used.
    #[error("{path}: {problem}")]
    Keys {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A model or a pass of the lab that cannot be shown.
    #[error("{message}")]
    Lab {
        /// Why.
        message: String,
    },
    /// A number that no pass of this model has.
    #[error("there is no number {text}")]
    Element {
        /// What was asked for.
        text: String,
    },
    /// The operating system refused a thread, a socket or a signal handler.
    #[error("the server cannot run: {0}")]
    System(#[from] std::io::Error),
}
