//! `limpid eval` of models with labels: classification and regression of texts, token
//! classification, question answering.

use super::eval::{names, trained_with};
use crate::args::Eval;
use crate::error::{Error, Result};
use limpid::data::batch::{EncoderInput, LabelledBatch};
use limpid::data::clean::Duplicates;
use limpid::data::labelled::{Example, LabelKind, TableSpec};
use limpid::data::questions::{QuestionFormat, each_question};
use limpid::data::table::{Column, Header, TableFormat};
use limpid::data::tagged::{Sentence, TaggedFormat, TaggedSpec};
use limpid::data::template::EncoderTemplate;
use limpid::encode::{AnswerOptions, TextEncoder, Truncation};
use limpid::eval::answers::{MAX_ANSWER_LEN, answer_score};
use limpid::eval::classification::ConfusionMatrix;
use limpid::eval::encoder::{class_score, multi_label_score, regression_score, token_score};
use limpid::eval::multi_label::MultiLabelScore;
use limpid::eval::{FScore, loss::Loss};
use limpid::model::config::{Labels, ProblemType};
use limpid::model::{Encoder, Model, Stack};
use limpid::nn::Named;
use limpid::text::Tokenizer;
use limpid::train::config::{AnswerTask, Task};
use limpid::train::dataset::labelled::{encode_example, example_targets};
use limpid::train::dataset::tagged::encode_sentences;
use serde_json::{Value, json};

/// Sequences per forward pass.
const AT_A_TIME: usize = 32;

/// The format of the table: by the flags, else as the run read its training table, else by the
/// file's extension.
fn table(args: &Eval, problem: ProblemType) -> Result<TableSpec> {
    let labels = match problem {
        ProblemType::SingleLabel => LabelKind::One,
        ProblemType::Regression => LabelKind::Number,
        ProblemType::MultiLabel => LabelKind::Several { separator: ',' },
    };
    let default = TableSpec {
        format: None,
        header: Header::First,
        texts: vec![Column::Name("text".into())],
        label: Column::Name("label".into()),
        labels,
    };
    let trained = match trained_with(&args.model).map(|run| run.task) {
        Some(Task::Classify(task)) if task.problem == problem => task.data.table(),
        _ => default,
    };
    let texts: Vec<Column> = args.text_column.iter().map(|column| Column::parse(column)).collect();
    let format = args.format.as_deref().map(TableFormat::from_name).transpose()?;
    Ok(TableSpec {
        format: format.or(trained.format),
        header: if args.no_header { Header::Missing } else { trained.header },
        texts: if texts.is_empty() { trained.texts } else { texts },
        label: args.label_column.as_deref().map_or(trained.label, Column::parse),
        labels: trained.labels,
    })
}

/// Evaluates a sequence classifier, an encoder or a decoder.
pub fn classes(
    args: &Eval,
    model: &Model,
    tokenizer: &Tokenizer,
    labels: &Labels,
    context: usize,
) -> Result<()> {
    let problem = labels.problem();
    if problem == ProblemType::Regression && labels.names.len() > 1 {
        return Err(Error::config(format!(
            "{} predicts {} numbers for each text: a table has one label",
            args.model.display(),
            labels.names.len()
        ))
        .hint("limpid classify shows what it predicts"));
    }
    let found = table(args, problem)?.read(&args.data, Duplicates::Keep)?;
    let template = match model.stack {
        Stack::Encoder(_) => EncoderTemplate::new(tokenizer)?,
        _ => EncoderTemplate::any(tokenizer)?,
    };
    let (mut truncated, mut batches) = (0, Vec::new());
    for group in found.examples.chunks(AT_A_TIME) {
        let read = |example: &Example| encode_example(tokenizer, &template, example, context);
        let reads = group.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        truncated += reads.iter().filter(|(_, left_out)| *left_out > 0).count();
        let reads: Vec<_> = reads.into_iter().map(|(read, _)| read).collect();
        let targets = example_targets(problem, &labels.names, group)?;
        batches.push(LabelledBatch { input: EncoderInput::new(&reads), labels: targets });
    }
    let model = (&model.stack, &model.params);
    let texts = (found.examples.len(), truncated, context);
    match problem {
        ProblemType::SingleLabel => {
            let (loss, confusion) = class_score(model, &batches);
            print_classes(args, texts, &labels.names, loss, &confusion);
        }
        ProblemType::Regression => {
            let score = regression_score(model, &batches);
            let figures = [
                ("mse", "mean squared error", Some(score.mean_squared_error()), ""),
                ("pearson", "Pearson", score.pearson(), "correlation"),
                ("spearman", "Spearman", score.spearman(), "correlation of ranks"),
            ];
            print_figures(args, texts, &figures, json!({}));
        }
        ProblemType::MultiLabel => {
            let (loss, score) = multi_label_score(model, &batches);
            print_multi_label(args, texts, &labels.names, loss, &score);
        }
    }
    Ok(())
}

