//! Trains a French-English Transformer on eight sentence pairs, saves it in Hugging Face's layout,
//! loads it again and translates.
//!
//! `cargo run --release --example train_translator -- FOLDER`

use limpid::data::pairs::tokenize_pairs;
use limpid::error::Result;
use limpid::model::{Model, config::EncoderDecoderConfig};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::word_tokenizer;
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid::train::{Control, Trainer, TrainerConfig};
use limpid::{Translator, hub};
use std::path::Path;

const PAIRS: [(&str, &str); 8] = [
    ("Je suis étudiant.", "I am a student."),
    ("Je suis fatigué.", "I am tired."),
    ("Tu es étudiant.", "You are a student."),
    ("Tu es fatigué.", "You are tired."),
    ("Il dort.", "He is sleeping."),
    ("Il mange une pomme.", "He is eating an apple."),
    ("Tu manges une pomme.", "You are eating an apple."),
    ("Merci.", "Thank you."),
];

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or("translator-example".into());
    for (source, translation) in run(folder.as_ref())? {
        println!("{source} -> {translation}");
    }
    Ok(())
}

/// Trains, saves and translates; gives the training sources with their translations.
pub fn run(folder: &Path) -> Result<Vec<(String, String)>> {
    // One vocabulary of words for both languages; one layer, two heads, width 32.
    let tokenizer = word_tokenizer(PAIRS.iter().flat_map(|(french, english)| [*french, *english]))?;
    let config = EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 2, 32, 64);
    let eos = config.eos_token_id;
    let model = Model::new(config, 1)?;

    let pairs = tokenize_pairs(&tokenizer, PAIRS, eos)?;
    let translator = model.stack.translator().expect("an encoder-decoder");
    let dataset = InMemoryDataset::pairs(translator, &pairs, Batching { tokens: 200, seed: 1 })?;
    let schedule = Schedule::Cosine;
    let learning_rate = LearningRate { schedule, peak: 1e-2, floor: 0.0, warmup: 10, total: 80 };
    let mut trainer = Trainer::new(model, dataset, TrainerConfig::new(learning_rate, 1));
    trainer.train(|_, report| {
        if report.step % 20 == 0 {
            eprintln!("step {}: loss {:.3}", report.step, report.loss);
        }
        Ok(Control::Continue)
    })?;

    hub::save(&trainer.into_model(), folder)?;
    tokenizer.save(folder)?;
    let sources = PAIRS.map(|(french, _)| french);
    let translations = Translator::load(folder)?.request(&sources).num_beams(4).translate()?;
    Ok(sources.iter().map(ToString::to_string).zip(translations).collect())
}
