//! `limpid report` and `limpid compare`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Report {
    /// A run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The page to write [default: RUN/report.html]
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Machine-readable: where the page is, and the figures in it
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Compare {
    /// Run folders, at least two
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// Also write a page, with the curves over each other
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
}
