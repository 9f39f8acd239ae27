//! `limpid corpus`

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Corpus {
    /// French-English sentence pairs: train, validation and test files without common sentences
    Translate {
        /// Output folder
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Number of training pairs
        #[arg(long, default_value_t = 50_000)]
        pairs: usize,
        /// Random seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Small English stories with one-line summaries: train, validation and test files without
    /// common stories
    Stories {
        /// Output folder
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Number of training stories
        #[arg(long, default_value_t = 20_000, value_name = "N")]
        stories: usize,
        /// Number of validation stories and of test stories [default: a tenth of the training
        /// stories, 1 to 1000]
        #[arg(long, value_name = "N")]
        held_out: Option<usize>,
        /// Random seed
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}
