//! One file per verb.

mod bench;
mod corpus;
mod demo;
mod explain;
mod logits;
mod translate;

use crate::args::{Args, Command};
use limpid::error::Result;
use std::process::ExitCode;

/// Does what was typed.
pub fn run(args: Args) -> Result<ExitCode> {
    if let Some(threads) = args.threads {
        limpid_tensor::team::set_threads(usize::from(threads));
    }
    match args.command {
        Command::Demo(args) => demo::run(args)?,
        Command::Translate(args) => translate::run(args)?,
        Command::Logits(args) => logits::run(args)?,
        Command::Explain(args) => explain::run(args)?,
        Command::Corpus(args) => corpus::run(args)?,
        Command::Bench(args) => bench::run(args)?,
    }
    Ok(ExitCode::SUCCESS)
}
