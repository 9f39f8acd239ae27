//! `limpid eval` of an encoder: masked language modelling and classification.

use super::eval::{names, trained_with, unit};
use crate::args::Eval;
use crate::error::{Error, Result};
use crate::printer::perplexity;
use limpid::data::batch::EncodedText;
use limpid::data::batch::{EncoderInput, LabelledBatch};
use limpid::data::clean::Duplicates;
use limpid::data::labelled::TableSpec;
use limpid::data::masking::{MaskStream, MaskUnit, Masking};
use limpid::data::next_sentence::NextSentencePairs;
use limpid::data::table::{Column, Header, TableFormat};
use limpid::data::template::EncoderTemplate;
use limpid::eval::encoder::{MaskedScore, class_score};
use limpid::model::config::{EncoderHead, ProblemType};
use limpid::model::{Encoder, Model};
use limpid::text::{Blocks, TextReader, Tokenizer, each_line, nonblank_lines};
use limpid::train::config::{MaskingConfig, Task, Unit};
use limpid::train::dataset::labelled::{encode_example, label_index};
use limpid_tensor::rng::Stream;
use serde_json::json;

/// Sequences per forward pass.
const AT_A_TIME: usize = 32;

/// Evaluates the task of the encoder's head.
pub fn run(args: &Eval, bert: &Encoder, model: &Model, tokenizer: &Tokenizer) -> Result<()> {
    let positions = bert.config().max_position_embeddings;
    let context = args.context.unwrap_or(positions);
    if context < 4 || context > positions {
        return Err(Error::config(format!(
            "--context {context} is not between 4 and the model's maximum of {positions}"
        ))
        .hint(format!("--context {positions}")));
    }
    if tokenizer.vocab_size() > bert.config().vocab_size {
        return Err(Error::data(format!(
            "the tokenizer has {} tokens, the model's vocabulary {}",
            tokenizer.vocab_size(),
            bert.config().vocab_size
        ))
        .hint("the tokenizer and the model do not belong together"));
    }
    if let Some(labels) = bert.labels()
        && bert.classes().is_some_and(|labels| labels.problem() == ProblemType::SingleLabel)
    {
        return classes(args, (bert, model), tokenizer, labels, context);
    }
    if !bert.config().head.fills_masks() {
        if bert.labels().is_some() || bert.config().head.is_per_token() {
            let (model, kind) = (args.model.display(), model.stack.kind());
            return Err(Error::config(format!("{model} is {kind}: it cannot be evaluated"))
                .hint("limpid classify, tag and answer show what such models predict"));
        }
        return Err(Error::config(format!(
            "{} has no head: there is nothing to evaluate",
            args.model.display()
        ))
        .hint("limpid train classify --from MODEL trains one; limpid embed gives its embeddings"));
    }
    masked(args, (bert, model), tokenizer, context)
}

/// Sequences of one forward pass, and for pairs of lines their next-sentence labels.
type Group = (Vec<EncodedText>, Option<Vec<u32>>);

