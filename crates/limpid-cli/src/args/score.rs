//! `limpid score`

use clap::{Args as ClapArgs, ValueEnum, builder::RangedU64ValueParser, value_parser};
use std::path::PathBuf;

/// A whole number from `least` to `most`, as a size.
fn size(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

#[derive(ClapArgs)]
pub struct Score {
    /// Translations, a line each; `-` is standard input. Several files are compared with the first
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pub hyp: Vec<PathBuf>,
    /// References, a line for each translation; several files are several references
    #[arg(long = "ref", required = true, num_args = 1.., value_name = "FILE")]
    pub references: Vec<PathBuf>,
    /// What was translated, a line each: adds BLEU by the length of the source
    #[arg(long, value_name = "FILE", conflicts_with = "sentence")]
    pub source: Option<PathBuf>,
    /// What to measure
    #[arg(long, value_enum, value_delimiter = ',', default_value = "bleu,chrf,chrf++", value_name = "LIST")]
    pub metrics: Vec<MetricName>,
    /// How BLEU cuts text into words
    #[arg(long, value_enum, default_value = "13a")]
    pub tokenize: TokenizeName,
    /// Put everything in lower case first
    #[arg(long)]
    pub lowercase: bool,
    /// A score for each line, the metrics separated by tabs; BLEU of effective order
    #[arg(long)]
    pub sentence: bool,
    /// 95% intervals from this many resampled corpora; for several --hyp also p-values, by default with 1000
    #[arg(long, value_name = "N", value_parser = size(2, 1_000_000), conflicts_with = "sentence")]
    pub bootstrap: Option<usize>,
    /// p-values by approximate randomization instead, with this many trials (sacreBLEU takes 10000)
    #[arg(long, value_name = "N", value_parser = size(2, 1_000_000), conflicts_with_all = ["sentence", "bootstrap"])]
    pub randomization: Option<usize>,
    /// Seed of --bootstrap and --randomization
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Decimals to print
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = size(0, 15))]
    pub width: usize,
    /// Machine-readable, with all digits
    #[arg(long)]
    pub json: bool,
    /// BLEU: what becomes of orders without a match
    #[arg(long, value_enum, default_value = "exp")]
    pub smooth: SmoothName,
    /// BLEU: the value of `--smooth floor` [default: 0.1] or `add-k` [default: 1]
    #[arg(long, value_name = "X")]
    pub smooth_value: Option<f64>,
    /// BLEU: the longest n-grams
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = size(1, 100))]
    pub max_ngram: usize,
    /// BLEU: the mean only over orders the translations have n-grams of
    #[arg(long)]
    pub effective_order: bool,
    /// chrF: the longest n-grams of characters
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = size(0, 100))]
    pub chrf_char_order: usize,
    /// chrF: the longest n-grams of words (chrf++ always has 2)
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = size(0, 100))]
    pub chrf_word_order: usize,
    /// chrF: how many times as much recall weighs as precision
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = value_parser!(u32).range(0..=1000))]
    pub chrf_beta: u32,
    /// chrF: white space is text, too
    #[arg(long)]
    pub chrf_whitespace: bool,
    /// chrF: smooth as the original chrF++ and Moses do
    #[arg(long)]
    pub chrf_eps_smoothing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MetricName {
    Bleu,
    Chrf,
    #[value(name = "chrf++")]
    ChrfPlusPlus,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TokenizeName {
    /// ASCII punctuation is split off, as in WMT
    #[value(name = "13a")]
    V13a,
    /// Punctuation and symbols of all languages are split off
    Intl,
    /// Every character is a word
    Char,
    /// Only at white space
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SmoothName {
    /// Halve: 1/2 match, then 1/4, …
    Exp,
    /// A small number of matches
    Floor,
    /// Add to matches and n-grams from order 2 on
    AddK,
    /// Nothing: BLEU is 0
    None,
}
