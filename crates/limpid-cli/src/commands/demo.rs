//! `limpid demo`: train a small translator on the built-in corpus, and show what it learnt; with `--all` a GPT and a BERT, too.

use super::demo_stories;
use crate::args::{Demo, Language};
use crate::printer::{self, say, thousands};
use limpid::config::Seq2SeqConfig;
use limpid::data::corpus::{Pair, generate};
use limpid::data::pairs::tokenize_pairs;
use limpid::decode::translate;
use limpid::error::{Error, Result};
use limpid::eval::baselines::{NearestSentence, WordForWord};
use limpid::eval::{Bleu, BleuScore};
use limpid::files::{create_folder, write_aside};
use limpid::hub;
use limpid::inspect::heat_map;
use limpid::inspect::translation_attention;
use limpid::model::{Architecture, Model, Seq2Seq};
use limpid::optim::{AdamConfig, Rate, Schedule};
use limpid::text::{Tokenizer, word_tokenizer};
use limpid::train::{TranslateSettings, train_translator};
use std::path::{Path, PathBuf};

/// Training steps of the translator.
const STEPS: u64 = 2_000;

/// Training pairs of the demo's corpus.
const PAIRS: usize = 50_000;

/// Left in the model's folder, so that a later demo knows the folder as its own.
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

    /// What everybody types first.
    fn first(&self) -> &'static str {
        match self.to {
            Language::En => "Je suis étudiant",
            Language::Fr => "I am a student",
        }
    }
}

/// Trains, measures, shows and saves.
pub fn run(args: Demo) -> Result<()> {
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
    // What cannot work is refused before anything is done; the vocabulary is not known yet, and does not matter here.
    config(4, args.heads).validate()?;

    // Now, not after the training: a folder that cannot be written loses nothing yet.
    if let Some((gpt, bert)) = &stories {
        demo_stories::prepare(gpt, bert)?;
    }
    mark(&folder, direction.name())?;
    translator(&args, &direction, &folder)?;
    match stories {
        Some((gpt, bert)) => demo_stories::run(&args, &gpt, &bert),
        None => Ok(()),
    }
}

fn translator(args: &Demo, direction: &Direction, folder: &Path) -> Result<()> {
    let steps = args.steps.unwrap_or(STEPS);

    say(format_args!("Making {PAIRS} sentence pairs from the built-in grammar …"));
    let corpus = generate(PAIRS, args.seed);
    let texts = corpus.train.iter().flat_map(|pair| [pair.english.as_str(), pair.french.as_str()]);
    let tokenizer = word_tokenizer(texts)?;
    let sides = |pairs: &'_ [Pair]| -> Vec<(String, String)> {
        pairs.iter().map(|pair| direction.sides(pair)).map(|(s, t)| (s.to_string(), t.to_string())).collect()
    };
    let (train, test) = (sides(&corpus.train), sides(&corpus.test));

    let mut model = Model::seq2seq(&config(tokenizer.vocab_size(), args.heads), args.seed)?;
    let Architecture::Seq2Seq(seq2seq) = model.architecture.clone() else {
        unreachable!("the demo translates")
    };
    let end = seq2seq.config().eos_token_id;
    let pairs = tokenize_pairs(&tokenizer, train.iter().map(|(s, t)| (s.as_str(), t.as_str())), end)?;
    let settings = settings(args, steps);
    say(format_args!(
        "Training a Transformer, {}: {} parameters,\n{} words and signs, {} steps of about {} tokens, {}.",
        direction.words(),
        thousands(model.params.count()),
        thousands(tokenizer.vocab_size()),
        steps,
        settings.batch_tokens,
        printer::counted(limpid_tensor::team::threads(), "thread"),
    ));
    let mut bar = printer::Training::new(steps);
    train_translator(&seq2seq, &mut model.params, &pairs, &settings, |p| {
        bar.step(p.step, p.steps, p.loss, p.tokens)
    })?;
    let seconds = bar.finish();
    say(format_args!("Trained in {seconds:.0} s."));

    tokenizer.save(folder)?;
    hub::save(&model, folder)?;
    measure(&seq2seq, &model, &tokenizer, &train, &test)?;
    show_attention(&seq2seq, &model, &tokenizer, direction.first())?;
    println!("\nThe model is in {}. What to type next:", folder.display());
    let limpid = printer::how_to_call();
    println!("  {limpid} translate {} \"{}\"", folder.display(), direction.first());
    println!("  {limpid} explain self-attention");
    Ok(())
}

