//! `limpid corpus`

use clap::Subcommand;
use std::path::PathBuf;

#[derive(Subcommand)]
pub enum Corpus {
    /// English and French sentences: train, validation and test files that share no sentence
    Translate {
        /// Folder to write to
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Training pairs
        #[arg(long, default_value_t = 50_000)]
        pairs: usize,
        /// Another seed gives other sentences
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Small English stories, each with a summary in one line: train, validation and test files that share no story
    Stories {
        /// Folder to write to
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Training stories
        #[arg(long, default_value_t = 20_000, value_name = "N")]
        stories: usize,
        /// Validation stories, and as many test stories [default: a tenth of the training stories, 1 to 1000]
        #[arg(long, value_name = "N")]
        held_out: Option<usize>,
        /// Another seed gives other stories
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}
