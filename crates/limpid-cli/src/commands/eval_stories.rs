//! `limpid eval --stories`: a model of the built-in stories beside n-gram baselines and the exact
//! bound.

use crate::args::Eval;
use crate::error::{Error, Result};
use crate::printer::thousands;
use limpid::model::{Model, Stack};
use limpid::text::{Tokenizer, nonblank_lines};
use limpid_learn::corpus::score::{MaskedAccuracy, WordLoss, masked_accuracy, word_loss};
use serde_json::json;
use std::path::Path;

/// Evaluates a language model in nats per word, an encoder by words masked one at a time.
pub fn run(args: &Eval, file: &Path, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    if args.data.is_empty() {
        return Err(Error::config("--stories also needs the training stories").hint(format!(
            "for the n-gram baselines: limpid eval {} --stories {} --data train.story",
            args.model.display(),
            file.display()
        )));
    }
    let (train, test) = (nonblank_lines(&args.data)?, nonblank_lines(&[file.to_path_buf()])?);
    let (train, test) = (texts(&train), texts(&test));
    match &model.stack {
        Stack::Decoder(gpt) => {
            let found = word_loss((gpt, &model.params), tokenizer, &train, &test)?;
            if args.json {
                let WordLoss { words, model, entropy_bound, bigram, unigram } = found;
                println!(
                    "{}",
                    json!({
                        "stories": test.len(), "words": words, "loss_per_word": model,
                        "entropy_bound": entropy_bound, "bigram": bigram, "unigram": unigram,
                    })
                );
            } else {
                print_writer(&found, test.len());
            }
        }
        Stack::Encoder(bert) if bert.config().head.fills_masks() => {
            let found = masked_accuracy(
                (bert, &model.params),
                tokenizer,
                &train,
                &test,
                args.positions as usize,
            )?;
            if args.json {
                let MaskedAccuracy { positions, model, ceiling, most_frequent } = found;
                println!(
                    "{}",
                    json!({
                        "stories": test.len(), "positions": positions, "accuracy": model,
                        "ceiling": ceiling, "share_of_ceiling": model / ceiling,
                        "most_frequent": most_frequent,
                    })
                );
            } else {
                print_filler(&found, test.len());
            }
        }
        stack => {
            return Err(Error::config(format!(
                "{} is {}, neither a language model nor a masked language model",
                args.model.display(),
                stack.kind()
            ))
            .hint(
                "--stories is for language models and masked language models; for summaries of \
                 stories: --summaries",
            ));
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
pub fn print_writer(found: &WordLoss, stories: usize) {
    println!(
        "Cross-entropy loss in nats per word on {stories} test stories, {} words",
        thousands(found.words)
    );
    row("GPT", found.model);
    row("entropy bound (exact)", found.entropy_bound);
    row("bigram model", found.bigram);
    row("unigram model", found.unigram);
}

/// An encoder beside its bounds.
pub fn print_filler(found: &MaskedAccuracy, stories: usize) {
    let positions = thousands(found.positions);
    println!(
        "Accuracy on words masked one at a time, {positions} positions of {stories} test stories"
    );
    row("BERT", found.model);
    row("ceiling (exact)", found.ceiling);
    row("most frequent word", found.most_frequent);
}
