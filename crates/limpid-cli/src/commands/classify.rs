//! `limpid classify`: labels of texts, with their probabilities.

use super::eval::trained_with;
use super::inputs::{LongTexts, Origin, each_text, warn_of_unknown};
use crate::args::Classify;
use crate::error::{Error, Result};
use crate::printer::{self, say};
use limpid::Classifier;
use limpid::model::config::LabelActivation;
use limpid::pipeline::{LabelScore, LongText, Overlength};
use limpid::train::config::Task;
use serde_json::{Map, Value, json};

/// Prints the labels of each text; one that is too long has none.
pub fn run(args: &Classify) -> Result<()> {
    let long_text = if args.truncate { LongText::Truncate } else { LongText::Error };
    let classifier = Classifier::load(&args.model)?.with_long_text(long_text);
    printer::warnings(classifier.warnings());
    let run = trained_with(&args.model);
    let is_pair = |task: &Task| matches!(task, Task::Classify(t) if t.data.text_columns.len() > 1);
    if !args.pair && run.is_some_and(|run| is_pair(&run.task)) {
        say("warning: the model was trained on pairs of texts: give both with --pair, a tab \
             between them");
    }
    let top = args.top.map_or(usize::MAX, |top| top as usize);
    let mut long_texts = LongTexts::default();
    each_text(&args.text, "classify", &mut |texts, origin| {
        if args.pair {
            texts.iter().enumerate().try_for_each(|(i, text)| check_pair(text, i, origin))?;
        }
        let pair_of = |text: &str| match text.split_once('\t').filter(|_| args.pair) {
            Some((first, second)) => (first.to_string(), Some(second.to_string())),
            None => (text.to_string(), None),
        };
        let long = long_texts.check(texts, origin, |text| {
            let (first, second) = pair_of(text);
            classifier.overlength(&first, second.as_deref())
        })?;
        let short = texts.iter().zip(&long).filter(|(_, long)| long.is_none());
        let short: Vec<(String, Option<String>)> = short.map(|(text, _)| pair_of(text)).collect();
        let mut found = classify(&classifier, short)?.into_iter();
        warn_of_unknown(classifier.tokenizer(), texts, origin)?;
        for (text, long) in texts.iter().zip(long) {
            let labels = if long.is_none() { found.next() } else { None }.unwrap_or_default();
            let shown = &labels[..labels.len().min(top)];
            match args.json {
                true => println!("{}", as_json(&classifier, text, shown, long)),
                false => println!("{}\t{text}", as_text(shown)),
            }
        }
        Ok(())
    })?;
    long_texts.finish()
}

/// Texts, or pairs of texts.
fn classify(
    classifier: &Classifier,
    texts: Vec<(String, Option<String>)>,
) -> limpid::error::Result<Vec<Vec<LabelScore>>> {
    let pairs: Option<Vec<(String, String)>> =
        texts.iter().map(|(first, second)| Some((first.clone(), second.clone()?))).collect();
    match pairs {
        Some(pairs) => classifier.classify_pairs(&pairs),
        None => classifier.classify(&Vec::from_iter(texts.into_iter().map(|(text, _)| text))),
    }
}

/// A pair is two texts with one tab between them.
fn check_pair(text: &str, i: usize, origin: Origin) -> Result<()> {
    let place = origin.place(i);
    match text.matches('\t').count() {
        1 => Ok(()),
        0 => Err(Error::data(format!("{place} has no tab: --pair wants two texts"))
            .hint("write first<TAB>second, or leave out --pair")),
        _ => Err(Error::data(format!("{place} has more than one tab: --pair wants two texts"))
            .hint("write first<TAB>second")),
    }
}

fn as_text(shown: &[LabelScore]) -> String {
    let shown = shown.iter().map(|score| format!("{} {:.4}", score.label, score.score));
    shown.collect::<Vec<_>>().join("  ")
}

fn as_json(
    classifier: &Classifier,
    text: &str,
    shown: &[LabelScore],
    long: Option<Overlength>,
) -> Value {
    let scores: Map<String, Value> =
        shown.iter().map(|score| (score.label.clone(), json!(score.score))).collect();
    let label = shown.first().map(|score| &score.label);
    let mut value = match classifier.classes().activation() {
        LabelActivation::Identity => json!({ "text": text, "values": scores }),
        _ => json!({ "text": text, "label": label, "probabilities": scores }),
    };
    if let Some(long) = long {
        value["error"] = "too_long".into();
        value["excess_tokens"] = long.excess().into();
    }
    value
}
