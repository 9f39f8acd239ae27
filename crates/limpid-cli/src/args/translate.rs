//! `limpid translate`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Translate {
    /// A model folder, such as `limpid demo` makes
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text to translate; without it, standard input line by line
    pub text: Vec<String>,
    /// Language of the text, of a multilingual model (mBART, NLLB, M2M-100): a code of its own,
    /// such as de_DE, deu_Latn or de [default: that of the folder]
    #[arg(long, value_name = "CODE")]
    pub source_lang: Option<String>,
    /// Language to translate into [default: that of the folder]
    #[arg(long, value_name = "CODE")]
    pub target_lang: Option<String>,
    /// Word alignment by cross-attention: pairs source-target of words counted from 0, after a tab
    #[arg(long)]
    pub align: bool,
    /// Show the cross-attention of each token below each translation: the layer with the sharpest
    /// attention, the end token included
    #[arg(long)]
    pub attention: bool,
    /// Text that every translation begins with
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// Maximum number of new tokens [default: twice the source and ten, at most the folder's
    /// maximum; of a folder that transformers saved, that maximum]
    #[arg(long, value_name = "N")]
    pub max_new_tokens: Option<usize>,
    /// JSON Lines: {"source": …, "translation": …}
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
