//! `limpid tag`, `answer`, `rerank`

use clap::{Args as ClapArgs, ValueEnum};
use std::path::PathBuf;

/// How labels of tokens become labels of words.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AggregationStrategy {
    /// Every token by itself, with B- and I-
    None,
    /// Neighbouring tokens of one entity together
    Simple,
    /// A word has the label of its first token
    First,
    /// A word has the label with the best mean over its tokens
    Average,
    /// A word has the label of its surest token
    Max,
}

#[derive(ClapArgs)]
pub struct Tag {
    /// Model folder or run folder of a token classifier
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Texts [default: lines of standard input]
    pub text: Vec<String>,
    /// How labels of tokens become labels of words and entities
    #[arg(long, default_value = "simple", value_name = "STRATEGY")]
    pub aggregation: AggregationStrategy,
    /// Print JSON Lines, one object per text
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Answer {
    /// Model folder or run folder of a question-answering model
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// Question [default: lines of standard input, JSON objects with question and context]
    #[arg(long)]
    pub question: Option<String>,
    /// Text that has the answer [default: standard input]
    #[arg(long, requires = "question", conflicts_with = "context_file")]
    pub context: Option<String>,
    /// File with the text that has the answer
    #[arg(long, requires = "question", value_name = "FILE")]
    pub context_file: Option<PathBuf>,
    /// Number of answers, most probable first
    #[arg(long, default_value_t = 1, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub top: u32,
    /// Maximum number of tokens of an answer
    #[arg(long, default_value_t = 15, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub max_answer_len: u32,
    /// Tokens of question and context that are read together [default: 384, or the model's maximum]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..))]
    pub max_seq_len: Option<u32>,
    /// Tokens that neighbouring parts of a long context share [default: 128, or half a part]
    #[arg(long, value_name = "N")]
    pub doc_stride: Option<u32>,
    /// Give an empty answer where that is more probable
    #[arg(long)]
    pub impossible: bool,
    /// Print JSON Lines, one object per question
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Rerank {
    /// Model folder or run folder of a cross-encoder: a classifier with one label
    #[arg(value_parser = super::model_folder)]
    pub model: PathBuf,
    /// What the texts are ranked by
    #[arg(long)]
    pub query: String,
    /// Texts [default: lines of standard input]
    pub text: Vec<String>,
    /// Number of texts to show, most relevant first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Print JSON Lines, one object per text
    #[arg(long)]
    pub json: bool,
}
