//! The other half of `limpid demo --all`: a GPT that writes small stories, and a BERT that fills their gaps.

use super::demo::{check_folder, mark};
use super::eval_stories::{print_filler, print_writer};
use crate::args::Demo;
use crate::printer::{self, say, thousands};
use limpid::config::{BertConfig, GptConfig};
use limpid::data::corpus::stories::{self, HIDDEN_SHARE, Splits, Story, texts};
use limpid::data::masking::{Hide, Masking};
use limpid::data::sequences::{documents, framed, without_start};
use limpid::decode::filter::Filter;
use limpid::decode::{Decoding, GenerateOptions, Overflow, Rules, Sampling, Strategy, Trace, generate};
use limpid::encode::{Encoder, Overlong, fill_mask};
use limpid::error::Result;
use limpid::eval::stories::{nats_a_word, one_at_a_time};
use limpid::hub;
use limpid::model::{Architecture, Model};
use limpid::optim::{AdamConfig, Rate, Schedule};
use limpid::text::{Purpose, Tokenizer, word_tokenizer_for};
use limpid::train::{MemorySettings, train_gpt, train_masked};
use std::path::Path;

/// Stories to learn from, and to measure by.
const STORIES: usize = 20_000;
const TEST_STORIES: usize = 200;
/// Hidden words that are measured.
const HIDDEN: usize = 1_000;
/// No story has more words, with a token at either end.
const POSITIONS: usize = 192;
const WIDTH: usize = 128;
const GPT_LAYERS: usize = 2;
const BERT_LAYERS: usize = 2;
const GPT_STEPS: u64 = 1_400;
const BERT_STEPS: u64 = 1_600;

/// Refuses what cannot work, and leaves the marks, before anything is trained.
pub fn prepare(gpt: &Path, bert: &Path) -> Result<()> {
    check_folder(gpt)?;
    check_folder(bert)?;
    mark(gpt, "story-gpt")?;
    mark(bert, "story-bert")
}

/// Trains, measures, shows and saves both.
pub fn run(args: &Demo, gpt: &Path, bert: &Path) -> Result<()> {
    say(format_args!("\nMaking {} stories from the built-in grammar …", thousands(STORIES)));
    let splits = stories::generate(STORIES, TEST_STORIES, args.seed);
    writer(args, &splits, gpt)?;
    filler(args, &splits, bert)
}

fn settings(args: &Demo, steps: u64, peak: f32) -> MemorySettings {
    let rate =
        Rate { schedule: Schedule::Cosine, peak, floor: 0.0, warmup: (steps / 10).min(150), total: steps };
    MemorySettings { batch_tokens: 2_048, rate, adam: AdamConfig::default(), seed: args.seed }
}

/// What is about to be trained, in two lines.
fn announce(what: &str, model: &Model, tokenizer: &Tokenizer, settings: &MemorySettings) {
    say(format_args!(
        "Training {what}: {} parameters,\n{} words and signs, {} steps of about {} tokens, {}.",
        thousands(model.params.count()),
        thousands(tokenizer.vocab_size()),
        settings.rate.total,
        settings.batch_tokens,
        printer::counted(limpid_tensor::team::threads(), "thread"),
    ));
}

