//! `limpid inspect`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Inspect {
    /// Model folder or run folder
    pub model: PathBuf,
    /// What it reads; token ids with spaces between them, if it has no tokenizer
    pub text: String,
    /// Second text of a pair, for an encoder
    #[arg(long, value_name = "TEXT")]
    pub second: Option<String>,
    /// What the decoder is to predict, for an encoder-decoder [default: its own translation]
    #[arg(long, value_name = "TEXT", conflicts_with = "target_ids")]
    pub target: Option<String>,
    /// The same as token ids; for a decoder, tokens after the text
    #[arg(long, value_delimiter = ',', value_name = "5,3,9")]
    pub target_ids: Option<Vec<u32>>,
    /// A change to the pass, as JSON; may be given several times. `{"kind": "head", "attention":
    /// "self_attention", "layer": 0, "head": 1, "how": "zero"}` switches a head off
    #[arg(long, value_name = "JSON")]
    pub edit: Vec<String>,
    /// A number to explain, such as `logits[0, 5]`, `layers.0.ffn.up[2, 17]` or
    /// `layers.0.self_attention.weights[1][2, 0]` (head 1, query 2, key 0); may be given several
    /// times
    #[arg(long, value_name = "NAME[ROW, COLUMN]")]
    pub number: Vec<String>,
    /// Terms of a sum that are listed, the largest first
    #[arg(long, default_value_t = 12, value_name = "N")]
    pub terms: usize,
    /// Print JSON, with the fields of the lab's API
    #[arg(long)]
    pub json: bool,
}
