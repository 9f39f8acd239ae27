//! `limpid eval` of an encoder: words that were hidden, labels of texts.

use super::eval::{by_line, names, trained_with};
use crate::args::Eval;
use crate::printer::perplexity;
use limpid::data::batch::{LabelledBatch, Typed};
use limpid::data::clean::Duplicates;
use limpid::data::frame::Frame;
use limpid::data::labelled::TableSpec;
use limpid::data::masking::{Draw, Hide, Masking};
use limpid::data::table::{Column, Header, TableFormat};
use limpid::encode::Read;
use limpid::error::{Error, Result};
use limpid::eval::encoder::{MaskedScore, class_score};
use limpid::model::{Bert, Model};
use limpid::text::{Blocks, Text, Tokenizer, lines_of};
use limpid::train::labelled::{label_number, tokens};
use serde_json::json;

/// Sequences that go through the model together.
const AT_A_TIME: usize = 32;

/// Measures what the encoder's head is for.
pub fn run(args: &Eval, bert: &Bert, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let positions = bert.config().max_position_embeddings;
    let context = args.context.unwrap_or(positions);
    if context < 4 || context > positions {
        return Err(Error::config(format!(
            "--context {context}: the model has positions for 4 to {positions}"
        ))
        .hint(format!("--context {positions}")));
    }
    if tokenizer.vocab_size() > bert.config().vocab_size {
        return Err(Error::data(format!(
            "the tokenizer has {} tokens, the model knows {}",
            tokenizer.vocab_size(),
            bert.config().vocab_size
        ))
        .hint("the tokenizer and the model do not belong together"));
    }
    if let Some(labels) = bert.labels() {
        return classes(args, (bert, model), tokenizer, labels, context);
    }
    if !bert.config().head.fills_masks() {
        return Err(Error::config(format!(
            "{} has no head: there is nothing to measure",
            args.model.display()
        ))
        .hint("limpid train classify --from MODEL gives it one; limpid embed gives its vectors"));
    }
    masked(args, (bert, model), tokenizer, context)
}

fn masked(args: &Eval, (bert, model): (&Bert, &Model), tokenizer: &Tokenizer, context: usize) -> Result<()> {
    let (hide, seed) = (if args.whole_words { Hide::WholeWords } else { Hide::Tokens }, args.mask_seed);
    let trained = trained_with(&args.model);
    let share = args.masked.unwrap_or_else(|| trained.as_ref().map_or(0.15, |run| run.masking.share));
    let lines = by_line(args, trained.as_ref());
    if !(share > 0.0 && share < 1.0) {
        return Err(
            Error::config(format!("--masked {share} is not a part of the tokens")).hint("usual is 0.15")
        );
    }
    let masking = Masking::new(tokenizer, share, hide, seed)?;
    let frame = Frame::of(tokenizer)?;
    let mut parts: Vec<Vec<u32>> = Vec::new();
    let mut all = Vec::new();
    if lines {
        for line in lines_of(&args.data)? {
            parts.push(tokenizer.encode(&line)?);
        }
    } else {
        for path in &args.data {
            for block in Blocks::new(Text::open(path)?) {
                all.extend(tokenizer.encode(&block?)?);
            }
        }
    }
    parts.push(all);
    let sequences: Vec<Read> =
        parts.iter().flat_map(|part| part.chunks(context - 2)).map(|part| frame.one(part)).collect();
    if sequences.is_empty() {
        return Err(Error::data(format!("{}: there is no text in it", names(&args.data)))
            .hint("is it the right file?"));
    }
    let mut score = MaskedScore::default();
    for (n, group) in sequences.chunks(AT_A_TIME).enumerate() {
        let batch = masking.apply(Draw::Validation(n as u64), group.to_vec(), None);
        score.add((bert, &model.params), &batch);
    }
    if score.loss.tokens == 0 {
        return Err(
            Error::data(format!("{}: no word of it can be hidden", names(&args.data))).hint("is it text?")
        );
    }
    let (loss, accuracy) = (score.loss.mean(), score.accuracy());
    if args.json {
        println!(
            "{}",
            json!({
                "masked_loss": loss, "perplexity": score.loss.perplexity(), "accuracy": accuracy,
                "masked": score.loss.tokens, "share": share, "sequences": sequences.len(),
                "unit": if lines { "lines" } else { "windows" }, "context": context, "seed": seed,
            })
        );
        return Ok(());
    }
    println!(
        "hidden words        {:>12}   ({share} of {} {}, seed {seed})",
        score.loss.tokens,
        sequences.len(),
        if lines { "lines" } else { "windows" }
    );
    println!("loss                {loss:>12.4}   nats a hidden word");
    println!("perplexity          {:>12}", perplexity(score.loss.perplexity()));
    println!("accuracy            {accuracy:>12.4}");
    Ok(())
}

/// How the flags say that a table is written.
fn table(args: &Eval) -> Result<TableSpec> {
    let texts: Vec<Column> = args.text_column.iter().map(|column| Column::parse(column)).collect();
    Ok(TableSpec {
        format: args.format.as_deref().map(TableFormat::from_name).transpose()?,
        header: if args.no_header { Header::Missing } else { Header::First },
        texts: if texts.is_empty() { vec![Column::Name("text".into())] } else { texts },
        label: Column::parse(&args.label_column),
    })
}

fn classes(
    args: &Eval,
    (bert, model): (&Bert, &Model),
    tokenizer: &Tokenizer,
    labels: &[String],
    context: usize,
) -> Result<()> {
    let found = table(args)?.read(&args.data, Duplicates::Keep)?;
    let frame = Frame::of(tokenizer)?;
    let (mut cut, mut batches) = (0, Vec::new());
    for group in found.examples.chunks(AT_A_TIME) {
        let (mut reads, mut right) = (Vec::new(), Vec::new());
        for example in group {
            let (read, left_out) = tokens(tokenizer, frame, example, context)?;
            cut += usize::from(left_out > 0);
            reads.push(read);
            right.push(label_number(labels, example)?);
        }
        batches.push(LabelledBatch { input: Typed::new(&reads), labels: right });
    }
    let (loss, confusion) = class_score((bert, &model.params), &batches);
    let (mean, weighted) = (confusion.macro_mean(), confusion.weighted_mean());
    if args.json {
        let each = labels.iter().enumerate().map(|(i, label)| {
            let score = confusion.class(i);
            json!({
                "label": label, "texts": confusion.support(i), "precision": score.precision, "recall": score.recall,
                "f1": score.f1,
            })
        });
        println!(
            "{}",
            json!({
                "texts": found.examples.len(), "cut": cut, "loss": loss.mean(), "accuracy": confusion.accuracy(),
                "macro_f1": mean.f1, "weighted_f1": weighted.f1, "classes": each.collect::<Vec<_>>(),
            })
        );
        return Ok(());
    }
    println!("texts               {:>12}   ({cut} of them cut to {context} tokens)", found.examples.len());
    println!("loss                {:>12.4}   nats a text", loss.mean());
    println!("accuracy            {:>12.4}", confusion.accuracy());
    println!(
        "macro F1            {:>12.4}   (precision {:.4}, recall {:.4})",
        mean.f1, mean.precision, mean.recall
    );
    println!("\n{:<20}{:>12}{:>12}{:>12}{:>12}", "label", "texts", "precision", "recall", "F1");
    for (i, label) in labels.iter().enumerate() {
        let score = confusion.class(i);
        let texts = confusion.support(i);
        println!("{label:<20}{texts:>12}{:>12.4}{:>12.4}{:>12.4}", score.precision, score.recall, score.f1);
    }
    Ok(())
}
