//! `limpid summarize`

use super::{DecodingFlags, Translate};
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Summarize {
    /// A model folder: an encoder-decoder trained on texts and their summaries
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text to summarize; without it, standard input, a text per line
    pub text: Vec<String>,
    /// Maximum number of new tokens [default: twice the text and ten]
    #[arg(long, value_name = "N")]
    pub max_new_tokens: Option<usize>,
    /// JSON Lines: {"source": …, "summary": …}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}

impl From<Summarize> for Translate {
    fn from(args: Summarize) -> Self {
        let Summarize { model, text, max_new_tokens, json, how } = args;
        Translate {
            model,
            text,
            source_lang: None,
            target_lang: None,
            align: false,
            attention: false,
            prefix: String::new(),
            max_new_tokens,
            json,
            how,
        }
    }
}
