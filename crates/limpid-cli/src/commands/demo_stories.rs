//! The other half of `limpid demo --all`: a GPT that generates small stories, and a BERT that
//! predicts their masked words.

use super::demo::{check_folder, mark, train_with_bar};
use super::eval_stories::{print_filler, print_writer};
use crate::args::Demo;
use crate::error::Result;
use crate::printer::{self, say, thousands};
use limpid::data::masking::{MaskUnit, Masking};
use limpid::data::sequences::{documents, drop_alternate_starts, encode_each};
use limpid::encode::{TextEncoder, Truncation, fill_mask};
use limpid::generate::sampling::SamplingFilter;
use limpid::generate::{
    ContextOverflow, DecodingConfig, GenerateOptions, Sampling, Strategy, Trace, generate,
};
use limpid::hub;
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, EncoderConfig};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::{Purpose, Tokenizer, word_tokenizer_for};
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid::train::{Trainer, TrainerConfig};
use limpid_learn::corpus::score::{masked_accuracy, word_loss};
use limpid_learn::corpus::stories::{self, MASKING_PROBABILITY, Splits, Story, texts};
use std::path::Path;

/// Training stories, and test stories.
const STORIES: usize = 20_000;
const TEST_STORIES: usize = 200;
/// Masked words to predict in the evaluation.
const HIDDEN: usize = 1_000;
/// No story has more words, with a token at either end.
const POSITIONS: usize = 192;
const WIDTH: usize = 128;
const GPT_LAYERS: usize = 2;
const BERT_LAYERS: usize = 2;
const GPT_STEPS: u64 = 1_400;
const BERT_STEPS: u64 = 1_600;

/// Checks and marks the folders before anything is trained.
pub fn prepare(gpt: &Path, bert: &Path) -> Result<()> {
    check_folder(gpt)?;
    check_folder(bert)?;
    mark(gpt, "story-gpt")?;
    mark(bert, "story-bert")
}

/// Trains, measures, shows and saves those that have a folder.
pub fn run(args: &Demo, gpt: Option<&Path>, bert: Option<&Path>) -> Result<()> {
    say(format_args!("\nGenerating {} stories from the built-in grammar …", thousands(STORIES)));
    let splits = stories::generate(STORIES, TEST_STORIES, args.seed);
    gpt.map_or(Ok(()), |folder| writer(args, &splits, folder))?;
    bert.map_or(Ok(()), |folder| filler(args, &splits, folder))
}

/// Tokens of a batch.
const BATCH_TOKENS: usize = 2_048;

fn settings(args: &Demo, steps: u64, peak: f32) -> (Batching, TrainerConfig) {
    let rate = LearningRate {
        schedule: Schedule::Cosine,
        peak,
        floor: 0.0,
        warmup: (steps / 10).min(150),
        total: steps,
    };
    let seed = args.seed;
    (Batching { tokens: BATCH_TOKENS, seed }, TrainerConfig::new(rate, seed))
}

/// Prints what is about to be trained.
fn announce(what: &str, model: &Model, tokenizer: &Tokenizer, config: &TrainerConfig) {
    say(format_args!(
        "Training {what}: {} parameters,\n\
         {} tokens in the vocabulary, {} steps of about {} tokens, {}.",
        thousands(model.params.count()),
        thousands(tokenizer.vocab_size()),
        config.learning_rate.total,
        BATCH_TOKENS,
        printer::counted(limpid_tensor::team::threads(), "thread"),
    ));
}

