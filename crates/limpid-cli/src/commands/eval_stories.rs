//! `limpid eval --stories`: a model of the built-in stories between what counting can do and what nobody can beat.

use crate::args::Eval;
use crate::printer::thousands;
use limpid::error::{Error, Result};
use limpid::eval::stories::{NatsAWord, OneAtATime, nats_a_word, one_at_a_time};
use limpid::model::{Architecture, Model};
use limpid::text::{Tokenizer, lines_of};
use serde_json::json;
use std::path::Path;

/// Measures a language model in nats a word, an encoder by words that are hidden one at a time.
pub fn run(args: &Eval, file: &Path, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    if args.data.is_empty() {
        return Err(Error::config("--stories needs the stories that the model has learnt from, too").hint(
            format!(
                "for what counting can do: limpid eval {} --stories {} --data train.story",
                args.model.display(),
                file.display()
            ),
        ));
    }
    let (train, test) = (lines_of(&args.data)?, lines_of(&[file.to_path_buf()])?);
    let (train, test) = (texts(&train), texts(&test));
    match &model.architecture {
        Architecture::Gpt(gpt) => {
            let found = nats_a_word((gpt, &model.params), tokenizer, &train, &test)?;
            if args.json {
                let NatsAWord { words, model, exact, bigram, unigram } = found;
                println!(
                    "{}",
                    json!({
                        "stories": test.len(), "words": words, "nats_a_word": model, "best_possible": exact,
                        "pairs_of_words_counted": bigram, "words_counted": unigram,
                    })
                );
            } else {
                print_writer(&found, test.len());
            }
        }
        Architecture::Bert(bert) if bert.config().head.fills_masks() => {
            let found =
                one_at_a_time((bert, &model.params), tokenizer, &train, &test, args.positions as usize)?;
            if args.json {
                let OneAtATime { positions, model, ceiling, most_frequent } = found;
                println!(
                    "{}",
                    json!({
                        "stories": test.len(), "positions": positions, "accuracy": model, "best_possible": ceiling,
                        "of_best_possible": model / ceiling, "most_frequent": most_frequent,
                    })
                );
            } else {
                print_filler(&found, test.len());
            }
        }
        architecture => {
            return Err(Error::config(format!(
                "{} is {}, which neither writes stories nor fills their gaps",
                args.model.display(),
                architecture.kind()
            ))
            .hint("--stories is for language models and for encoders that fill masks; summaries of stories: --summaries"));
        }
    }
    Ok(())
}

fn texts(lines: &[String]) -> Vec<&str> {
    lines.iter().map(String::as_str).collect()
}

fn row(what: &str, figure: f64) {
    println!("  {what:<28}{figure:>6.3}");
}

/// A language model beside its bounds.
pub fn print_writer(found: &NatsAWord, stories: usize) {
    println!("Nats a word on {stories} test stories, {} words", thousands(found.words));
    row("the GPT", found.model);
    row("the best possible (exact)", found.exact);
    row("pairs of words, counted", found.bigram);
    row("words, counted", found.unigram);
}

/// An encoder beside its bounds.
pub fn print_filler(found: &OneAtATime, stories: usize) {
    let hidden = thousands(found.positions);
    println!("Hidden words that were guessed, one at a time, {hidden} places of {stories} test stories");
    row("the BERT", found.model);
    row("the best possible (exact)", found.ceiling);
    row("always the most frequent", found.most_frequent);
}
