//! The command line: the commands here, their longer lists of flags in the files beside it.

mod bench;
mod chat;
mod convert;
mod corpus;
mod decoding;
mod encode;
mod eval;
mod experiment;
mod generate;
mod heads;
mod inspect;
mod lab;
mod packaging;
mod quantize;
mod quiz;
mod report;
mod score;
mod serve;
mod summarize;
mod tokenizer;
mod train;
mod translate;

pub use bench::*;
pub use chat::*;
pub use convert::*;
pub use corpus::*;
pub use decoding::*;
pub use encode::*;
pub use eval::*;
pub use experiment::*;
pub use generate::*;
pub use heads::*;
pub use inspect::*;
pub use lab::*;
pub use packaging::*;
pub use quantize::*;
pub use quiz::*;
pub use report::*;
pub use score::*;
pub use serve::*;
pub use summarize::*;
pub use tokenizer::*;
pub use train::*;
pub use translate::*;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Train, understand and use Transformers on an ordinary machine, without Python.
#[derive(Parser)]
#[command(
    name = "limpid",
    version,
    long_version = crate::version::long(),
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Number of threads (results are bit-identical for any value) [default: one per core]
    #[arg(long, global = true, value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Train a small French-English Transformer on the built-in corpus and show its translations;
    /// with --all also a GPT and a BERT
    Demo(Demo),
    /// Continue text with a language model
    Generate(Generate),
    /// Talk with a language model that has a chat template
    Chat(Chat),
    /// Train a model on your own text in a run folder; after Ctrl-C or a crash, --resume continues
    /// bit for bit
    Train(Train),
    /// Translate text with a model
    Translate(Translate),
    /// Predict the words behind [MASK]
    FillMask(FillMask),
    /// Compute text embeddings
    Embed(Embed),
    /// Cosine similarity of text embeddings
    Similarity(Similarity),
    /// Classify text
    Classify(Classify),
    /// Label words: named entities, parts of speech
    Tag(Tag),
    /// Answer questions by a part of a given text
    Answer(Answer),
    /// Rank texts by their relevance to a query, with a cross-encoder
    Rerank(Rerank),
    /// Summarize text in one line, with an encoder-decoder trained on texts and summaries
    Summarize(Summarize),
    /// Serve models over HTTP, to clients of OpenAI, text-embeddings-inference, LibreTranslate and
    /// Hugging Face
    Serve(Box<Serve>),
    /// Show a forward pass with every tensor, and where any of its numbers comes from
    Inspect(Inspect),
    /// Open the lab: a page on this machine where any model is open to the last number
    Lab(Lab),
    /// Compute BLEU, chrF and chrF++ of files, with sacreBLEU's numbers
    Score(Score),
    /// Evaluate a model on held-out data: loss, perplexity, bits per character; BLEU and chrF of
    /// its translations; accuracy and F1 of its labels
    Eval(Box<Eval>),
    /// Store the weights of a model as int8, int4 or bf16, and report what it costs
    Quantize(Quantize),
    /// Show the layers of a model with their shapes and parameter counts
    Info(Info),
    /// Write a model folder anew, with weights of another type or in shards, or as a GGUF file for
    /// llama.cpp
    Convert(Convert),
    /// Merge a LoRA adapter into its base model and save the result as a model folder
    Merge(Merge),
    /// Write an HTML report of a run: curves, samples, configuration
    Report(Report),
    /// Compare runs side by side
    Compare(Compare),
    /// Print the logits for given token ids, to compare with other implementations
    Logits(Logits),
    /// Show the arithmetic of a Transformer step by step, on numbers you can follow
    Explain(Explain),
    /// Test yourself: questions on Transformers, and the worked examples with new numbers
    Quiz(Quiz),
    /// Test a claim about Transformers: trains small models, plots the results and gives a verdict
    Experiment(Experiment),
    /// Train a tokenizer, encode and decode text
    #[command(subcommand)]
    Tokenizer(Tokenizer),
    /// Write a built-in corpus to files
    #[command(subcommand)]
    Corpus(Corpus),
    /// Benchmark training, decoding and encoding on this machine
    #[command(subcommand)]
    Bench(Bench),
    /// Print a script that completes commands and options in a shell
    Completions(Completions),
    /// Print the manual page
    Man(Man),
}

