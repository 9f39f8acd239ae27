//! HTTP: problems in the right dialect, bodies, keys and hosts, the accept loop.

mod accept;
mod access;
mod loading;
mod payload;
mod problem;
mod stall;

pub use accept::{Address, Server, Settings};
pub(crate) use accept::{Timeouts, connection};
pub use access::{Access, Keys};
pub use payload::{MediaType, Payload, read};
pub use problem::{Dialect, LibreProblem, OpenAiProblem, Problem, ProblemKind, TeiProblem};
