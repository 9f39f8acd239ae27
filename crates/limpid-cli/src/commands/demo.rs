//! `limpid demo`: trains a small translator on the built-in corpus and shows its translations; with
//! `--all` also a GPT and a BERT.

use super::demo_metrics::{TrainingLog, save_scores};
use super::heat_map::heat_map;
use super::{demo_recurrent, demo_stories};
use crate::args::{Demo, DemoModel, Language};
use crate::error::{Error, Result};
use crate::printer::{self, say, thousands};
use limpid::data::pairs::tokenize_pairs;
use limpid::eval::baselines::{NearestSentence, WordForWord};
use limpid::eval::lengths::{LENGTH_BOUNDS, bleu_by_length};
use limpid::eval::{Bleu, BleuScore};
use limpid::files::{create_folder, write_atomic};
use limpid::generate::translate;
use limpid::hub;
use limpid::inspect::translation_attention;
use limpid::model::config::{EncoderDecoderConfig, RecurrentAttention};
use limpid::model::{EncoderDecoder, Model, Seq2Seq};
use limpid::optim::{LearningRate, Schedule};
use limpid::text::{Tokenizer, word_tokenizer};
use limpid::train::dataset::{Batching, InMemoryDataset};
use limpid::train::{Control, Dataset, Trainer, TrainerConfig};
use limpid_learn::corpus::{Pair, generate};
use std::path::{Path, PathBuf};

/// Training steps of the translator.
pub const STEPS: u64 = 2_000;

/// Training pairs of the demo's corpus.
pub const PAIRS: usize = 50_000;

/// A file in the model's folder by which a later demo recognizes it as its own.
const MARK: &str = "demo.json";

/// The source and target side of a pair.
struct Direction {
    to: Language,
}

impl Direction {
    fn sides<'a>(&self, pair: &'a Pair) -> (&'a str, &'a str) {
        match self.to {
            Language::En => (&pair.french, &pair.english),
            Language::Fr => (&pair.english, &pair.french),
        }
    }

    fn name(&self) -> &'static str {
        match self.to {
            Language::En => "fr-en",
            Language::Fr => "en-fr",
        }
    }

    fn words(&self) -> &'static str {
        match self.to {
            Language::En => "French to English",
            Language::Fr => "English to French",
        }
    }

    /// The sentence whose translation is shown with its attention.
    fn first(&self) -> &'static str {
        match self.to {
            Language::En => "Je suis étudiant",
            Language::Fr => "I am a student",
        }
    }
}

/// Trains, measures, shows and saves.
pub fn run(args: Demo) -> Result<()> {
    if !args.only.is_empty() {
        return run_only(&args);
    }
    let direction = Direction { to: args.to };
    // With one model --out is its folder, with three the folder around them.
    let parent = || PathBuf::from("limpid-demo");
    let (folder, stories) = if args.all {
        let parent = args.out.clone().unwrap_or_else(parent);
        let stories = (parent.join("story-gpt"), parent.join("story-bert"));
        (parent.join(direction.name()), Some(stories))
    } else {
        (args.out.clone().unwrap_or_else(|| parent().join(direction.name())), None)
    };
    check_folder(&folder)?;
    // Invalid settings are refused before anything is computed; the vocabulary size, not known yet,
    // does not matter here.
    config(4, args.heads).validate()?;

    // Before training: a folder that cannot be written must not cost a trained model.
    if let Some((gpt, bert)) = &stories {
        demo_stories::prepare(gpt, bert)?;
    }
    mark(&folder, direction.name())?;
    translator(&args, &direction, &folder)?;
    match stories {
        Some((gpt, bert)) => demo_stories::run(&args, Some(&gpt), Some(&bert)),
        None => Ok(()),
    }
}

