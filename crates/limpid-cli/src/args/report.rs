//! `limpid report` and `limpid compare`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Report {
    /// Run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// HTML file to write [default: RUN/report.html]
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Print JSON: the path of the report and its figures
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Compare {
    /// Two or more run folders
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// Also write an HTML page with overlaid curves
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