/// The GPT: nats a word beside its bounds, and a story.
fn writer(args: &Demo, splits: &Splits, folder: &Path) -> Result<()> {
    let tokenizer = word_tokenizer_for(texts(&splits.train), Purpose::LanguageModel)?;
    let config = GptConfig::gpt2(tokenizer.vocab_size(), POSITIONS, GPT_LAYERS, args.heads, WIDTH);
    let mut model = Model::gpt(&config, args.seed)?;
    let Architecture::Gpt(gpt) = model.architecture.clone() else { unreachable!("a GPT was made") };
    let mut sequences = documents(&tokenizer, texts(&splits.train))?;
    without_start(&mut sequences);
    let settings = settings(args, args.steps.unwrap_or(GPT_STEPS), 3e-3);
    announce("a GPT that writes stories", &model, &tokenizer, &settings);
    let mut bar = printer::Training::new(settings.rate.total);
    train_gpt(&gpt, &mut model.params, &sequences, &settings, |p| {
        bar.step(p.step, p.steps, p.loss, p.tokens)
    })?;
    say(format_args!("Trained in {:.0} s.", bar.finish()));
    tokenizer.save(folder)?;
    let end = tokenizer.end().expect("a language model's tokenizer has one");
    let generation = serde_json::json!({
        "bos_token_id": end, "eos_token_id": end, "max_length": POSITIONS,
    });
    hub::save_writer(&model, folder, Some(&generation))?;

    let found = nats_a_word((&gpt, &model.params), &tokenizer, &texts(&splits.train), &texts(&splits.test))?;
    println!();
    print_writer(&found, splits.test.len());

    let filter = Filter { temperature: 0.7, ..Filter::default() };
    let decoding = Decoding {
        strategy: Strategy::Sample(Sampling { filter, samples: 1, seed: args.seed }),
        rules: Rules { ends: vec![end], ..Rules::default() },
    };
    let options = GenerateOptions {
        new_tokens: None,
        file_limits: (None, Some(POSITIONS)),
        stops: Vec::new(),
        start: Some(end),
        overflow: Overflow::Refuse,
        trace: Trace::Off,
    };
    let written = generate((&gpt, &model.params), &tokenizer, &[""], &decoding, &options, &mut |_| Ok(()))?;
    println!("\nA story it wrote (temperature 0.7):\n  {}", written[0][0].text);
    println!("\nThe model is in {}. What to type next:", folder.display());
    let limpid = printer::how_to_call();
    println!("  {limpid} generate {} --prompt \"Once there was\" --echo --temperature 0.7", folder.display());
    Ok(())
}

/// The BERT: accuracy at hidden words beside its bounds, and a filled gap.
fn filler(args: &Demo, splits: &Splits, folder: &Path) -> Result<()> {
    let tokenizer = word_tokenizer_for(texts(&splits.train), Purpose::Encoder)?;
    let config = BertConfig::new(tokenizer.vocab_size(), POSITIONS, BERT_LAYERS, args.heads, WIDTH);
    let mut model = Model::bert(&config, args.seed)?;
    let Architecture::Bert(bert) = model.architecture.clone() else { unreachable!("a BERT was made") };
    let sequences = framed(&tokenizer, texts(&splits.train))?;
    let masking = Masking::new(&tokenizer, HIDDEN_SHARE, Hide::Tokens, args.seed)?;
    let settings = settings(args, args.steps.unwrap_or(BERT_STEPS), 2e-3);
    announce("a BERT that fills the gaps of stories", &model, &tokenizer, &settings);
    let mut bar = printer::Training::new(settings.rate.total);
    train_masked(&bert, &mut model.params, &sequences, &masking, &settings, |p| {
        bar.step(p.step, p.steps, p.loss, p.tokens)
    })?;
    say(format_args!("Trained in {:.0} s.", bar.finish()));
    tokenizer.save(folder)?;
    hub::save(&model, folder)?;

    let found = one_at_a_time(
        (&bert, &model.params),
        &tokenizer,
        &texts(&splits.train),
        &texts(&splits.test),
        HIDDEN,
    )?;
    println!();
    print_filler(&found, splits.test.len());

    let text = with_gap(&splits.test[0]);
    let overlong = Overlong::Refuse;
    let encoder = Encoder { bert: &bert, params: &model.params, tokenizer: &tokenizer, overlong };
    println!("\n{text}");
    for word in &fill_mask(&encoder, std::slice::from_ref(&text), 3)?[0][0] {
        println!("  {:>7.4}  {}", word.probability, word.token.trim_start_matches('▁'));
    }
    println!("\nThe model is in {}. What to type next:", folder.display());
    println!("  {} fill-mask {} \"{text}\"", printer::how_to_call(), folder.display());
    Ok(())
}

/// The first two sentences of a story, its word with two senses hidden.
fn with_gap(story: &Story) -> String {
    let senses = stories::two_sense_words().map(|word| word.word);
    let sentences: Vec<&str> = story.text.split_inclusive('.').take(2).collect();
    let hide = |word: &str| {
        let bare = word.trim_end_matches(['.', ',']);
        if senses.contains(&bare) { word.replacen(bare, "[MASK]", 1) } else { word.to_string() }
    };
    sentences.concat().split(' ').map(hide).collect::<Vec<_>>().join(" ")
}