/// Trains some models, each in a folder of its name.
fn run_only(args: &Demo) -> Result<()> {
    let parent = args.out.clone().unwrap_or_else(|| PathBuf::from("limpid-demo"));
    let folder = |model: DemoModel| parent.join(model.name());
    config(4, args.heads).validate()?;
    for model in &args.only {
        check_folder(&folder(*model))?;
    }
    args.only.iter().try_for_each(|model| mark(&folder(*model), model.name()))?;
    let is_story = |model: &DemoModel| matches!(model, DemoModel::StoryGpt | DemoModel::StoryBert);
    for model in args.only.iter().filter(|model| !is_story(model)) {
        let folder = folder(*model);
        match model {
            DemoModel::Rnn => demo_recurrent::run(args, &folder, RecurrentAttention::None)?,
            DemoModel::RnnAttention => {
                demo_recurrent::run(args, &folder, RecurrentAttention::Additive)?;
            }
            _ => translator(args, &Direction { to: Language::En }, &folder)?,
        }
    }
    let wanted = |model| args.only.contains(&model).then(|| folder(model));
    let (gpt, bert) = (wanted(DemoModel::StoryGpt), wanted(DemoModel::StoryBert));
    match args.only.iter().any(is_story) {
        true => demo_stories::run(args, gpt.as_deref(), bert.as_deref()),
        false => Ok(()),
    }
}

fn translator(args: &Demo, direction: &Direction, folder: &Path) -> Result<()> {
    let steps = args.steps.unwrap_or(STEPS);

    let pairs = thousands(PAIRS);
    say(format_args!("Generating {pairs} sentence pairs from the built-in grammar …"));
    let corpus = generate(PAIRS, args.seed);
    let texts = corpus.train.iter().flat_map(|pair| [pair.english.as_str(), pair.french.as_str()]);
    let tokenizer = word_tokenizer(texts)?;
    let sides = |pairs: &'_ [Pair]| -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|pair| direction.sides(pair))
            .map(|(s, t)| (s.to_string(), t.to_string()))
            .collect()
    };
    let (train, test) = (sides(&corpus.train), sides(&corpus.test));

    let model = Model::new(config(tokenizer.vocab_size(), args.heads), args.seed)?;
    let seq2seq = model.encoder_decoder().expect("an encoder-decoder").clone();
    let end = seq2seq.config().eos_token_id;
    let pairs =
        tokenize_pairs(&tokenizer, train.iter().map(|(s, t)| (s.as_str(), t.as_str())), end)?;
    say(format_args!(
        "Training a Transformer, {}: {} parameters,\n\
         {} tokens in the vocabulary, {} steps of about {} tokens, {}.",
        direction.words(),
        thousands(model.params.count()),
        thousands(tokenizer.vocab_size()),
        steps,
        BATCH_TOKENS,
        printer::counted(limpid_tensor::team::threads(), "thread"),
    ));
    let batching = Batching { tokens: BATCH_TOKENS, seed: args.seed };
    let dataset = InMemoryDataset::pairs(&seq2seq, &pairs, batching)?;
    let mut trainer = Trainer::new(model, dataset, trainer_config(args, steps));
    let seconds = train_with_bar(&mut trainer, folder)?;
    let model = trainer.into_model();
    say(format_args!("Trained in {seconds:.0} s."));

    tokenizer.save(folder)?;
    hub::save(&model, folder)?;
    measure((&seq2seq, &model), &tokenizer, &train, &test, folder)?;
    show_attention(&seq2seq, &model, &tokenizer, direction.first())?;
    println!("\nModel: {}. What to type next:", folder.display());
    let limpid = printer::how_to_call();
    println!("  {limpid} translate {} \"{}\"", folder.display(), direction.first());
    println!("  {limpid} report {}", folder.display());
    println!("  {limpid} explain self-attention");
    Ok(())
}

/// Refuses a folder with other content.
pub fn check_folder(folder: &Path) -> Result<()> {
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => {
            return Err(Error::io("look into", folder, e).hint("give a folder with --out DIR"));
        }
    };
    if entries.next().is_some() && !folder.join(MARK).is_file() {
        return Err(Error::config(format!(
            "{} is not empty, and no demo has written it",
            folder.display()
        ))
        .hint("give a new folder with --out DIR"));
    }
    Ok(())
}

fn config(vocab_size: usize, heads: usize) -> EncoderDecoderConfig {
    let config = EncoderDecoderConfig::new(vocab_size, LAYERS, heads, WIDTH, FFN);
    EncoderDecoderConfig { max_position_embeddings: 256, ..config }
}

const LAYERS: usize = 2;
const WIDTH: usize = 128;
const FFN: usize = 512;

/// Tokens of a batch, source and target together.
pub const BATCH_TOKENS: usize = 1_024;

