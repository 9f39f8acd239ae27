//! Streams text from a language model: each piece is printed as soon as it is final.
//!
//! `cargo run --release --example stream_tokens -- FOLDER "Once"` with the model folder of a GPT;
//! without arguments it trains a small one first.

use limpid::error::Result;
use limpid::model::{Model, config::DecoderConfig};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::word_tokenizer;
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid::train::{Control, Trainer, TrainerConfig};
use limpid::{Generator, hub};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

const TEXT: &str = "one two three four five six seven eight nine ten";

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    match (args.next(), args.next()) {
        (Some(folder), Some(prompt)) => stream(folder.as_ref(), &prompt)?,
        _ => run("gpt-example".as_ref())?,
    };
    println!();
    Ok(())
}

/// Trains a GPT to count and streams what follows "three"; gives the pieces.
pub fn run(folder: &Path) -> Result<Vec<String>> {
    let tokenizer = word_tokenizer([TEXT])?;
    let sequences = vec![tokenizer.encode(TEXT)?; 4];
    let model = Model::new(DecoderConfig::gpt2(tokenizer.vocab_size(), 16, 1, 2, 16), 1)?;
    let dataset = InMemoryDataset::language_model(&sequences, Batching { tokens: 64, seed: 1 })?;
    let schedule = Schedule::Constant;
    let learning_rate = LearningRate { schedule, peak: 1e-2, floor: 0.0, warmup: 0, total: 100 };
    let mut trainer = Trainer::new(model, dataset, TrainerConfig::new(learning_rate, 1));
    trainer.train(|_, _| Ok(Control::Continue))?;
    hub::save(&trainer.into_model(), folder)?;
    tokenizer.save(folder)?;
    stream(folder, "one two three")
}

fn stream(folder: &Path, prompt: &str) -> Result<Vec<String>> {
    let generator = Generator::load(folder)?;
    let mut pieces = Vec::new();
    generator.prompt(prompt).max_new_tokens(5).stream(|piece| {
        print!("{piece}");
        let _ = std::io::stdout().flush();
        pieces.push(piece.to_string());
        ControlFlow::Continue(()) // Break ends the generation
    })?;
    Ok(pieces)
}
