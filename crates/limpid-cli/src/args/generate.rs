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
    /// Speculative decoding: a smaller model of the same vocabulary proposes tokens. Greedily the
    /// same text, by sampling one of the same distribution; faster for one text at a time, if the
    /// draft is right often enough
    #[arg(long, value_name = "MODEL", value_parser = super::model_folder)]
    pub draft: Option<PathBuf>,
    /// Tokens that the draft proposes at a time [default: 4]
    #[arg(long, value_name = "N", requires = "draft")]
    pub draft_tokens: Option<usize>,
    /// Speculative decoding without a draft model: N tokens at a time that followed the last ones
    /// when they occurred before. For texts that repeat parts of their prompt
    #[arg(long, value_name = "N", conflicts_with = "draft")]
    pub prompt_lookup: Option<usize>,
    /// Print the prompt before its continuation
    #[arg(long)]
    pub echo: bool,
    /// JSON Lines, an object per text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
