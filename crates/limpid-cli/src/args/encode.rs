//! `limpid fill-mask`, `embed`, `similarity`, `classify`

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct FillMask {
    /// The folder of a model for masked words, with its tokenizer
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text with [MASK] where a word is missing, once or several times; without it, standard input line by line
    pub text: Vec<String>,
    /// How many words for each gap
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub top: u32,
    /// One JSON object a line for each text
    #[arg(long)]
    pub json: bool,
}

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pool {
    /// That of [CLS]
    Cls,
    /// Their mean
    Mean,
}

#[derive(ClapArgs)]
pub struct Vectors {
    /// How the vectors of the tokens become one [default: what 1_Pooling/config.json says, or mean]
    #[arg(long)]
    pub pool: Option<Pool>,
    /// Read the beginning of a text that is too long, instead of refusing it
    #[arg(long)]
    pub truncate: bool,
}

#[derive(ClapArgs)]
pub struct Embed {
    /// The folder of an encoder, with its tokenizer
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Texts; without them, standard input line by line
    pub text: Vec<String>,
    /// Leave the vectors as long as the model makes them, instead of length 1
    #[arg(long)]
    pub no_normalize: bool,
    /// Write to a file: .npy as NumPy's matrix, .jsonl as an object a line [default: JSON Lines to standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub how: Vectors,
}

#[derive(ClapArgs)]
pub struct Similarity {
    /// The folder of an encoder, with its tokenizer
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Two texts or more; without them, standard input line by line
    pub text: Vec<String>,
    /// Machine-readable: {"texts": […], "cosine": [[…], …]}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: Vectors,
}

#[derive(ClapArgs)]
pub struct Classify {
    /// The folder of a classifier, with its tokenizer
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Texts; without them, standard input line by line
    pub text: Vec<String>,
    /// Each text is two, with a tab between them
    #[arg(long)]
    pub pair: bool,
    /// How many labels are shown, the likeliest first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Read the beginning of a text that is too long, instead of refusing it
    #[arg(long)]
    pub truncate: bool,
    /// One JSON object a line for each text
    #[arg(long)]
    pub json: bool,
}
