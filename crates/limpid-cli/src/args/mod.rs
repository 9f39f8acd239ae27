//! What can be typed: here the verbs, beside it the families of flags that are long.

mod bench;
mod corpus;
mod decoding;
mod encode;
mod eval;
mod experiment;
mod generate;
mod quiz;
mod report;
mod score;
mod summarize;
mod tokenizer;
mod train;
mod translate;

pub use bench::*;
pub use corpus::*;
pub use decoding::*;
pub use encode::*;
pub use eval::*;
pub use experiment::*;
pub use generate::*;
pub use quiz::*;
pub use report::*;
pub use score::*;
pub use summarize::*;
pub use tokenizer::*;
pub use train::*;
pub use translate::*;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Train, understand and use Transformers on an ordinary machine, without Python.
#[derive(Parser)]
#[command(name = "limpid", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Threads to use (the results have the same bits at any number).
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Train a small French-English Transformer on the built-in corpus, and show what it learnt; with --all a GPT and a BERT too
    Demo(Demo),
    /// Continue text with a language model
    Generate(Generate),
    /// Train a model on your own text, in a folder of its own; it can be stopped at any moment and goes on with --resume
    Train(Train),
    /// Translate text with a model
    Translate(Translate),
    /// Say which words may stand at [MASK]
    FillMask(FillMask),
    /// Texts as vectors
    Embed(Embed),
    /// How near texts are to each other: the cosine of their vectors
    Similarity(Similarity),
    /// Say which label a text has
    Classify(Classify),
    /// Say a text in one line, with an encoder-decoder trained on texts and summaries
    Summarize(Summarize),
    /// BLEU, chrF and chrF++ of files, equal to sacreBLEU's
    Score(Score),
    /// Measure a model on text it has not seen: loss, perplexity, bits per character; BLEU and chrF of its translations
    Eval(Box<Eval>),
    /// What a model is: its parts with their shapes and counts
    Info(Info),
    /// Make a page of a run: curves, samples, configuration
    Report(Report),
    /// Put runs side by side
    Compare(Compare),
    /// Raw scores for given token ids, to compare with any other implementation
    Logits(Logits),
    /// Show the arithmetic of a Transformer, step by step, on numbers you can follow
    Explain(Explain),
    /// Test yourself: seventeen questions on Transformers, and the worked examples with fresh numbers
    Quiz(Quiz),
    /// Put a claim about Transformers to the test: trains small models, draws, and says whether it held
    Experiment(Experiment),
    /// Learn a vocabulary from text, encode, decode
    #[command(subcommand)]
    Tokenizer(Tokenizer),
    /// Write a built-in corpus to files
    #[command(subcommand)]
    Corpus(Corpus),
    /// Measure speed on this machine
    #[command(subcommand)]
    Bench(Bench),
}

/// A language of the built-in corpus.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    En,
    Fr,
}

#[derive(ClapArgs)]
pub struct Demo {
    /// Also a GPT that writes small stories and a BERT that fills their gaps, each beside the best possible
    #[arg(long)]
    pub all: bool,
    /// The language to translate into (into French is harder: there agreement must be produced)
    #[arg(long, default_value = "en")]
    pub to: Language,
    /// Folder for the model [default: limpid-demo/fr-en or limpid-demo/en-fr]; with --all the folder around the models [default: limpid-demo]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Training steps of each model [default: 2000 for the translator, for the others about as long]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub steps: Option<u64>,
    /// Heads of each attention layer
    #[arg(long, default_value_t = 4)]
    pub heads: usize,
    /// Seed of corpus, weights and order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(ClapArgs)]
pub struct Info {
    /// A model folder, or the folder of a run
    #[arg(value_parser = model_folder)]
    pub model: PathBuf,
    /// Levels of the tree that are shown; all of them without it
    #[arg(long, value_name = "N")]
    pub depth: Option<usize>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
}

/// The folder of a run stands for the model in it.
fn model_folder(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    let (folder, inner) = (PathBuf::from(text), PathBuf::from(text).join("model"));
    let is_run = !folder.join("config.json").exists() && inner.join("config.json").exists();
    Ok(if is_run { inner } else { folder })
}

#[derive(ClapArgs)]
pub struct Logits {
    /// A model folder
    #[arg(value_parser = model_folder)]
    pub model: PathBuf,
    /// Token ids; for an encoder-decoder those the decoder is given, the start token first
    #[arg(long, required = true, value_delimiter = ',', value_name = "5,3,9")]
    pub ids: Vec<u32>,
    /// Token ids of the source, for an encoder-decoder
    #[arg(long, value_delimiter = ',', value_name = "4,2,1")]
    pub source_ids: Option<Vec<u32>>,
    /// For an encoder: 0 for ids of the first text, 1 for those of the second [default: all 0]
    #[arg(long, value_delimiter = ',', value_name = "0,0,1")]
    pub type_ids: Option<Vec<u32>>,
    /// Machine-readable: {"logits": [[…], …]}
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Explain {
    /// Which example; without it, the list of all
    pub example: Option<String>,
    /// Machine-readable
    #[arg(long)]
    pub json: bool,
    /// Numbers to use instead of the example's own, such as `--tokens "1 0 1 0; 0 1 0 1"`;
    /// `limpid explain NAME --options` lists what an example takes
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--OPTION VALUE")]
    pub numbers: Vec<String>,
}
