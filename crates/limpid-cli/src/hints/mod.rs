//! What to type about an error of the library: the only place that turns errors into advice.
//!
//! One file per part of the library, each a function from its error enum to a hint.

pub mod flags;
pub mod learn;
pub mod serve;

mod chat;
mod data;
mod dataset;
mod distributed;
pub mod encode;
mod eval;
mod file;
mod generation;
mod model;
mod model_config;
mod pipeline;
mod plan;
mod pretrained;
mod report;
mod run;
mod setting;
mod tokenizer;

pub use pipeline::verb_of;

use clap::CommandFactory;
use limpid::error::Error;
use std::sync::OnceLock;

/// What to do about an error, if anything can be said.
pub fn hint(error: &Error) -> Option<String> {
    match error {
        Error::File(error) => file::hint(error),
        Error::Setting(error) => setting::hint(error),
        Error::Pretrained(error) => pretrained::hint(error),
        Error::Plan(error) => Some(plan::hint(error)),
        Error::Model(error) => model::hint(error),
        Error::ModelConfig(error) => model_config::hint(error, verb()),
        Error::Data(error) => data::hint(error),
        Error::Eval(error) => eval::hint(error),
        Error::Report(error) => report::hint(error),
        Error::Tokenizer(error) => tokenizer::hint(error, verb()),
        Error::Generation(error) => generation::hint(error),
        Error::Chat(error) => chat::hint(error),
        Error::Encode(error) => encode::hint(error),
        Error::Run(error) => run::hint(error),
        Error::Dataset(error) => dataset::hint(error),
        Error::Distributed(error) => distributed::hint(error),
        Error::Pipeline(error) => pipeline::hint(error),
        Error::InFile { source, .. } => hint(source),
        _ => None,
    }
}

/// The command this process runs, from the outermost in: `["bench", "step", "gpt"]`.
static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Says which command runs, once, so that hints can be checked against its flags.
pub fn set_command(subcommands: Vec<String>) {
    COMMAND.set(subcommands).expect("a process runs one command");
}

/// The command, as far as hints differ: the same setting is a flag of one and a key of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Train,
    Tokenizer,
    /// `demo` and `bench`, which take the number of heads as a flag.
    WithHeads,
    Other,
}

fn verb() -> Verb {
    match COMMAND.get().and_then(|names| names.first()).map(String::as_str) {
        Some("train") => Verb::Train,
        Some("tokenizer") => Verb::Tokenizer,
        Some("demo" | "bench") => Verb::WithHeads,
        _ => Verb::Other,
    }
}

/// Whether the running command has every flag that the hint names. One that does not is not shown,
/// and is a mistake that debug builds report.
pub fn fits(hint: &str) -> bool {
    let missing = missing_in_command(hint);
    debug_assert!(missing.is_empty(), "{COMMAND:?} lacks {missing:?}, named by: {hint}");
    missing.is_empty()
}

/// Those of some flags that the running command has, as a list: "--a, --b or --c".
fn available(flags: &[&str]) -> String {
    let has = |flag: &&&str| missing_in_command(flag).is_empty();
    let found: Vec<&str> = flags.iter().filter(has).copied().collect();
    match found[..] {
        [ref first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => found.concat(),
    }
}

/// The flags that a text names and the running command lacks.
fn missing_in_command(text: &str) -> Vec<&str> {
    let mut root = crate::args::Args::command();
    root.build();
    let subcommands = COMMAND.get().map_or(&[][..], Vec::as_slice);
    let running = subcommands.iter().try_fold(&root, |command, name| command.find_subcommand(name));
    flags::missing_flags(text, &[running.unwrap_or(&root)], &root)
}
