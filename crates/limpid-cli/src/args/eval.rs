//! `limpid eval`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Eval {
    /// A model folder, or the folder of a run
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text, for a language model or an encoder; tables of labelled texts, for a classifier; a table of pairs, for a translator
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Sentences to translate, for a translator
    #[arg(long, value_name = "FILE", requires = "target")]
    pub source: Option<PathBuf>,
    /// Their translations
    #[arg(long, value_name = "FILE", requires = "source")]
    pub target: Option<PathBuf>,
    /// Both in one table (TSV, CSV, JSON Lines), for a translator
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "data"])]
    pub pairs: Option<PathBuf>,
    /// Pairs: the first line of the table names its columns
    #[arg(long)]
    pub header: bool,
    /// Pairs: the column of the sentences, by name or number [default: as the run was trained, or 1; in JSON Lines source]
    #[arg(long, value_name = "COLUMN")]
    pub source_column: Option<String>,
    /// Pairs: the column of their translations [default: as the run was trained, or 2; in JSON Lines target]
    #[arg(long, value_name = "COLUMN")]
    pub target_column: Option<String>,
    /// Stories that `limpid corpus stories` wrote, one a line, beside the best that is possible with them: nats a word, or words hidden one at a time. Needs --data with those it has learnt from, for counts
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    pub stories: Option<PathBuf>,
    /// Stories: how many words are hidden
    #[arg(long, default_value_t = 2_000, value_name = "N", requires = "stories", value_parser = clap::value_parser!(u32).range(1..))]
    pub positions: u32,
    /// Tokens of a window of text [default: the model's context]
    #[arg(long, value_name = "N")]
    pub context: Option<usize>,
    /// Language models and hidden words: each line is a text of its own, instead of windows of the whole [default: as the run was trained]
    #[arg(long)]
    pub lines: bool,
    /// Windows of the whole text, also of a run that was trained on lines or pairs
    #[arg(long, conflicts_with_all = ["lines", "line_pairs"])]
    pub windows: bool,
    /// Hidden words: a line and the next one, or in half of the cases another; also measures how often the model knows which [default: as the run was trained]
    #[arg(long, conflicts_with = "lines")]
    pub line_pairs: bool,
    /// Hidden words: the part of the tokens that is hidden [default: as the run was trained, or 0.15]
    #[arg(long, value_name = "SHARE")]
    pub masked: Option<f32>,
    /// Hidden words: all pieces of a word together
    #[arg(long)]
    pub whole_words: bool,
    /// Hidden words: another seed hides other words
    #[arg(long = "mask-seed", default_value_t = 1, value_name = "N")]
    pub mask_seed: u64,
    /// Labels and pairs: how the table is written: tsv, csv, jsonl, label-first (a label, a space, the text) [default: as the run was trained, or by the file's name]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Labels: the column of the text, by name or number; twice for pairs of texts [default: as the run was trained, or text]
    #[arg(long, value_name = "COLUMN")]
    pub text_column: Vec<String>,
    /// Labels: the column of the label, by name or number [default: as the run was trained, or label]
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// Labels: the first line is an example as all others
    #[arg(long)]
    pub no_header: bool,
    /// Compare without regard to capital letters
    #[arg(long)]
    pub lowercase: bool,
    /// The targets are summaries: ROUGE-L and exact match, beside the first sentence of each source as its summary
    #[arg(long)]
    pub summaries: bool,
    /// Write the translations to a file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
