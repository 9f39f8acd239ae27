//! The limpid command: what was typed becomes a call of the library, and its answer is printed.

mod args;
mod commands;
mod printer;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    printer::watch_standard_output();
    let args = args::Args::parse();
    match commands::run(args) {
        Ok(code) => code,
        Err(error) => {
            printer::print_error(&error);
            ExitCode::from(2)
        }
    }
}
