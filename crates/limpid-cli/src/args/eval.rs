//! `limpid eval`

use super::DecodingFlags;
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Eval {
    /// Model folder or run folder
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Text for a language model or a masked language model; tables of labelled texts for a
    /// classifier, sentences with labelled words for a token classifier, questions for question
    /// answering, in the formats of limpid train; a table of pairs for a translator
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Source sentences, one per line
    #[arg(long, value_name = "FILE", requires = "target")]
    pub source: Option<PathBuf>,
    /// Reference translations, one per line
    #[arg(long, value_name = "FILE", requires = "source")]
    pub target: Option<PathBuf>,
    /// Sources and references in one table (TSV, CSV, JSON Lines)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["source", "data"])]
    pub pairs: Option<PathBuf>,
    /// Pairs: the first line of the table is a header
    #[arg(long)]
    pub header: bool,
    /// Pairs: source column, by name or number [default: as in training, or
    /// 1; in JSON Lines source]
    #[arg(long, value_name = "COLUMN")]
    pub source_column: Option<String>,
    /// Pairs: target column, by name or number [default: as in training, or 2; in JSON
    /// Lines target]
    #[arg(long, value_name = "COLUMN")]
    pub target_column: Option<String>,
    /// Language of the sources, of a multilingual translator [default: that of the folder]
    #[arg(long, value_name = "CODE")]
    pub source_lang: Option<String>,
    /// Language of the references, of a multilingual translator [default: that of the folder]
    #[arg(long, value_name = "CODE")]
    pub target_lang: Option<String>,
    /// Stories from `limpid corpus stories`, one per line: nats per word or masked-word accuracy,
    /// compared with the exact bound. Needs the training stories as --data, for n-gram baselines
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    pub stories: Option<PathBuf>,
    /// Stories: number of masked words
    #[arg(long, default_value_t = 2_000, value_name = "N", requires = "stories",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub positions: u32,
    /// Tokens per window of text [default: the model's context]
    #[arg(long, value_name = "N")]
    pub context: Option<usize>,
    /// Language models: each line is a separate text, instead of windows over the whole file
    /// [default: as in training]
    #[arg(long)]
    pub lines: bool,
    /// Windows over the whole file, also for a model trained on lines or line pairs
    #[arg(long, conflicts_with_all = ["lines", "line_pairs"])]
    pub windows: bool,
    /// Masked language models: pairs of lines, and accuracy of next-sentence prediction [default:
    /// as in training]
    #[arg(long, conflicts_with = "lines")]
    pub line_pairs: bool,
    /// Masking probability [default: as in training, or 0.15]
    #[arg(long, value_name = "SHARE")]
    pub masked: Option<f32>,
    /// Whole-word masking
    #[arg(long)]
    pub whole_words: bool,
    /// Random seed of the masking
    #[arg(long = "mask-seed", default_value_t = 1, value_name = "N")]
    pub mask_seed: u64,
    /// Table format: tsv, csv, jsonl, or label-first (label, space, text); of words conll or jsonl,
    /// of questions squad or jsonl [default: as in training, or by the file name]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Labels: text or word column, by name or number; twice for pairs of texts [default: as in
    /// training, or text; of words 1, in JSON Lines words]
    #[arg(long, value_name = "COLUMN")]
    pub text_column: Vec<String>,
    /// Labels: label column, by name or number [default: as in training, or label; of words the
    /// last, in JSON Lines labels]
    #[arg(long, value_name = "COLUMN")]
    pub label_column: Option<String>,
    /// Labels: the table has no header
    #[arg(long)]
    pub no_header: bool,
    /// Lowercase hypotheses and references
    #[arg(long)]
    pub lowercase: bool,
    /// The targets are summaries: ROUGE-L and exact match, compared with the lead sentence
    #[arg(long)]
    pub summaries: bool,
    /// File for the translations
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: DecodingFlags,
}
