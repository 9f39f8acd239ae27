//! `limpid eval` of an encoder: words that were hidden, labels of texts.

use super::eval::{names, trained_with, unit};
use crate::args::Eval;
use crate::printer::perplexity;
use limpid::config::BertHead;
use limpid::data::batch::{LabelledBatch, Typed};
use limpid::data::clean::Duplicates;
use limpid::data::frame::Frame;
use limpid::data::labelled::TableSpec;
use limpid::data::line_pairs::LinePairs;
use limpid::data::masking::{Draw, Hide, Masking};
use limpid::data::table::{Column, Header, TableFormat};
use limpid::encode::Read;
use limpid::error::{Error, Result};
use limpid::eval::encoder::{MaskedScore, class_score};
use limpid::model::{Bert, Model};
use limpid::text::{Blocks, Text, Tokenizer, each_line, lines_of};
use limpid::train::config::Unit;
use limpid::train::labelled::{label_number, tokens};
use limpid_tensor::rng::Stream;
use serde_json::json;
use std::path::PathBuf;

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

/// What goes through the model together: sequences, and for pairs of lines whether the second follows the first.
type Group = (Vec<Read>, Option<Vec<u32>>);

fn masked(args: &Eval, (bert, model): (&Bert, &Model), tokenizer: &Tokenizer, context: usize) -> Result<()> {
    let (hide, seed) = (if args.whole_words { Hide::WholeWords } else { Hide::Tokens }, args.mask_seed);
    let trained = trained_with(&args.model);
    let share = args.masked.unwrap_or_else(|| trained.as_ref().map_or(0.15, |run| run.masking.share));
    if !(share > 0.0 && share < 1.0) {
        return Err(
            Error::config(format!("--masked {share} is not a part of the tokens")).hint("usual is 0.15")
        );
    }
    let masking = Masking::new(tokenizer, share, hide, seed)?;
    let frame = Frame::of(tokenizer)?;
    let (groups, unit) = match unit(args, trained.as_ref()) {
        Unit::Windows => (singles(&[whole(args, tokenizer)?], frame, context), "windows"),
        Unit::Lines => (singles(&lines(args, tokenizer)?, frame, context), "lines"),
        Unit::Pairs if bert.config().head != BertHead::PreTraining => {
            return Err(Error::config(format!(
                "--line-pairs: {} has no head for pairs of texts",
                args.model.display()
            ))
            .hint("limpid train bert --set data.unit=pairs trains one; --lines takes each line for itself"));
        }
        Unit::Pairs => (line_pairs(args, tokenizer, (frame, context))?, "pairs of lines"),
    };
    let sequences: usize = groups.iter().map(|(sequences, _)| sequences.len()).sum();
    if sequences == 0 {
        let hint = if unit == "pairs of lines" {
            "a pair is a line and the next one"
        } else {
            "is it the right file?"
        };
        return Err(Error::data(format!("{}: there is no text in it", names(&args.data))).hint(hint));
    }
    let mut score = MaskedScore::default();
    for (n, (sequences, follows)) in groups.into_iter().enumerate() {
        let batch = masking.apply(Draw::Validation(n as u64), sequences, follows);
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
                "pair_accuracy": score.pair_accuracy(), "masked": score.loss.tokens, "share": decimal(share), "sequences": sequences,
                "unit": unit, "context": context, "seed": seed,
            })
        );
        return Ok(());
    }
    println!("hidden words        {:>12}   ({share} of {sequences} {unit}, seed {seed})", score.loss.tokens);
    println!("loss                {loss:>12.4}   nats a hidden word");
    println!("perplexity          {:>12}", perplexity(score.loss.perplexity()));
    println!("accuracy            {accuracy:>12.4}");
    if let Some(known) = score.pair_accuracy() {
        println!(
            "order of pairs      {known:>12.4}   (whether the second line follows the first: half of them do)"
        );
    }
    Ok(())
}

/// All files as one text.
fn whole(args: &Eval, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let mut all = Vec::new();
    for path in &args.data {
        for block in Blocks::new(Text::open(path)?) {
            all.extend(tokenizer.encode(&block?)?);
        }
    }
    Ok(all)
}

fn lines(args: &Eval, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>> {
    lines_of(&args.data)?.iter().map(|line| tokenizer.encode(line)).collect()
}

/// Texts one by one, long ones in pieces.
fn singles(texts: &[Vec<u32>], frame: Frame, context: usize) -> Vec<Group> {
    let sequences: Vec<Read> =
        texts.iter().flat_map(|text| text.chunks(context - 2)).map(|part| frame.one(part)).collect();
    sequences.chunks(AT_A_TIME).map(|group| (group.to_vec(), None)).collect()
}

/// Every line that has a next one, with that or another.
fn line_pairs(args: &Eval, tokenizer: &Tokenizer, how: (Frame, usize)) -> Result<Vec<Group>> {
    let mut lines = Vec::new();
    for path in &args.data {
        // Blank ones, too: they end a document.
        lines.extend(each_line(std::slice::from_ref(path)).map(|line| tokenizer.encode(&line?)));
        // The end of a file is the end of a document.
        lines.push(Ok(Vec::new()));
    }
    let lines = lines.into_iter().collect::<Result<Vec<Vec<u32>>>>()?;
    let pairs = LinePairs::new(0..lines.len(), |i| lines[i].len());
    let mut rng = Stream::new(args.mask_seed, 0);
    let all: Vec<usize> = (0..pairs.count()).collect();
    let group = |chosen: &[usize]| {
        let (sequences, follows) = pairs.draw(chosen, |i| lines[i].clone(), how, &mut rng);
        (sequences, Some(follows))
    };
    Ok(all.chunks(AT_A_TIME).map(group).collect())
}

/// How a table is written: as the flags say, or as that of the run was.
fn table(args: &Eval) -> Result<TableSpec> {
    let usual = TableSpec {
        format: None,
        header: Header::First,
        texts: vec![Column::Name("text".into())],
        label: Column::Name("label".into()),
    };
    let trained = trained_with(&args.model).and_then(|run| run.table().ok()).unwrap_or(usual);
    let texts: Vec<Column> = args.text_column.iter().map(|column| Column::parse(column)).collect();
    let format = args.format.as_deref().map(TableFormat::from_name).transpose()?;
    // What a file is called says more about it than how another was written; any file may be called .txt.
    let says =
        |path: &PathBuf| path.extension().is_some_and(|end| end != "txt") && TableFormat::of(path).is_ok();
    let is_told = args.data.iter().all(says);
    Ok(TableSpec {
        format: format.or(trained.format.filter(|_| !is_told)),
        header: if args.no_header { Header::Missing } else { trained.header },
        texts: if texts.is_empty() { trained.texts } else { texts },
        label: args.label_column.as_deref().map_or(trained.label, Column::parse),
    })
}

/// The number that was typed: 0.15 of 32 bits is 0.15000000596 of 64.
fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
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
