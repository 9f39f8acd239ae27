//! `limpid corpus`: the built-in corpora as files.

use crate::args::Corpus;
use crate::error::{Error, Result};
use crate::printer::{self, say};
use limpid::files::{create_folder, write_atomic};
use limpid_learn::corpus::stories::{self, Story, TwoSenseWord};
use limpid_learn::corpus::{Pair, generate};
use serde_json::json;
use std::path::{Path, PathBuf};

const NAMES: [&str; 3] = ["train", "validation", "test"];
const MAX_SIZE: usize = 1_000_000;
/// Test stories for the ceiling: some 26,000 positions, in a second or two.
const CEILING_STORIES: usize = 200;

/// Writes a corpus in line-aligned files.
pub fn run(args: Corpus) -> Result<()> {
    match args {
        Corpus::Translate { out, pairs, seed } => translate(&out, pairs, seed),
        Corpus::Stories { out, stories, held_out, seed } => {
            let held_out = held_out.unwrap_or((stories / 10).clamp(1, 1000));
            write_stories(&out, stories, held_out, seed)
        }
    }
}

/// Writes `train.en`, `train.fr`, `validation.*`, `test.*`: line n of one file translates line n of
/// the other.
fn translate(out: &Path, pairs: usize, seed: u64) -> Result<()> {
    check_size("--pairs", pairs, 50_000)?;
    let files = new_files(out, ["en", "fr"])?;
    let corpus = generate(pairs, seed);
    let sets = [&corpus.train, &corpus.validation, &corpus.test];
    for (pairs, files) in sets.iter().zip(&files) {
        write_atomic(&files[0], lines(pairs, |pair: &Pair| &pair.english).as_bytes())?;
        write_atomic(&files[1], lines(pairs, |pair: &Pair| &pair.french).as_bytes())?;
    }
    report(&files, sets.map(Vec::len), "pairs");
    Ok(())
}

/// Writes `train.story`, `train.summary`, `validation.*`, `test.*`, and `facts.json` with the exact
/// bounds.
fn write_stories(out: &Path, count: usize, held_out: usize, seed: u64) -> Result<()> {
    check_size("--stories", count, 20_000)?;
    check_size("--held-out", held_out, 1000)?;
    let facts_file = out.join("facts.json");
    refuse_existing(&facts_file)?;
    let files = new_files(out, ["story", "summary"])?;
    let splits = stories::generate(count, held_out, seed);
    let sets = [&splits.train, &splits.validation, &splits.test];
    for (stories, files) in sets.iter().zip(&files) {
        write_atomic(&files[0], lines(stories, |story: &Story| &story.text).as_bytes())?;
        write_atomic(&files[1], lines(stories, |story: &Story| &story.summary).as_bytes())?;
    }
    let facts = facts(&splits.test, seed);
    write_atomic(&facts_file, format!("{facts:#}\n").as_bytes())?;
    report(&files, sets.map(Vec::len), "stories");
    let of_test = |key: &str| facts["test"][key].as_f64().unwrap_or(f64::NAN);
    let masked = facts["test"]["masked"]["ceiling"].as_f64().unwrap_or(f64::NAN);
    say(format_args!(
        "Exact bounds on the test stories: entropy {:.3} nats per word, ceiling of the masked-word \
         accuracy {masked:.3}; details: {}",
        of_test("nats_per_word"),
        facts_file.display()
    ));
    println!("{}", facts_file.display());
    Ok(())
}

/// Exact properties of the generator, and bounds on these test stories.
fn facts(test: &[Story], seed: u64) -> serde_json::Value {
    let exact = stories::entropy();
    let words: usize = test.iter().map(|story| stories::words(&story.text).len()).sum();
    let loss =
        |story: &Story| -stories::log_probability(&story.text).expect("the generator wrote it");
    let nats: f64 = test.iter().map(loss).sum();
    let ceiling =
        stories::ceiling(test.iter().take(CEILING_STORIES).map(|story| story.text.as_str()));
    let word = |word: TwoSenseWord| json!({"phrase": word.phrase, "meanings": word.meanings});
    json!({
        "seed": seed,
        "plots": stories::plot_names(),
        "generator": {
            "nats_per_story": exact.per_story,
            "words_per_story": exact.words,
            "nats_per_word": exact.per_word(),
        },
        "test": {
            "stories": test.len(),
            "words": words,
            "nats_per_word": nats / words as f64,
            "masked": {
                "stories": test.len().min(CEILING_STORIES),
                "positions": ceiling.positions,
                "ceiling": ceiling.accuracy,
                "word_positions": ceiling.word_positions,
                "word_ceiling": ceiling.word_accuracy,
            },
        },
        "two_sense_words": stories::two_sense_words().map(word),
    })
}

fn check_size(flag: &str, asked: usize, default: usize) -> Result<()> {
    if asked == 0 {
        return Err(Error::config(format!("{flag} 0 asks for an empty corpus"))
            .hint(format!("use {flag} {default}")));
    }
    if asked > MAX_SIZE {
        return Err(Error::config(format!(
            "{flag} {asked} is more than {MAX_SIZE}, which already takes minutes and gigabytes"
        ))
        .hint(format!("use {flag} {MAX_SIZE}, or several seeds")));
    }
    Ok(())
}

/// The paths of six files, two for each split, in a folder that is created.
fn new_files(out: &Path, endings: [&str; 2]) -> Result<[[PathBuf; 2]; 3]> {
    let files = NAMES.map(|name| endings.map(|ending| out.join(format!("{name}.{ending}"))));
    files.as_flattened().iter().try_for_each(|file| refuse_existing(file))?;
    create_folder(out)?;
    Ok(files)
}

fn refuse_existing(file: &Path) -> Result<()> {
    if file.exists() {
        return Err(Error::config(format!("{} exists already", file.display()))
            .hint("give a new folder with --out, or remove the old corpus"));
    }
    Ok(())
}

fn lines<T>(of: &[T], text: fn(&T) -> &str) -> String {
    of.iter().flat_map(|one| [text(one), "\n"]).collect()
}

/// Printed when all is written: a closed pipe does not stop the work.
fn report(files: &[[PathBuf; 2]; 3], counts: [usize; 3], what: &str) {
    for ((name, count), files) in NAMES.iter().zip(counts).zip(files) {
        printer::say(format_args!("{name}: {count} {what}"));
        files.iter().for_each(|file| println!("{}", file.display()));
    }
}
