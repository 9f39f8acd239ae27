//! The limpid command: what was typed becomes a call of the library, and its answer is printed.

mod args;
mod commands;
mod printer;

use clap::Parser;
use limpid::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    printer::watch_standard_output();
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        // Help, a version, or what is wrong with what was typed; if it cannot be written, that is an error.
        Err(said) => {
            return match said.print() {
                Err(_) if said.use_stderr() => ExitCode::from(2),
                Ok(()) => ExitCode::from(said.exit_code() as u8),
                Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
                Err(e) => {
                    printer::print_error(&Error::data(format!("cannot write to standard output: {e}")));
                    ExitCode::from(2)
                }
            };
        }
    };
    match commands::run(args) {
        Ok(code) => code,
        Err(error) => {
            printer::print_error(&error);
            ExitCode::from(2)
        }
    }
}
