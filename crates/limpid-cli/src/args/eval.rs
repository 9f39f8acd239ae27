//! `limpid eval`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Eval {
    /// A model folder, or the folder of a run
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text, for a language model
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Sentences to translate, for a translator
    #[arg(long, value_name = "FILE", requires = "target")]
    pub source: Option<PathBuf>,
    /// Their translations
    #[arg(long, value_name = "FILE", requires = "source")]
    pub target: Option<PathBuf>,
    /// Tokens of a window of text [default: the model's context]
    #[arg(long, value_name = "N")]
    pub context: Option<usize>,
    /// Compare without regard to capital letters
    #[arg(long)]
    pub lowercase: bool,
    /// The targets are summaries: ROUGE-L and exact match, beside the first sentence of each source as its summary
    #[arg(long, requires = "source")]
    pub summaries: bool,
    /// Write the translations to a file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