fn masked(
    args: &Eval,
    (bert, model): (&Encoder, &Model),
    tokenizer: &Tokenizer,
    context: usize,
) -> Result<()> {
    let (hide, seed) =
        (if args.whole_words { MaskUnit::WholeWord } else { MaskUnit::Token }, args.mask_seed);
    let trained = trained_with(&args.model);
    let probability = match trained.as_ref().map(|run| &run.task) {
        Some(Task::Bert(task)) => task.masking.probability,
        _ => MaskingConfig::default().probability,
    };
    let share = args.masked.unwrap_or(probability);
    if !(share > 0.0 && share < 1.0) {
        return Err(Error::config(format!("--masked {share} is not between 0 and 1"))
            .hint("the default is 0.15"));
    }
    let masking = Masking::new(tokenizer, share, hide, seed)?;
    let template = EncoderTemplate::new(tokenizer)?;
    let (groups, unit) = match unit(args, trained.as_ref()) {
        Unit::Windows => (singles(&[whole(args, tokenizer)?], template, context), "windows"),
        Unit::Lines => (singles(&lines(args, tokenizer)?, template, context), "lines"),
        Unit::Pairs if bert.config().head != EncoderHead::PreTraining => {
            return Err(Error::config(format!(
                "--line-pairs: {} has no head for next-sentence prediction",
                args.model.display()
            ))
            .hint(
                "limpid train bert --set data.unit=pairs trains one; \
                 --lines evaluates single lines",
            ));
        }
        Unit::Pairs => (line_pairs(args, tokenizer, (template, context))?, "pairs of lines"),
    };
    let sequences: usize = groups.iter().map(|(sequences, _)| sequences.len()).sum();
    if sequences == 0 {
        let hint = if unit == "pairs of lines" {
            "a pair is a line and the next one"
        } else {
            "is it the right file?"
        };
        return Err(Error::data(format!("{}: no text found", names(&args.data))).hint(hint));
    }
    let mut score = MaskedScore::default();
    for (n, (sequences, labels)) in groups.into_iter().enumerate() {
        let batch = masking.apply(MaskStream::Validation(n as u64), sequences, labels);
        score.add((bert, &model.params), &batch);
    }
    if score.loss.tokens == 0 {
        return Err(Error::data(format!("{}: no token of it can be masked", names(&args.data)))
            .hint("is it text?"));
    }
    let (loss, accuracy) = (score.loss.mean(), score.accuracy());
    if args.json {
        println!(
            "{}",
            json!({
                "masked_loss": loss, "perplexity": score.loss.perplexity(), "accuracy": accuracy,
                "pair_accuracy": score.pair_accuracy(), "masked": score.loss.tokens,
                "probability": decimal(share), "sequences": sequences, "unit": unit,
                "context": context, "seed": seed,
            })
        );
        return Ok(());
    }
    println!(
        "masked tokens       {:>12}   ({share} of {sequences} {unit}, seed {seed})",
        score.loss.tokens
    );
    println!("loss                {loss:>12.4}   nats per masked token");
    println!("perplexity          {:>12}", perplexity(score.loss.perplexity()));
    println!("accuracy            {accuracy:>12.4}");
    if let Some(known) = score.pair_accuracy() {
        println!(
            "next sentence       {known:>12.4}   (accuracy; half of the pairs follow each other)"
        );
    }
    Ok(())
}

/// All files as one text.
fn whole(args: &Eval, tokenizer: &Tokenizer) -> Result<Vec<u32>> {
    let mut all = Vec::new();
    for path in &args.data {
        for block in Blocks::new(TextReader::open(path)?) {
            all.extend(tokenizer.encode(&block?)?);
        }
    }
    Ok(all)
}

fn lines(args: &Eval, tokenizer: &Tokenizer) -> Result<Vec<Vec<u32>>> {
    nonblank_lines(&args.data)?.iter().map(|line| Ok(tokenizer.encode(line)?)).collect()
}

/// One sequence per text; long texts in several.
fn singles(texts: &[Vec<u32>], template: EncoderTemplate, context: usize) -> Vec<Group> {
    let sequences: Vec<EncodedText> = texts
        .iter()
        .flat_map(|text| text.chunks(context - 2))
        .map(|part| template.single(part))
        .collect();
    sequences.chunks(AT_A_TIME).map(|group| (group.to_vec(), None)).collect()
}

/// Every line that has a successor, with that or a random line.
fn line_pairs(
    args: &Eval,
    tokenizer: &Tokenizer,
    how: (EncoderTemplate, usize),
) -> Result<Vec<Group>> {
    let mut lines = Vec::new();
    for path in &args.data {
        // Blank lines, too: they end a document.
        lines.extend(each_line(std::slice::from_ref(path)).map(|line| tokenizer.encode(&line?)));
        // The end of a file is the end of a document.
        lines.push(Ok(Vec::new()));
    }
    let lines = lines.into_iter().collect::<Result<Vec<Vec<u32>>, _>>()?;
    let pairs = NextSentencePairs::new(0..lines.len(), |i| lines[i].len());
    let mut rng = Stream::new(args.mask_seed, 0);
    let all: Vec<usize> = (0..pairs.count()).collect();
    let group = |chosen: &[usize]| {
        let (sequences, labels) = pairs.sample(chosen, |i| lines[i].clone(), how, &mut rng);
        (sequences, Some(labels))
    };
    Ok(all.chunks(AT_A_TIME).map(group).collect())
}

