//! `limpid eval`: how good a model is on what it has not seen.

use crate::args::Eval;
use crate::printer::{self, say};
use limpid::data::pairs::tokenize_pairs;
use limpid::data::parallel::read_parallel;
use limpid::decode::{TranslateOptions, translate_with};
use limpid::error::{Error, Result};
use limpid::eval::loss::{pairs_loss, text_loss};
use limpid::eval::{Bleu, Case, Chrf};
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
    match (&model.architecture, args.data.is_empty(), &args.source, &args.target) {
        (Architecture::Gpt(gpt), false, None, None) => text(&args, gpt, &model, &tokenizer),
        (Architecture::Seq2Seq(seq2seq), true, Some(source), Some(target)) => {
            translation(&args, (source, target), seq2seq.into(), &model, &tokenizer)
        }
        (Architecture::Rnn(rnn), true, Some(source), Some(target)) => {
            translation(&args, (source, target), rnn.into(), &model, &tokenizer)
        }
        (architecture, ..) => {
            let flags = match architecture {
                Architecture::Gpt(_) => "--data FILE",
                Architecture::Seq2Seq(_) | Architecture::Rnn(_) => "--source FILE --target FILE",
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
        return Err(Error::data(format!("{} tokens are too few to predict one from another", ids.len()))
            .hint("give a longer text"));
    }
    check_ids(&ids, gpt.config().vocab_size)?;
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

fn check_ids(ids: &[u32], vocabulary: usize) -> Result<()> {
    match ids.iter().find(|id| **id as usize >= vocabulary) {
        Some(id) => Err(Error::data(format!("the tokenizer gives token {id}, the model knows {vocabulary}"))
            .hint("the tokenizer and the model do not belong together")),
        None => Ok(()),
    }
}

fn translation(
    args: &Eval,
    (source, target): (&Path, &Path),
    translator: Translator,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<()> {
    let pairs = read_parallel(source, target)?;
    let texts = pairs.iter().map(|(source, target)| (source.as_str(), target.as_str()));
    let ids = tokenize_pairs(tokenizer, texts, translator.end())?;
    let longest = translator.longest();
    if let Some(i) = ids.iter().position(|(source, target)| source.len().max(target.len()) > longest) {
        let tokens = ids[i].0.len().max(ids[i].1.len());
        return Err(Error::data(format!(
            "line {} has {tokens} tokens, the model has positions for {longest}",
            i + 1
        ))
        .hint("leave the line out"));
    }
    ids.iter().try_for_each(|(source, target)| {
        check_ids(source, translator.vocab_size())?;
        check_ids(target, translator.decoder_vocab_size())
    })?;
    let loss = pairs_loss((translator, &model.params), &ids);
    say(format_args!("Translating {} sentences …", pairs.len()));
    let (mut generation, warnings) = hub::load_generation(&args.model)?;
    printer::warnings(&warnings);
    if generation.ends.is_empty() {
        generation.ends = vec![translator.end()];
    }
    let decoding = args.how.request().resolve(&generation, translator.decoder_vocab_size())?;
    let sources: Vec<&str> = pairs.iter().map(|(source, _)| source.as_str()).collect();
    let found = translate_with(
        (translator, &model.params),
        tokenizer,
        &sources,
        &decoding,
        &TranslateOptions::default(),
        &mut |_| Ok(()),
    )?;
    let translations: Vec<&str> = found.iter().map(|best| best[0].text.as_str()).collect();
    if let Some(path) = &args.output {
        write_aside(path, (translations.join("\n") + "\n").as_bytes())?;
    }
    let references: Vec<Vec<&str>> = pairs.iter().map(|(_, target)| vec![target.as_str()]).collect();
    let case = if args.lowercase { Case::Lower } else { Case::Mixed };
    let bleu = Bleu { case, ..Bleu::default() }.corpus(&translations, &references)?;
    let chrf = Chrf { case, ..Chrf::default() }.corpus(&translations, &references)?;
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
