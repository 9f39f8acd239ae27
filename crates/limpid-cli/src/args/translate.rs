//! `limpid translate`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Translate {
    /// A model folder, such as `limpid demo` makes
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// What to translate; without it, standard input line by line
    pub text: Vec<String>,
    /// Which source word each word came from, by attention: pairs source-target of words counted from 0, after a tab
    #[arg(long)]
    pub align: bool,
    /// Where the decoder looked for each token: a picture below each translation, of the layer that looks most sharply; the end included, as if it had ended there
    #[arg(long)]
    pub attention: bool,
    /// What every translation begins with
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// Tokens of a translation at most [default: twice the source and ten]
    #[arg(long, value_name = "N")]
    pub tokens: Option<usize>,
    /// One JSON object a line: {"source": …, "translation": …}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
