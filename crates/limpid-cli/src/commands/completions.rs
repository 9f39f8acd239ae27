//! `limpid completions`: a script that completes commands and options in a shell.

use crate::args::{Args, Completions};
use clap::CommandFactory;

/// Prints the script.
pub fn run(args: &Completions) {
    clap_complete::generate(args.shell, &mut Args::command(), "limpid", &mut std::io::stdout());
}
