//! `limpid chat`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Chat {
    /// The folder of a language model with a chat template
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Instructions at the beginning of the conversation
    #[arg(long, value_name = "TEXT")]
    pub system: Option<String>,
    /// A message to reply to; may be given several times, for several turns. Without it, a message
    /// per line of standard input; at a terminal, a conversation with /reset and /exit
    #[arg(long, value_name = "TEXT")]
    pub message: Vec<String>,
    /// Maximum number of new tokens of a reply [default: that of generation_config.json, or 100, as
    /// far as the context allows]
    #[arg(long, value_name = "N")]
    pub max_new_tokens: Option<usize>,
    /// Let a conversation outgrow the model's context: when it is full, its last half becomes the
    /// prompt of the rest
    #[arg(long)]
    pub slide: bool,
    /// JSON Lines, an object per reply
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
