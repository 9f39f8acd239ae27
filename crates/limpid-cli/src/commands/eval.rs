//! `limpid eval`: how good a model is on what it has not seen.

use super::summarize::print_scores;
use crate::args::Eval;
use crate::printer::{self, say};
use limpid::data::parallel::read_parallel;
use limpid::error::{Error, Result};
use limpid::eval::Case;
use limpid::eval::loss::text_loss;
use limpid::eval::translator::{TranslatorScores, check_ids, decoding_of, score_translator};
use limpid::files::write_aside;
use limpid::hub;
use limpid::model::{Architecture, Gpt, Model, Translator};
use limpid::text::{Blocks, Text, Tokenizer};
use serde_json::json;
use std::path::Path;

/// Measures what the model is for.
pub fn run(args: Eval) -> Result<()> {
    let (model, warnings) = hub::load(&args.model)?;
    printer::warnings(&warnings);
    let tokenizer = Tokenizer::load(&args.model)?;
    if let Some(file) = &args.stories {
        return super::eval_stories::run(&args, file, &model, &tokenizer);
    }
    match (&model.architecture, args.data.is_empty(), &args.source, &args.target) {
        (Architecture::Gpt(gpt), false, None, None) => text(&args, gpt, &model, &tokenizer),
        (Architecture::Seq2Seq(seq2seq), true, Some(source), Some(target)) => {
            translation(&args, (source, target), seq2seq.into(), &model, &tokenizer)
        }
        (Architecture::Rnn(rnn), true, Some(source), Some(target)) => {
            translation(&args, (source, target), rnn.into(), &model, &tokenizer)
        }
        (Architecture::Bert(bert), false, None, None) => {
            super::eval_encoder::run(&args, bert, &model, &tokenizer)
        }
        (architecture, ..) => {
            let flags = match architecture {
                Architecture::Gpt(_) => "--data FILE",
                Architecture::Seq2Seq(_) | Architecture::Rnn(_) => "--source FILE --target FILE",
                Architecture::Bert(_) => "--data FILE",
            };
            Err(Error::config(format!(
                "{} is {}, which is measured with {flags}",
                args.model.display(),
                architecture.kind()
            ))
            .hint(format!("limpid eval {} {flags}", args.model.display())))
        }
    }
}

fn text(args: &Eval, gpt: &Gpt, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let most = gpt.config().n_positions;
    let context = args.context.unwrap_or(most);
    if context == 0 || context > most {
        return Err(Error::config(format!("--context {context}: the model has positions for 1 to {most}"))
            .hint(format!("--context {most}")));
    }
    let (mut ids, mut characters) = (Vec::new(), 0);
    for path in &args.data {
        for block in Blocks::new(Text::open(path)?) {
            let block = block?;
            characters += block.chars().count();
            ids.extend(tokenizer.encode(&block)?);
        }
    }
    if ids.len() < 2 {
        let files: Vec<String> = args.data.iter().map(|path| path.display().to_string()).collect();
        return Err(Error::data(format!(
            "{}: {} tokens are too few to predict one from another",
            files.join(", "),
            ids.len()
        ))
        .hint("give a longer text"));
    }
    check_ids(&ids, gpt.config().vocab_size)?;
    let unknown = tokenizer.unknown().map_or(0, |unknown| ids.iter().filter(|id| **id == unknown).count());
    if unknown > 0 {
        let (all, share) = (ids.len(), 100.0 * unknown as f64 / ids.len() as f64);
        say(format_args!(
            "warning: {unknown} of {all} tokens ({share:.1}%) are not in the model's vocabulary: the figures are of what it makes of them"
        ));
    }
    let loss = text_loss((gpt, &model.params), |part| ids[part].to_vec(), 0..ids.len(), context);
    let bits = loss.bits_per_character(characters as f64 / ids.len() as f64);
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "bits_per_character": bits, "tokens": loss.tokens,
                "characters": characters, "context": context,
            })
        );
        return Ok(());
    }
    println!("tokens              {:>12}   (windows of {context})", loss.tokens);
    println!("loss                {:>12.4}   nats a token", loss.mean());
    println!("perplexity          {:>12.4}", loss.perplexity());
    println!("bits per character  {bits:>12.4}");
    Ok(())
}

fn translation(
    args: &Eval,
    (source, target): (&Path, &Path),
    translator: Translator,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<()> {
    if let Some(output) = &args.output
        && [source, target].iter().any(|input| same_file(output, input))
    {
        return Err(Error::config(format!("--output {} is what is read", output.display()))
            .hint("give it a name of its own"));
    }
    let pairs = read_parallel(source, target)?;
    let how = &args.how;
    let several = [("--samples", how.samples), ("--nbest", how.nbest)];
    if let Some((flag, n)) = several.iter().find(|(_, n)| n.is_some_and(|n| n > 1)) {
        return Err(Error::config(format!(
            "{flag} {}: one translation of a sentence is measured",
            n.unwrap_or(0)
        ))
        .hint(format!("leave {flag} out; limpid translate gives several")));
    }
    let (decoding, warnings) = decoding_of(&args.model, translator, &args.how.request())?;
    printer::warnings(&warnings);
    let case = if args.lowercase { Case::Lower } else { Case::Mixed };
    say(format_args!("Translating {} sentences …", pairs.len()));
    let found = score_translator(
        (translator, &model.params),
        tokenizer,
        (&pairs, [source, target]),
        &decoding,
        case,
    )?;
    let TranslatorScores { loss, translations, bleu, chrf, .. } = &found;
    if let Some(path) = &args.output {
        write_aside(path, (translations.join("\n") + "\n").as_bytes())?;
    }
    if args.summaries {
        print_scores(args, &pairs, translations, loss);
        return Ok(());
    }
    if args.json {
        println!(
            "{}",
            json!({
                "loss": loss.mean(), "perplexity": loss.perplexity(), "tokens": loss.tokens, "sentences": pairs.len(),
                "bleu": bleu.score, "bleu_signature": bleu.signature, "chrf": chrf.score, "chrf_signature": chrf.signature,
            })
        );
        return Ok(());
    }
    println!("sentences           {:>12}   ({} tokens)", pairs.len(), loss.tokens);
    println!("loss                {:>12.4}   nats a token", loss.mean());
    println!("perplexity          {:>12.4}", loss.perplexity());
    println!("BLEU                {:>12.2}   {}", bleu.score, bleu.signature);
    println!("chrF                {:>12.2}   {}", chrf.score, chrf.signature);
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
