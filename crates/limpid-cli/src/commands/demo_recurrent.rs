//! The recurrent models of `limpid demo --only`: the ancestors of the Transformer, on its corpus.

use super::demo::{BATCH_TOKENS, PAIRS, STEPS, show_attention, train_with_bar, trainer_config};
use crate::args::Demo;
use crate::error::Result;
use crate::printer::{say, thousands};
use limpid::data::pairs::tokenize_pairs;
use limpid::generate::translate;
use limpid::hub;
use limpid::model::Model;
use limpid::model::config::{Directions, RecurrentAttention, RecurrentConfig};
use limpid::text::word_tokenizer;
use limpid::train::Trainer;
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid_learn::corpus::generate;
use limpid_tensor::kernels::recurrent::Cell;
use std::path::Path;

/// Width of embeddings and states.
const WIDTH: usize = 128;
/// Layers of the encoder and of the decoder.
const LAYERS: usize = 1;

/// Trains a translator from French to English, and shows one translation.
pub fn run(args: &Demo, folder: &Path, attention: RecurrentAttention) -> Result<()> {
    let corpus = generate(PAIRS, args.seed);
    let texts = corpus.train.iter().flat_map(|pair| [pair.english.as_str(), pair.french.as_str()]);
    let tokenizer = word_tokenizer(texts)?;
    let config = RecurrentConfig::new(tokenizer.vocab_size(), Cell::Gru, attention, LAYERS, WIDTH);
    // With attention as in Bahdanau et al. 2015; without, as in Sutskever et al. 2014.
    let directions = match attention {
        RecurrentAttention::None => Directions::Forward,
        _ => Directions::Bidirectional,
    };
    let config = RecurrentConfig { directions, ..config };
    let model = Model::new(&config, args.seed)?;
    let rnn = model.recurrent().expect("a recurrent model").clone();
    let pairs = corpus.train.iter().map(|pair| (pair.french.as_str(), pair.english.as_str()));
    let pairs = tokenize_pairs(&tokenizer, pairs, config.eos_token_id)?;
    let parameters = thousands(model.params.count());
    let what = match attention {
        RecurrentAttention::None => "without attention",
        _ => "with attention",
    };
    say(format_args!("Training a recurrent translator {what}: {parameters} parameters."));
    let batching = Batching { tokens: BATCH_TOKENS, seed: args.seed };
    let dataset = InMemoryDataset::pairs(&rnn, &pairs, batching)?;
    let mut trainer =
        Trainer::new(model, dataset, trainer_config(args, args.steps.unwrap_or(STEPS)));
    say(format_args!("Trained in {:.0} s.", train_with_bar(&mut trainer, folder)?));
    let model = trainer.into_model();
    tokenizer.save(folder)?;
    hub::save(&model, folder)?;
    let text = "Je suis étudiant";
    match attention {
        RecurrentAttention::None => {
            let found = translate(&rnn, &model.params, &tokenizer, &[text])?;
            println!("\n{text} → {}", found[0]);
        }
        _ => show_attention(&rnn, &model, &tokenizer, text)?,
    }
    println!("\nModel: {}", folder.display());
    Ok(())
}
