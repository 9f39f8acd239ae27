//! HTTP: problems in the right dialect, bodies, keys and hosts, the accept loop.

mod accept;
mod access;
mod payload;
mod problem;

pub(crate) use accept::connection;
pub use accept::{Address, Server, Settings};
pub use access::{Access, Keys};
pub use payload::{MediaType, Payload, read};
pub use problem::{Dialect, LibreProblem, OpenAiProblem, Problem, ProblemKind, TeiProblem};