/// Refuses to write into a folder that holds something else.
pub fn check_folder(folder: &Path) -> Result<()> {
    let mut entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io("look into", folder, &e).hint("give a folder with --out DIR")),
    };
    if entries.next().is_some() && !folder.join(MARK).is_file() {
        return Err(Error::config(format!("{} holds something that no demo has made", folder.display()))
            .hint("give a new folder with --out DIR"));
    }
    Ok(())
}

fn config(vocab_size: usize, heads: usize) -> Seq2SeqConfig {
    let config = Seq2SeqConfig::new(vocab_size, LAYERS, heads, WIDTH, FFN);
    Seq2SeqConfig { max_position_embeddings: 256, ..config }
}

const LAYERS: usize = 2;
const WIDTH: usize = 128;
const FFN: usize = 512;

fn settings(args: &Demo, steps: u64) -> TranslateSettings {
    TranslateSettings {
        batch_tokens: 1_024,
        rate: Rate { schedule: Schedule::Cosine, peak: 2e-3, floor: 0.0, warmup: 150, total: steps },
        smoothing: 0.0,
        adam: AdamConfig::default(),
        seed: args.seed,
    }
}

/// Makes the folder and leaves a mark, by which a later demo knows it as its own.
pub fn mark(folder: &Path, what: &str) -> Result<()> {
    let mark = serde_json::json!({ "made_by": "limpid demo", "what": what });
    create_folder(folder)?;
    write_aside(&folder.join(MARK), mark.to_string().as_bytes())
}

/// BLEU on the test sentences beside the baselines, and ten translations.
fn measure(
    seq2seq: &Seq2Seq,
    model: &Model,
    tokenizer: &Tokenizer,
    train: &[(String, String)],
    test: &[(String, String)],
) -> Result<()> {
    let sources: Vec<&str> = test.iter().map(|(source, _)| source.as_str()).collect();
    let references: Vec<Vec<&str>> = test.iter().map(|(_, target)| vec![target.as_str()]).collect();
    let pairs = || train.iter().map(|(s, t)| (s.as_str(), t.as_str()));
    let bleu = |translations: &[String]| -> Result<BleuScore> {
        let translations: Vec<&str> = translations.iter().map(String::as_str).collect();
        Ok(Bleu::default().corpus(&translations, &references)?)
    };

    say(format_args!("Translating {} test sentences that were never seen in training …", test.len()));
    let translations = translate(seq2seq, &model.params, tokenizer, &sources)?;
    let word_for_word = WordForWord::learn(pairs());
    let nearest = NearestSentence::new(pairs());
    let by_words: Vec<String> = sources.iter().map(|text| word_for_word.translate(text)).collect();
    let by_nearest: Vec<String> = sources.iter().map(|text| nearest.translate(text)).collect();
    let ours = bleu(&translations)?;
    println!("\nBLEU on {} test sentences ({})", test.len(), ours.signature);
    println!("  {:<28}{:>6.1}", "the Transformer", ours.score);
    println!("  {:<28}{:>6.1}", "word for word", bleu(&by_words)?.score);
    println!("  {:<28}{:>6.1}", "nearest training sentence", bleu(&by_nearest)?.score);

    println!("\nTen of them:");
    for i in (0..test.len()).step_by((test.len() / 10).max(1)).take(10) {
        println!("  {}", sources[i]);
        println!("  → {}", translations[i]);
        if translations[i] != test[i].1 {
            println!("    (expected: {})", test[i].1);
        }
    }
    Ok(())
}

/// One translation, and which words it looked at.
fn show_attention(seq2seq: &Seq2Seq, model: &Model, tokenizer: &Tokenizer, text: &str) -> Result<()> {
    let attention = translation_attention(seq2seq, &model.params, tokenizer, text)?;
    println!("\n{text} → {}", attention.translation);
    println!("Where the decoder looked for each word (layer {}, mean of the heads):", attention.layer + 1);
    print!("{}", heat_map(&attention.target, &attention.source, &attention.weights));
    Ok(())
}