/// Trains the GPT, prints its nats per word with their bounds, and a generated story.
fn writer(args: &Demo, splits: &Splits, folder: &Path) -> Result<()> {
    let tokenizer = word_tokenizer_for(texts(&splits.train), Purpose::LanguageModel)?;
    let config =
        DecoderConfig::gpt2(tokenizer.vocab_size(), POSITIONS, GPT_LAYERS, args.heads, WIDTH);
    let model = Model::new(&config, args.seed)?;
    let gpt = model.decoder().expect("a decoder").clone();
    let mut sequences = documents(&tokenizer, texts(&splits.train))?;
    drop_alternate_starts(&mut sequences);
    let (batching, config) = settings(args, args.steps.unwrap_or(GPT_STEPS), 3e-3);
    announce("a GPT on stories", &model, &tokenizer, &config);
    let dataset = InMemoryDataset::language_model(&sequences, batching)?;
    let mut trainer = Trainer::new(model, dataset, config);
    say(format_args!("Trained in {:.0} s.", train_with_bar(&mut trainer, folder)?));
    let model = trainer.into_model();
    tokenizer.save(folder)?;
    let end = tokenizer.eos_id().expect("a language model's tokenizer has one");
    let generation = serde_json::json!({
        "bos_token_id": end, "eos_token_id": end, "max_length": POSITIONS,
    });
    hub::save_with_generation(&model, folder, Some(&generation))?;

    let found =
        word_loss((&gpt, &model.params), &tokenizer, &texts(&splits.train), &texts(&splits.test))?;
    println!();
    print_writer(&found, splits.test.len());

    let filter = SamplingFilter { temperature: 0.7, ..SamplingFilter::default() };
    let sampling = Sampling { filter, num_return_sequences: 1, seed: args.seed };
    let mut decoding = DecodingConfig::with_strategy(Strategy::Sample(sampling), &[end]);
    decoding.length.default_max_length = Some(POSITIONS);
    let options = GenerateOptions {
        bos_token_id: Some(end),
        overflow: ContextOverflow::Error,
        trace: Trace::Off,
    };
    let written =
        generate((&gpt, &model.params), &tokenizer, &[""], &decoding, &options, &mut |_| Ok(()))?;
    println!("\nA generated story (temperature 0.7):\n  {}", written[0][0].text);
    println!("\nModel: {}. What to type next:", folder.display());
    let limpid = printer::how_to_call();
    println!(
        "  {limpid} generate {} --prompt \"Once there was\" --echo --temperature 0.7",
        folder.display()
    );
    Ok(())
}

/// Trains the BERT, prints its masked-word accuracy with bounds, and a filled mask.
fn filler(args: &Demo, splits: &Splits, folder: &Path) -> Result<()> {
    let tokenizer = word_tokenizer_for(texts(&splits.train), Purpose::Encoder)?;
    let config =
        EncoderConfig::new(tokenizer.vocab_size(), POSITIONS, BERT_LAYERS, args.heads, WIDTH);
    let model = Model::new(&config, args.seed)?;
    let bert = model.encoder().expect("an encoder").clone();
    let sequences = encode_each(&tokenizer, texts(&splits.train))?;
    let masking = Masking::new(&tokenizer, MASKING_PROBABILITY, MaskUnit::Token, args.seed)?;
    let (batching, config) = settings(args, args.steps.unwrap_or(BERT_STEPS), 2e-3);
    announce("a BERT on stories", &model, &tokenizer, &config);
    let dataset = InMemoryDataset::masked(&sequences, &masking, batching)?;
    let mut trainer = Trainer::new(model, dataset, config);
    say(format_args!("Trained in {:.0} s.", train_with_bar(&mut trainer, folder)?));
    let model = trainer.into_model();
    tokenizer.save(folder)?;
    hub::save(&model, folder)?;

    let found = masked_accuracy(
        (&bert, &model.params),
        &tokenizer,
        &texts(&splits.train),
        &texts(&splits.test),
        HIDDEN,
    )?;
    println!();
    print_filler(&found, splits.test.len());

    let text = with_gap(&splits.test[0]);
    let (weights, truncation) = ((&model.params).into(), Truncation::Error);
    let encoder = TextEncoder { model: &bert, weights, tokenizer: &tokenizer, truncation };
    println!("\n{text}");
    for word in &fill_mask(&encoder, std::slice::from_ref(&text), 3)?[0][0] {
        println!("  {:>7.4}  {}", word.probability, word.token.trim_start_matches('▁'));
    }
    println!("\nModel: {}. What to type next:", folder.display());
    println!("  {} fill-mask {} \"{text}\"", printer::how_to_call(), folder.display());
    Ok(())
}

/// The first two sentences of a story, its word with two senses masked.
fn with_gap(story: &Story) -> String {
    let senses = stories::two_sense_words().map(|word| word.word);
    let sentences: Vec<&str> = story.text.split_inclusive('.').take(2).collect();
    let hide = |word: &str| {
        let bare = word.trim_end_matches(['.', ',']);
        if senses.contains(&bare) { word.replacen(bare, "[MASK]", 1) } else { word.to_string() }
    };
    sentences.concat().split(' ').map(hide).collect::<Vec<_>>().join(" ")
}