/// A language of the built-in corpus.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    En,
    Fr,
}

/// A model of the demo.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DemoModel {
    FrEn,
    StoryGpt,
    StoryBert,
    Rnn,
    RnnAttention,
}

impl DemoModel {
    /// Its name, which is that of its folder.
    pub fn name(self) -> &'static str {
        match self {
            DemoModel::FrEn => "fr-en",
            DemoModel::StoryGpt => "story-gpt",
            DemoModel::StoryBert => "story-bert",
            DemoModel::Rnn => "rnn",
            DemoModel::RnnAttention => "rnn-attention",
        }
    }
}

#[derive(ClapArgs)]
pub struct Demo {
    /// Also train a GPT and a BERT on the built-in stories, each compared with the exact entropy
    /// bound
    #[arg(long)]
    pub all: bool,
    /// Only these models: fr-en (the translator), story-gpt, story-bert, and two recurrent
    /// translators to compare it with, rnn and rnn-attention
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with_all = ["all", "to"])]
    pub only: Vec<DemoModel>,
    /// Target language (French is harder: it needs agreement)
    #[arg(long, default_value = "en")]
    pub to: Language,
    /// Folder for the model [default: limpid-demo/fr-en or limpid-demo/en-fr]; with --all or --only
    /// the parent folder of the models [default: limpid-demo]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Training steps of each model [default: 2000 for the translator, 1400 for the GPT, 1600 for
    /// the BERT]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub steps: Option<u64>,
    /// Attention heads per layer
    #[arg(long, default_value_t = 4)]
    pub heads: usize,
    /// Random seed of corpus, initialization and batches
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

#[derive(ClapArgs)]
pub struct Info {
    /// Model folder or run folder
    #[arg(value_parser = model_folder)]
    pub model: PathBuf,
    /// Levels of the tree to show [default: all]
    #[arg(long, value_name = "N")]
    pub depth: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Merge {
    /// Model folder of the base
    #[arg(value_parser = model_folder)]
    pub base: PathBuf,
    /// Folder of the adapter, in PEFT's format, or of the run that has trained it
    #[arg(value_parser = adapter_folder)]
    pub adapter: PathBuf,
    /// Folder for the merged model
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Resolves a run folder to the adapter inside it.
fn adapter_folder(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    let folder = PathBuf::from(text);
    let is_adapter = folder.join("adapter_config.json").is_file();
    Ok(if is_adapter { folder } else { limpid::pipeline::model_folder(text) })
}

/// Resolves a run folder to the model inside it.
fn model_folder(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(limpid::pipeline::model_folder(text))
}

#[derive(ClapArgs)]
pub struct Logits {
    /// Model folder or run folder
    #[arg(value_parser = model_folder)]
    pub model: PathBuf,
    /// Token ids; for an encoder-decoder the decoder input, start token first
    #[arg(long, required = true, value_delimiter = ',', value_name = "5,3,9")]
    pub ids: Vec<u32>,
    /// Source token ids, for an encoder-decoder
    #[arg(long, value_delimiter = ',', value_name = "4,2,1")]
    pub source_ids: Option<Vec<u32>>,
    /// Token type ids, for an encoder: 0 for the first text, 1 for the second [default: all 0]
    #[arg(long, value_delimiter = ',', value_name = "0,0,1")]
    pub type_ids: Option<Vec<u32>>,
    /// Print JSON: {"logits": [[…], …]}
    #[arg(long)]
    pub json: bool,
}

#[derive(ClapArgs)]
pub struct Explain {
    /// Name or number of the example; without it, list all
    pub example: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Numbers to use in place of the example's own, such as `--tokens "1 0 1 0; 0 1 0 1"`;
    /// `limpid explain NAME --options` lists the options of an example
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--OPTION VALUE")]
    pub numbers: Vec<String>,
}
