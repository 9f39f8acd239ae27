//! `limpid train …`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Train {
    /// A TOML file that says everything (see configs/), or what to learn: gpt, translate, bert, classify
    #[arg(value_name = "CONFIG.toml|gpt|translate|bert|classify")]
    pub what: String,
    /// Text for a language model or an encoder; for a classifier tables with the columns text and label (.tsv, .csv, .jsonl)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Sentences to translate, one a line
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Their translations, line by line
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Sentences and their translations in one file, as its first two columns (.tsv, .csv), or under the keys source and target (.jsonl)
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,
    /// A model to begin with, of the same kind (an encoder for bert and classify): its sizes, its tokenizer and its weights are taken over; the
    /// learning rate is 5e-5 unless --set says otherwise
    #[arg(long, value_name = "MODEL", value_parser = super::model_folder)]
    pub from: Option<PathBuf>,
    /// How labelled texts or --pairs are written: tsv, csv, jsonl, or for labelled texts label-first (a label, a space, the text); short for
    /// --set table.format=… [default: by a file's name]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Folder of the run [default: runs/ and the name of the configuration]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// For translation: transformer or rnn; short for --set model.arch=…
    #[arg(long, value_name = "NAME")]
    pub arch: Option<String>,
    /// Of a recurrent model: tanh, gru or lstm [default: gru]
    #[arg(long, value_name = "NAME")]
    pub cell: Option<String>,
    /// Of a recurrent model: none, dot or additive [default: additive]
    #[arg(long, value_name = "NAME")]
    pub attention: Option<String>,
    /// Of a recurrent model: whether its encoder reads both ways [default: true]
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    pub bidirectional: Option<bool>,
    /// Optimizer steps, also of a file that says epochs; short for --set train.steps=N, and wins over it
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Any key of the configuration, such as train.steps=500 or model.width=256; may be given several times. Paths are meant from here
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Go on from the last checkpoint; begin where there is none yet
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
    /// Replace a run that is in the folder already, once the new one has a checkpoint
    #[arg(long)]
    pub force: bool,
    /// Train nothing, but try learning rates from 1e-6 to 1 from a fresh start, one a step, and suggest one; with --out, draw the curve into
    /// that folder
    #[arg(long, value_name = "STEPS", num_args = 0..=1, require_equals = true, default_missing_value = "200", conflicts_with_all = ["resume", "force"])]
    pub find_lr: Option<u64>,
    /// Machine-readable: what the run came to, one object at the end
    #[arg(long, conflicts_with = "show_config")]
    pub json: bool,
    /// Print the configuration with all its keys (those that are not set in comments), and do nothing
    #[arg(long)]
    pub show_config: bool,
}
