//! `limpid completions` and `limpid man`: for whoever packages or installs the command.

use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Args)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

#[derive(Args)]
pub struct Man {
    /// Write a page for each command into this folder, instead of printing that of limpid
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