/// Number of texts, of truncated ones, and the context.
type Texts = (usize, usize, usize);

/// A figure: its key, its name, its value, what it is.
type Figure<'a> = (&'a str, &'a str, Option<f64>, &'a str);

/// Figures as JSON with some more keys, or as lines.
fn print_figures(args: &Eval, texts: Texts, figures: &[Figure], more: Value) {
    let (count, truncated, context) = texts;
    if args.json {
        let mut all = json!({ "texts": count, "truncated": truncated });
        figures.iter().for_each(|(key, _, value, _)| all[*key] = json!(value));
        let more = more.as_object().cloned().unwrap_or_default();
        more.into_iter().for_each(|(key, value)| all[key] = value);
        println!("{all}");
        return;
    }
    println!("texts               {count:>12}   ({truncated} truncated to {context} tokens)");
    for (_, name, value, what) in figures {
        let value = value.map_or("not defined".to_string(), |value| format!("{value:.4}"));
        println!("{}", format!("{name:<20}{value:>12}   {what}").trim_end());
    }
}

/// Lines of labels with their scores.
fn print_labels<'a>(what: &str, labels: impl Iterator<Item = (&'a str, u64, FScore)>) {
    println!("\n{:<20}{:>12}{:>12}{:>12}{:>12}", "label", what, "precision", "recall", "F1");
    for (label, count, score) in labels {
        let FScore { precision, recall, f1 } = score;
        println!("{label:<20}{count:>12}{precision:>12.4}{recall:>12.4}{f1:>12.4}");
    }
}

fn label_json(what: &str, label: &str, count: u64, score: FScore) -> Value {
    json!({
        "label": label, what: count, "precision": score.precision, "recall": score.recall,
        "f1": score.f1,
    })
}

fn averages(mean: FScore) -> String {
    format!("(precision {:.4}, recall {:.4})", mean.precision, mean.recall)
}

fn print_classes(
    args: &Eval,
    texts: Texts,
    labels: &[String],
    loss: Loss,
    confusion: &ConfusionMatrix,
) {
    let (mean, weighted) = (confusion.macro_mean(), confusion.weighted_mean());
    let each = || {
        let label = |(i, label): (usize, &'_ String)| {
            (label.clone(), confusion.support(i), confusion.class(i))
        };
        labels.iter().enumerate().map(label).collect::<Vec<_>>()
    };
    let classes: Vec<Value> = each()
        .iter()
        .map(|(label, count, score)| label_json("texts", label, *count, *score))
        .collect();
    let of_mean = averages(mean);
    let mut figures = vec![
        ("loss", "loss", Some(loss.mean()), "nats per text"),
        ("accuracy", "accuracy", Some(confusion.accuracy()), ""),
        ("macro_f1", "macro F1", Some(mean.f1), of_mean.as_str()),
    ];
    if args.json {
        figures.push(("weighted_f1", "weighted F1", Some(weighted.f1), ""));
    }
    print_figures(args, texts, &figures, json!({ "classes": classes }));
    if !args.json {
        print_labels("texts", each().iter().map(|(label, n, score)| (label.as_str(), *n, *score)));
    }
}

