//! `limpid generate`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Generate {
    /// The folder of a language model, with its tokenizer
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text to continue; may be given several times. Without it, all of standard input (without its
    /// last line ending); at a terminal, line by line
    #[arg(long, value_name = "TEXT")]
    pub prompt: Vec<String>,
    /// Maximum number of new tokens [default: that of generation_config.json, or 100, as far as the
    /// context allows]
    #[arg(long, value_name = "N")]
    pub max_new_tokens: Option<usize>,
    /// Let a text outgrow the model's context: when it is full, its last half becomes the prompt of
    /// the rest
    #[arg(long)]
    pub slide: bool,
    /// Print the prompt before its continuation
    #[arg(long)]
    pub echo: bool,
    /// JSON Lines, an object per text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