pub fn trainer_config(args: &Demo, steps: u64) -> TrainerConfig {
    let schedule = Schedule::Cosine;
    let rate = LearningRate { schedule, peak: 2e-3, floor: 0.0, warmup: 150, total: steps };
    TrainerConfig::new(rate, args.seed)
}

/// Trains to the end under a progress bar and writes the metrics into the folder; returns the
/// seconds it took.
pub fn train_with_bar<D: Dataset>(trainer: &mut Trainer<D>, folder: &Path) -> Result<f64> {
    let mut bar = printer::Training::new(trainer.steps());
    let mut log = TrainingLog::default();
    trainer.train(|_, step| {
        bar.step(step.step, step.steps, step.loss, step.tokens);
        log.step(step);
        log.save_sometimes(folder)?;
        Ok(Control::Continue)
    })?;
    log.save(folder)?;
    Ok(bar.finish())
}

/// Creates the folder with a file by which a later demo recognizes it.
pub fn mark(folder: &Path, what: &str) -> Result<()> {
    let mark = serde_json::json!({ "made_by": "limpid demo", "what": what });
    create_folder(folder)?;
    Ok(write_atomic(&folder.join(MARK), mark.to_string().as_bytes())?)
}

/// Prints BLEU on the test sentences with two baselines, and ten translations.
fn measure(
    (seq2seq, model): (&EncoderDecoder, &Model),
    tokenizer: &Tokenizer,
    train: &[(String, String)],
    test: &[(String, String)],
    folder: &Path,
) -> Result<()> {
    let sources: Vec<&str> = test.iter().map(|(source, _)| source.as_str()).collect();
    let references: Vec<Vec<&str>> = test.iter().map(|(_, target)| vec![target.as_str()]).collect();
    let pairs = || train.iter().map(|(s, t)| (s.as_str(), t.as_str()));
    let bleu = |translations: &[String]| -> Result<BleuScore> {
        let translations: Vec<&str> = translations.iter().map(String::as_str).collect();
        Ok(Bleu::default().corpus(&translations, &references)?)
    };

    say(format_args!("Translating {} held-out test sentences …", test.len()));
    let translations = translate(seq2seq, &model.params, tokenizer, &sources)?;
    let word_for_word = WordForWord::learn(pairs());
    let nearest = NearestSentence::new(pairs());
    let by_words: Vec<String> = sources.iter().map(|text| word_for_word.translate(text)).collect();
    let by_nearest: Vec<String> = sources.iter().map(|text| nearest.translate(text)).collect();
    let ours = bleu(&translations)?;
    println!("\nBLEU on {} test sentences ({})", test.len(), ours.signature);
    println!("  {:<28}{:>6.1}", "the Transformer", ours.score);
    let baselines = [
        ("word for word", bleu(&by_words)?.score),
        ("nearest training sentence", bleu(&by_nearest)?.score),
    ];
    for (name, score) in baselines {
        println!("  {name:<28}{score:>6.1}");
    }
    let hypotheses: Vec<&str> = translations.iter().map(String::as_str).collect();
    let metric = Bleu::default();
    let tokenizer = metric.tokenizer;
    let by_length =
        bleu_by_length(&metric, tokenizer, &LENGTH_BOUNDS, &sources, &hypotheses, &references)?;
    save_scores(folder, &ours, &by_length, &baselines)?;

    println!("\nTen translations:");
    for i in (0..test.len()).step_by((test.len() / 10).max(1)).take(10) {
        println!("  {}", sources[i]);
        println!("  → {}", translations[i]);
        if translations[i] != test[i].1 {
            println!("    (expected: {})", test[i].1);
        }
    }
    Ok(())
}

/// Prints one translation with its cross-attention.
pub fn show_attention<'a>(
    seq2seq: impl Into<Seq2Seq<'a>>,
    model: &'a Model,
    tokenizer: &Tokenizer,
    text: &str,
) -> Result<()> {
    let attention = translation_attention(seq2seq, &model.params, tokenizer, text)?;
    println!("\n{text} → {}", attention.translation);
    println!("Cross-attention (layer {}, mean over the heads):", attention.layer + 1);
    print!("{}", heat_map(&attention.target, &attention.source, &attention.weights));
    Ok(())
}
