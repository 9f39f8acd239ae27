//! The limpid command: parses the command line, calls the library and prints its answer.

mod args;
mod commands;
mod error;
mod hints;
#[cfg(test)]
mod house;
mod printer;
mod version;

use crate::error::Error;
use clap::{ArgMatches, CommandFactory, FromArgMatches};
use std::process::ExitCode;

fn main() -> ExitCode {
    printer::exit_when_stdout_closes();
    let matches = match args::Args::command().try_get_matches() {
        Ok(matches) => matches,
        Err(answer) => return print_answer(&answer),
    };
    let args = match args::Args::from_arg_matches(&matches) {
        Ok(args) => args,
        Err(answer) => return print_answer(&answer.format(&mut args::Args::command())),
    };
    hints::set_command(subcommands(&matches));
    match commands::run(args) {
        Ok(code) => code,
        Err(error) => {
            printer::print_error(&error);
            ExitCode::from(2)
        }
    }
}

/// Prints what clap answers itself: help, a version, or a usage error.
fn print_answer(answer: &clap::Error) -> ExitCode {
    match answer.print() {
        Err(_) if answer.use_stderr() => ExitCode::from(2),
        Ok(()) => ExitCode::from(answer.exit_code() as u8),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            printer::print_error(&Error::data(format!("cannot write to standard output: {e}")));
            ExitCode::from(2)
        }
    }
}

/// The commands that were typed, from the outermost in: `["bench", "step", "gpt"]`.
fn subcommands(matches: &ArgMatches) -> Vec<String> {
    let inner = std::iter::successors(matches.subcommand(), |(_, inner)| inner.subcommand());
    inner.map(|(name, _)| name.to_string()).collect()
}
