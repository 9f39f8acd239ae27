//! `limpid lab`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Lab {
    /// Models, runs, or folders of them [default: those in limpid-demo and runs]
    #[arg(value_name = "MODEL|RUN|FOLDER")]
    pub sources: Vec<PathBuf>,
    /// Port to listen on, on this machine only; 0 for any free port
    #[arg(long, default_value_t = 7600)]
    pub port: u16,
    /// Print the address instead of opening it in a browser
    #[arg(long)]
    pub no_open: bool,
    /// Folder of text files to train on, beside the built-in corpora; may be given several times
    #[arg(long, value_name = "DIR")]
    pub data: Vec<PathBuf>,
    /// Folder of the page's files, read at each request: for who changes the page
    #[arg(long, value_name = "DIR")]
    pub assets: Option<PathBuf>,
}