fn print_multi_label(
    args: &Eval,
    texts: Texts,
    labels: &[String],
    loss: Loss,
    score: &MultiLabelScore,
) {
    let (micro, mean) = (score.micro(), score.macro_mean());
    let each = || {
        let label =
            |(i, label): (usize, &'_ String)| (label.clone(), score.support(i), score.label(i));
        labels.iter().enumerate().map(label).collect::<Vec<_>>()
    };
    let (of_micro, of_mean) = (averages(micro), averages(mean));
    let figures = [
        ("loss", "loss", Some(loss.mean()), "binary cross-entropy, nats per label"),
        ("accuracy", "subset accuracy", Some(score.accuracy()), "texts with all labels right"),
        ("micro_f1", "micro F1", Some(micro.f1), of_micro.as_str()),
        ("macro_f1", "macro F1", Some(mean.f1), of_mean.as_str()),
    ];
    let classes: Vec<Value> = each()
        .iter()
        .map(|(label, count, score)| label_json("texts", label, *count, *score))
        .collect();
    print_figures(args, texts, &figures, json!({ "classes": classes }));
    if !args.json {
        print_labels("texts", each().iter().map(|(label, n, score)| (label.as_str(), *n, *score)));
    }
}

/// Evaluates a token classifier.
pub fn tags(
    args: &Eval,
    (bert, model): (&Encoder, &Model),
    tokenizer: &Tokenizer,
    context: usize,
) -> Result<()> {
    let trained = match trained_with(&args.model).map(|run| run.task) {
        Some(Task::Tag(task)) => task.data.spec(),
        _ => TaggedSpec::default(),
    };
    let column = |typed: &Option<String>| typed.as_deref().map(Column::parse);
    let word_column = match &args.text_column[..] {
        [_, _, ..] => {
            return Err(
                Error::config("--text-column: words are in one column").hint("give it once")
            );
        }
        all => all.first().cloned(),
    };
    let format = args.format.as_deref().map(TaggedFormat::from_name).transpose()?;
    let spec = TaggedSpec {
        format: format.or(trained.format),
        words: column(&word_column).or(trained.words),
        labels: column(&args.label_column).or(trained.labels),
    };
    let sentences: Vec<Sentence> = spec.sentences(&args.data).collect::<Result<_, _>>()?;
    if sentences.is_empty() {
        return Err(Error::data(format!("{}: no sentences found", names(&args.data)))
            .hint("is it the right file?"));
    }
    let labels = bert.token_labels().expect("a token classifier");
    let (mut truncated, mut batches) = (0, Vec::new());
    for group in sentences.chunks(AT_A_TIME) {
        let (batch, cut) = encode_sentences(tokenizer, labels, group, context)?;
        truncated += cut;
        batches.push(batch);
    }
    let (loss, score) = token_score((bert, &model.params), &batches);
    let overall = score.overall();
    let kinds: Vec<Value> = score
        .kinds()
        .map(|(kind, count, score)| label_json("entities", kind, count, score))
        .collect();
    let of_entities = averages(overall);
    let figures = [
        ("loss", "loss", Some(loss.mean()), "nats per word"),
        ("accuracy", "accuracy", Some(score.accuracy()), "of words"),
        ("f1", "entity F1", Some(overall.f1), of_entities.as_str()),
    ];
    let more = json!({
        "words": score.labels(), "precision": overall.precision, "recall": overall.recall,
        "entities": kinds,
    });
    print_figures(args, (sentences.len(), truncated, context), &figures, more);
    if !args.json {
        print_labels("entities", score.kinds());
    }
    Ok(())
}

/// Evaluates question answering, in the windows of the training.
pub fn answers(
    args: &Eval,
    (bert, model): (&Encoder, &Model),
    tokenizer: &Tokenizer,
) -> Result<()> {
    let trained = match trained_with(&args.model).map(|run| run.task) {
        Some(Task::Answer(task)) => Some(task),
        _ => None,
    };
    let format = args.format.as_deref().map(QuestionFormat::from_name).transpose()?;
    let format = format.or(trained.as_ref().and_then(|task| task.data.format));
    let questions = each_question(&args.data, format)?;
    if questions.is_empty() {
        return Err(Error::data(format!("{}: no questions found", names(&args.data)))
            .hint("is it the right file?"));
    }
    let options = AnswerOptions {
        max_seq_len: args.context.or(trained.as_ref().map(|task| task.model.context_length)),
        doc_stride: trained.as_ref().filter(|_| args.context.is_none()).map(AnswerTask::doc_stride),
        max_answer_len: MAX_ANSWER_LEN,
        ..AnswerOptions::default()
    };
    let weights = (&model.params).into();
    let encoder = TextEncoder { model: bert, weights, tokenizer, truncation: Truncation::Error };
    let score = answer_score(&encoder, &questions, options)?;
    if args.json {
        let (exact, f1) = (score.exact_match(), score.f1());
        println!("{}", json!({ "questions": questions.len(), "exact_match": exact, "f1": f1 }));
        return Ok(());
    }
    println!("questions           {:>12}", questions.len());
    println!("exact match         {:>12.4}", score.exact_match());
    println!("F1                  {:>12.4}   of words", score.f1());
    Ok(())
}
