//! HTTP server for Limpid's models: one process for language models, translators and encoders,
//! that clients of OpenAI, text-embeddings-inference, LibreTranslate and Hugging Face speak to.
//!
//! | | |
//! |---|---|
//! | [`scheduler`] | which rows are computed next: a pure state machine |
//! | [`engine`] | the thread that computes them |
//! | [`models`] | the models, loaded once |
//! | [`lab`] | a page where every number of a model can be opened |
//! | [`http`] | keys, hosts, bodies, problems, the accept loop |
//! | [`metrics`] | what Prometheus reads |
//! | [`load`] | clients that load a server and check its answers |
#![forbid(unsafe_code)]

mod api;
pub mod engine;
pub mod error;
pub mod http;
pub mod lab;
pub mod load;
pub mod metrics;
pub mod models;
pub mod scheduler;

pub use error::ServeError;
pub use http::{Access, Address, Keys, Server, Settings};
pub use models::{ModelSource, Models};
pub use scheduler::Limits;
