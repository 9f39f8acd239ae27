//! `limpid classify`: labels of texts, with their probabilities.

use super::encoder::{Opened, Origin, each_text};
use super::eval::trained_with;
use crate::args::Classify;
use crate::printer::say;
use limpid::encode::{Labelled, Overlong, classify};
use limpid::error::{Error, Result};
use serde_json::{Map, json};

/// Prints the labels of each text.
pub fn run(args: &Classify) -> Result<()> {
    let hint = "limpid train classify --data labelled.tsv trains a classifier";
    let opened = Opened::new(&args.model, "cannot classify", hint)?;
    let overlong = if args.truncate { Overlong::Cut(usize::MAX) } else { Overlong::Refuse };
    let encoder = opened.encoder(overlong);
    if !args.pair && trained_with(&args.model).is_some_and(|run| run.table.text.len() > 1) {
        say("warning: the model was trained on pairs of texts: give both with --pair, a tab between them");
    }
    let labels = encoder.bert.labels().unwrap_or_default();
    let top = args.top.map_or(labels.len(), |top| top as usize);
    each_text(&args.text, "classify", &mut |texts, origin| {
        let pairs = texts.iter().enumerate().map(|(i, text)| split(text, i, args.pair, origin));
        let found = classify(&encoder, &pairs.collect::<Result<Vec<_>>>()?)?;
        opened.warn_of_unknown(texts, origin)?;
        for (text, found) in texts.iter().zip(&found) {
            if args.json {
                println!("{}", as_json(text, labels, found, top));
                continue;
            }
            let shown = found.ranked().into_iter().take(top);
            let shown: Vec<String> =
                shown.map(|i| format!("{} {:.4}", labels[i], found.probabilities[i])).collect();
            println!("{}\t{text}", shown.join("  "));
        }
        Ok(())
    })
}

fn split(text: &str, i: usize, pair: bool, origin: Origin) -> Result<(String, Option<String>)> {
    match (pair, text.split_once('\t')) {
        (false, _) => Ok((text.to_string(), None)),
        (true, Some((_, second))) if second.contains('\t') => Err(origin.name(
            Error::data(format!("text {} has more than one tab: --pair wants two texts", i + 1))
                .hint("write first<TAB>second"),
        )),
        (true, Some((first, second))) => Ok((first.to_string(), Some(second.to_string()))),
        (true, None) => Err(origin.name(
            Error::data(format!("text {} has no tab: --pair wants two texts", i + 1))
                .hint("write first<TAB>second, or leave out --pair"),
        )),
    }
}

fn as_json(text: &str, labels: &[String], found: &Labelled, top: usize) -> serde_json::Value {
    let shown = found.ranked().into_iter().take(top);
    let scores: Map<String, serde_json::Value> =
        shown.map(|i| (labels[i].clone(), json!(found.probabilities[i]))).collect();
    json!({ "text": text, "label": labels[found.best()], "probabilities": scores })
}
