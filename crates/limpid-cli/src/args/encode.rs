//! `limpid fill-mask`, `embed`, `similarity`, `classify`

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct FillMask {
    /// Model folder or run folder of a masked language model
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Texts with one or more [MASK] tokens [default: lines of standard input]
    pub text: Vec<String>,
    /// Predictions per [MASK]
    #[arg(
        long,
        default_value_t = 5,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub top: u32,
    /// Print JSON Lines, one object per text
    #[arg(long)]
    pub json: bool,
}

/// How token vectors are pooled into a text embedding.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Pool {
    /// Vector of [CLS]
    Cls,
    /// Mean of the token vectors
    Mean,
}

#[derive(ClapArgs)]
pub struct Vectors {
    /// Pooling [default: from 1_Pooling/config.json, otherwise mean]
    #[arg(long)]
    pub pool: Option<Pool>,
    /// Truncate texts that exceed the model's maximum length
    #[arg(long)]
    pub truncate: bool,
}

#[derive(ClapArgs)]
pub struct Embed {
    /// Model folder or run folder of an encoder
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Texts [default: lines of standard input]
    pub text: Vec<String>,
    /// Do not normalize embeddings to unit length
    #[arg(long)]
    pub no_normalize: bool,
    /// Output file: .npy (NumPy matrix) or .jsonl [default: JSON Lines to standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub how: Vectors,
}

#[derive(ClapArgs)]
pub struct Similarity {
    /// Model folder or run folder of an encoder
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Two or more texts [default: lines of standard input]
    pub text: Vec<String>,
    /// Print JSON: {"texts": […], "cosine": [[…], …]}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: Vectors,
}

#[derive(ClapArgs)]
pub struct Classify {
    /// Model folder or run folder of a classifier
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Texts [default: lines of standard input]
    pub text: Vec<String>,
    /// Each text is a pair of texts, separated by a tab
    #[arg(long)]
    pub pair: bool,
    /// Number of labels to show, most probable first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Truncate texts that exceed the model's maximum length
    #[arg(long)]
    pub truncate: bool,
    /// Print JSON Lines, one object per text
    #[arg(long)]
    pub json: bool,
}
