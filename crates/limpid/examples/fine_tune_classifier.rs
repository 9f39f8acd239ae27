//! Pretrains a small encoder with masked language modelling, fine-tunes it as a classifier of
//! moods, and classifies sentences that it has not seen.
//!
//! `cargo run --release --example fine_tune_classifier -- FOLDER`

use limpid::data::masking::{MaskUnit, Masking};
use limpid::error::Result;
use limpid::model::Model;
use limpid::model::config::{EncoderConfig, EncoderHead};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::{Purpose, word_tokenizer_for};
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid::train::{Control, Dataset, Trainer, TrainerConfig};
use limpid::{Classifier, hub};
use std::path::Path;

const LABELS: [&str; 2] = ["negative", "positive"];
const SUBJECTS: [&str; 4] = ["the film", "the book", "the meal", "the song"];
const MOODS: [(&str, u32); 6] =
    [("bad", 0), ("awful", 0), ("boring", 0), ("good", 1), ("great", 1), ("lovely", 1)];

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or("classifier-example".into());
    for (text, label, probability) in run(folder.as_ref())? {
        println!("{text}: {label} ({probability:.2})");
    }
    Ok(())
}

/// Pretrains, fine-tunes, saves and classifies; gives texts with labels and probabilities.
pub fn run(folder: &Path) -> Result<Vec<(String, String, f32)>> {
    let sentence = |subject: &str, mood: &str| format!("{subject} was {mood}");
    let all = SUBJECTS.iter().flat_map(|s| MOODS.map(|(mood, label)| (sentence(s, mood), label)));
    let all: Vec<(String, u32)> = all.collect();
    let tokenizer =
        word_tokenizer_for(all.iter().map(|(text, _)| text.as_str()), Purpose::Encoder)?;
    let batching = Batching { tokens: 200, seed: 1 };

    // Masked language modelling on all sentences, without their labels.
    let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 32);
    let texts = all.iter().map(|(text, _)| tokenizer.encode_with_types(text, None));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let masking = Masking::new(&tokenizer, 0.2, MaskUnit::Token, 1)?;
    let dataset = InMemoryDataset::masked(&texts, &masking, batching)?;
    let pretrained = train(Model::new(config.clone(), 1)?, dataset, 60)?;

    // The pretrained weights under a new head; the last subject is held out.
    let head = EncoderHead::Classifier(LABELS.map(String::from).to_vec().into());
    let mut model = Model::new(EncoderConfig { head, ..config }, 2)?;
    model.load_matching(&pretrained);
    let held_out = all.len() - MOODS.len();
    let examples: Vec<_> =
        texts.into_iter().zip(all.iter().map(|(_, label)| *label)).take(held_out).collect();
    let model = train(model, InMemoryDataset::labelled(&examples, batching)?, 40)?;

    hub::save(&model, folder)?;
    tokenizer.save(folder)?;
    let unseen: Vec<&str> = all[held_out..].iter().map(|(text, _)| text.as_str()).collect();
    let found = Classifier::load(folder)?.classify(&unseen)?;
    let best = unseen.iter().zip(found).map(|(text, mut labels)| (text, labels.swap_remove(0)));
    Ok(best.map(|(text, best)| (text.to_string(), best.label, best.score)).collect())
}

fn train(model: Model, dataset: impl Dataset, steps: u64) -> Result<Model> {
    let schedule = Schedule::Cosine;
    let learning_rate = LearningRate { schedule, peak: 5e-3, floor: 0.0, warmup: 5, total: steps };
    let mut trainer = Trainer::new(model, dataset, TrainerConfig::new(learning_rate, 1));
    trainer.train(|_, _| Ok(Control::Continue))?;
    Ok(trainer.into_model())
}
