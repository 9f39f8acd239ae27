//! `limpid score`

use clap::{Args as ClapArgs, ValueEnum, builder::RangedU64ValueParser, value_parser};
use std::path::PathBuf;

/// A parser for a size from `least` to `most`.
fn size(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}

#[derive(ClapArgs)]
pub struct Score {
    /// Hypotheses, one per line; `-` is standard input. Further files are compared with the first
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pub hyp: Vec<PathBuf>,
    /// References, one per hypothesis; several files are multiple references
    #[arg(long = "ref", required = true, num_args = 1.., value_name = "FILE")]
    pub references: Vec<PathBuf>,
    /// Sources, one per line: adds BLEU by source length
    #[arg(long, value_name = "FILE", conflicts_with = "sentence")]
    pub source: Option<PathBuf>,
    /// Metrics to compute
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "bleu,chrf,chrf++",
        value_name = "LIST"
    )]
    pub metrics: Vec<MetricName>,
    /// Tokenizer of BLEU
    #[arg(long, value_enum, default_value = "13a")]
    pub tokenize: TokenizeName,
    /// Lowercase the text first
    #[arg(long)]
    pub lowercase: bool,
    /// Sentence-level scores, one line each, metrics separated by tabs; BLEU with effective order
    #[arg(long)]
    pub sentence: bool,
    /// 95% confidence intervals from N bootstrap resamples; with several --hyp also p-values
    /// [default for p-values: 1000]
    #[arg(long, value_name = "N", value_parser = size(2, 1_000_000), conflicts_with = "sentence")]
    pub bootstrap: Option<usize>,
    /// p-values by approximate randomization with N trials instead (sacreBLEU's default is 10000)
    #[arg(long, value_name = "N", value_parser = size(2, 1_000_000),
        conflicts_with_all = ["sentence", "bootstrap"])]
    pub randomization: Option<usize>,
    /// Seed of --bootstrap and --randomization
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Decimals to print
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = size(0, 15))]
    pub width: usize,
    /// Print JSON, with all digits
    #[arg(long)]
    pub json: bool,
    /// BLEU: smoothing of n-gram orders without a match
    #[arg(long, value_enum, default_value = "exp")]
    pub smooth: SmoothName,
    /// BLEU: value of `--smooth floor` [default: 0.1] or `add-k` [default: 1]
    #[arg(long, value_name = "X")]
    pub smooth_value: Option<f64>,
    /// BLEU: maximum n-gram order
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = size(1, 100))]
    pub max_ngram: usize,
    /// BLEU: effective order (orders without hypothesis n-grams are left out of the mean)
    #[arg(long)]
    pub effective_order: bool,
    /// chrF: character n-gram order
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = size(0, 100))]
    pub chrf_char_order: usize,
    /// chrF: word n-gram order (chrf++ always has 2)
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = size(0, 100))]
    pub chrf_word_order: usize,
    /// chrF: β, the weight of recall relative to precision
    #[arg(long, default_value_t = 2, value_name = "N",
        value_parser = value_parser!(u32).range(0..=1000))]
    pub chrf_beta: u32,
    /// chrF: keep whitespace
    #[arg(long)]
    pub chrf_whitespace: bool,
    /// chrF: epsilon smoothing, as the original chrF++ and Moses
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
    /// Splits off ASCII punctuation, as WMT
    #[value(name = "13a")]
    V13a,
    /// Splits off Unicode punctuation and symbols
    Intl,
    /// Every character is a token
    Char,
    /// Splits at whitespace only
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SmoothName {
    /// Exponential decay: 1/2 match, then 1/4, …
    Exp,
    /// A small constant in place of zero matches
    Floor,
    /// Adds k to matches and n-grams from order 2 on
    AddK,
    /// No smoothing: BLEU is 0
    None,
}
