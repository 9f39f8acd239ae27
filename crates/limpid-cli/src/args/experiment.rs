//! Flags of `limpid experiment`.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Experiment {
    /// Which one; without it, the list
    pub name: Option<String>,
    /// A small version that takes seconds: to see that it works, not what is true
    #[arg(long)]
    pub quick: bool,
    /// The first of three seeds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Steps of each training (of `transfer`: of its pretraining), in place of the usual number
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Width of each model, in place of the usual one
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Folder for report.html, the pictures and outcome.json [default: experiments/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The outcome as JSON on standard output
    #[arg(long)]
    pub json: bool,
}
