//! The lab: a page on this machine where every number of a model can be opened.
//!
//! ```text
//! browser ── http://127.0.0.1:PORT/#token ──▶ guard ──▶ routes ──▶ work (one heavy job at a time)
//!               page: embedded files            │         │
//!               api:  JSON, binary, events      │         ├─ registry: models and runs by id
//!                                               │         ├─ passes: forward passes that were kept
//!                          host, origin, token ─┘         └─ processes: training, by the command
//! ```

mod assets;
mod assets_table;
mod cache;
mod cost;
mod events;
mod guard;
mod inspector;
mod opened;
mod passes;
mod problem;
mod processes;
mod registry;
mod routes;
mod runs;
mod serve;
mod tokens;
mod training;
pub mod types;
#[cfg(test)]
mod typescript;
mod work;

pub use guard::AccessToken;
pub use inspector::{Inspected, Inspector};
pub use serve::LabServer;
pub use training::TrainSpec;

use crate::error::ServeError;
use cache::Cache;
use events::Events;
use guard::Hosts;
use opened::Opened;
use passes::KeptPass;
use processes::Processes;
use registry::Registry;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use types::PassRequest;
use work::Work;

/// What the command line knows and the lab does not: what to type.
pub trait Commands: Send + Sync {
    /// Gives the numbers of a pass.
    fn inspect(&self, folder: &Path, request: &PassRequest) -> String;
    /// Gives a generated text again.
    fn generate(&self, folder: &Path, request: &types::GenerateRequest) -> String;
    /// Resumes a run.
    fn resume(&self, run: &Path) -> String;
    /// The process that resumes a run.
    fn resume_run(&self, run: &Path) -> Command;
    /// The process that starts a run.
    fn train(&self, spec: &TrainSpec) -> Command;
    /// The process that trains models of the demo, each in a folder of its name below `parent`.
    fn demo(&self, models: &[&str], parent: &Path) -> Command;
    /// The process that runs an experiment.
    fn experiment(&self, name: &str, quick: bool, folder: &Path) -> Command;
}

/// Settings of a lab.
pub struct LabSettings {
    /// The port on 127.0.0.1; 0 for any free one.
    pub port: u16,
    /// Files of the page, read at each request, instead of the embedded ones.
    pub assets: Option<PathBuf>,
    /// Models, runs, and folders of them; without any, those of the current folder.
    pub sources: Vec<PathBuf>,
    /// Folders of text files to train on.
    pub data: Vec<PathBuf>,
    /// What to type.
    pub commands: Box<dyn Commands>,
}

/// Tokens of a sequence.
pub const MAX_TOKENS: usize = 2_048;
/// Bytes of a body.
pub const MAX_BODY: usize = 1 << 20;
/// Numbers of one answer.
pub const MAX_NUMBERS: usize = 1 << 18;

/// What all routes share.
pub struct State {
    pub(crate) settings: LabSettings,
    pub(crate) token: AccessToken,
    pub(crate) hosts: Hosts,
    pub(crate) registry: Registry,
    pub(crate) work: Work,
    pub(crate) passes: Mutex<Cache<KeptPass>>,
    pub(crate) generations: Mutex<Cache<routes::KeptGeneration>>,
    pub(crate) processes: Processes,
    pub(crate) events: Events,
    pub(crate) tickets: Mutex<Vec<routes::Ticket>>,
}

impl State {
    fn new(settings: LabSettings, hosts: Hosts) -> Result<Self, ServeError> {
        let registry = Registry::scan(&settings.sources);
        Ok(Self {
            token: AccessToken::new(),
            hosts,
            registry,
            work: Work::new(),
            passes: Mutex::new(Cache::new(32, 2 << 30)),
            generations: Mutex::new(Cache::new(32, 1 << 30)),
            processes: Processes::default(),
            events: Events::new(),
            tickets: Mutex::new(Vec::new()),
            settings,
        })
    }

    /// A model that is ready to use.
    fn model(self: &Arc<Self>, id: &str) -> Result<Arc<Opened>, problem::LabProblem> {
        self.registry.open(id)
    }
}
