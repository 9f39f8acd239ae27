//! `limpid experiment`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Experiment {
    /// Name of the experiment; without it, list all
    pub name: Option<String>,
    /// Smoke test of a few seconds: too small for a verdict
    #[arg(long)]
    pub quick: bool,
    /// First of three consecutive random seeds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Training steps of each model (of `transfer`: pretraining steps) [default: by experiment]
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Model width [default: by experiment]
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Folder for report.html, figures and outcome.json [default: experiments/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the outcome as JSON
    #[arg(long)]
    pub json: bool,
}
