//! One file per verb.

mod answer;
mod bench;
mod chat;
mod classify;
mod compare;
mod completions;
mod convert;
mod corpus;
mod decoding;
mod demo;
mod demo_metrics;
mod demo_recurrent;
mod demo_stories;
mod embed;
mod eval;
mod eval_encoder;
mod eval_heads;
mod eval_stories;
mod experiment;
mod explain;
mod fill_mask;
mod find_lr;
mod generate;
mod heat_map;
mod info;
mod info_folder;
mod inputs;
mod inspect;
mod lab;
mod logits;
mod man;
mod merge;
mod quantize;
mod quantize_sample;
mod quiz;
mod report;
mod rerank;
mod score;
mod serve;
mod signals;
mod summarize;
mod tag;
mod terminal;
mod tokenizer;
mod train;
mod train_config;
mod translate;
mod world;

use crate::args::{Args, Command};
use crate::error::{Error, Result};
use crate::printer;
use limpid::hub::{self, Warning};
use limpid::model::Model;
use limpid::text::Tokenizer;
use limpid_tensor::simd::{self, Level};
use limpid_tensor::team;
use std::path::Path;
use std::process::ExitCode;

/// The tokenizer beside a model, with a warning if it is another's.
fn tokenizer_of(folder: &Path, model: &Model) -> Result<Tokenizer> {
    let tokenizer = hub::load_tokenizer(folder)?;
    let (tokens, known) = (tokenizer.vocab_size(), model.stack.vocab_size());
    printer::warnings(&Vec::from_iter(Warning::of_vocabulary(tokens, known)));
    Ok(tokenizer)
}

/// Applies `LIMPID_SIMD` and `LIMPID_THREADS`, which the library itself does not read.
fn apply_environment() -> Result<()> {
    if let Ok(name) = std::env::var("LIMPID_SIMD") {
        let level = Level::from_name(&name).ok_or_else(|| {
            Error::config(format!("LIMPID_SIMD={name} is not an instruction set"))
                .hint("use scalar, neon, avx2, avx512, or leave it unset for the best of this CPU")
        })?;
        simd::set_level(level).map_err(|refused| {
            let available: Vec<_> = Level::available().into_iter().map(Level::name).collect();
            Error::config(format!("LIMPID_SIMD={name}: {refused}")).hint(format!(
                "use {}, or leave it unset for the best of this CPU",
                available.join(" or ")
            ))
        })?;
    }
    if let Ok(threads) = std::env::var("LIMPID_THREADS") {
        let n = threads.parse().ok().filter(|n| (1..=256).contains(n)).ok_or_else(|| {
            Error::config(format!("LIMPID_THREADS={threads} is not a number of threads"))
                .hint("use 1 to 256, or leave it unset for one per core")
        })?;
        team::set_threads(n);
    }
    Ok(())
}

/// Does what was typed.
pub fn run(args: Args) -> Result<ExitCode> {
    apply_environment()?;
    if let Some(threads) = args.threads {
        team::set_threads(usize::from(threads));
    }
    match args.command {
        Command::Demo(args) => demo::run(args)?,
        Command::Generate(args) => generate::run(args)?,
        Command::Chat(args) => chat::run(args)?,
        Command::Train(args) => return train::run(args),
        Command::Translate(args) => translate::run(args)?,
        Command::FillMask(args) => fill_mask::run(&args)?,
        Command::Embed(args) => embed::run(&args)?,
        Command::Similarity(args) => embed::similarity(&args)?,
        Command::Classify(args) => classify::run(&args)?,
        Command::Tag(args) => tag::run(&args)?,
        Command::Answer(args) => answer::run(&args)?,
        Command::Rerank(args) => rerank::run(&args)?,
        Command::Summarize(args) => summarize::run(args)?,
        Command::Serve(args) => serve::run(*args)?,
        Command::Inspect(args) => inspect::run(args)?,
        Command::Lab(args) => lab::run(args)?,
        Command::Score(args) => score::run(args)?,
        Command::Eval(args) => eval::run(*args)?,
        Command::Convert(args) => convert::run(&args)?,
        Command::Quantize(args) => quantize::run(&args)?,
        Command::Info(args) => info::run(args)?,
        Command::Merge(args) => merge::run(&args)?,
        Command::Report(args) => report::run(&args)?,
        Command::Compare(args) => compare::run(&args)?,
        Command::Logits(args) => logits::run(args)?,
        Command::Experiment(args) => experiment::run(&args)?,
        Command::Explain(args) => explain::run(args)?,
        Command::Quiz(args) => quiz::run(&args)?,
        Command::Tokenizer(args) => tokenizer::run(args)?,
        Command::Corpus(args) => corpus::run(args)?,
        Command::Bench(args) => bench::run(args)?,
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