/// The format of the table: by the flags, else as the run read its training table, else by the
/// file's extension.
fn table(args: &Eval) -> Result<TableSpec> {
    let default = TableSpec {
        format: None,
        header: Header::First,
        texts: vec![Column::Name("text".into())],
        label: Column::Name("label".into()),
    };
    let trained = match trained_with(&args.model).map(|run| run.task) {
        Some(Task::Classify(task)) => task.data.table(),
        _ => default,
    };
    let texts: Vec<Column> = args.text_column.iter().map(|column| Column::parse(column)).collect();
    let format = args.format.as_deref().map(TableFormat::from_name).transpose()?;
    Ok(TableSpec {
        format: format.or(trained.format),
        header: if args.no_header { Header::Missing } else { trained.header },
        texts: if texts.is_empty() { trained.texts } else { texts },
        label: args.label_column.as_deref().map_or(trained.label, Column::parse),
    })
}

/// The shortest decimal: 0.15 as f32 would print as 0.15000000596 as f64.
fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}

fn classes(
    args: &Eval,
    (bert, model): (&Encoder, &Model),
    tokenizer: &Tokenizer,
    labels: &[String],
    context: usize,
) -> Result<()> {
    let found = table(args)?.read(&args.data, Duplicates::Keep)?;
    let template = EncoderTemplate::new(tokenizer)?;
    let (mut truncated, mut batches) = (0, Vec::new());
    for group in found.examples.chunks(AT_A_TIME) {
        let (mut reads, mut right) = (Vec::new(), Vec::new());
        for example in group {
            let (read, left_out) = encode_example(tokenizer, template, example, context)?;
            truncated += usize::from(left_out > 0);
            reads.push(read);
            right.push(label_index(labels, example)?);
        }
        batches.push(LabelledBatch { input: EncoderInput::new(&reads), labels: right.into() });
    }
    let (loss, confusion) = class_score((bert, &model.params), &batches);
    let (mean, weighted) = (confusion.macro_mean(), confusion.weighted_mean());
    if args.json {
        let each = labels.iter().enumerate().map(|(i, label)| {
            let score = confusion.class(i);
            json!({
                "label": label, "texts": confusion.support(i), "precision": score.precision,
                "recall": score.recall,
                "f1": score.f1,
            })
        });
        println!(
            "{}",
            json!({
                "texts": found.examples.len(), "truncated": truncated, "loss": loss.mean(),
                "accuracy": confusion.accuracy(), "macro_f1": mean.f1, "weighted_f1": weighted.f1,
                "classes": each.collect::<Vec<_>>(),
            })
        );
        return Ok(());
    }
    println!(
        "texts               {:>12}   ({truncated} truncated to {context} tokens)",
        found.examples.len()
    );
    println!("loss                {:>12.4}   nats per text", loss.mean());
    println!("accuracy            {:>12.4}", confusion.accuracy());
    println!(
        "macro F1            {:>12.4}   (precision {:.4}, recall {:.4})",
        mean.f1, mean.precision, mean.recall
    );
    println!("\n{:<20}{:>12}{:>12}{:>12}{:>12}", "label", "texts", "precision", "recall", "F1");
    for (i, label) in labels.iter().enumerate() {
        let score = confusion.class(i);
        let texts = confusion.support(i);
        println!(
            "{label:<20}{texts:>12}{:>12.4}{:>12.4}{:>12.4}",
            score.precision, score.recall, score.f1
        );
    }
    Ok(())
}
