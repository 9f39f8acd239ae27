//! `limpid tag`: labelled words of texts.

use super::inputs::{each_text, warn_of_unknown};
use crate::args::{AggregationStrategy, Tag};
use crate::error::Result;
use crate::printer;
use limpid::TokenClassifier;
use limpid::encode::{Aggregation, Entity};
use serde_json::{Value, json};

/// Prints the labelled parts of each text.
pub fn run(args: &Tag) -> Result<()> {
    let tagger = TokenClassifier::load(&args.model)?;
    printer::warnings(tagger.warnings());
    let aggregation = match args.aggregation {
        AggregationStrategy::None => Aggregation::None,
        AggregationStrategy::Simple => Aggregation::Simple,
        AggregationStrategy::First => Aggregation::First,
        AggregationStrategy::Average => Aggregation::Average,
        AggregationStrategy::Max => Aggregation::Max,
    };
    each_text(&args.text, "tag", &mut |texts, origin| {
        let found = tagger.tag(texts, aggregation)?;
        warn_of_unknown(tagger.tokenizer(), texts, origin)?;
        for (text, entities) in texts.iter().zip(found) {
            if args.json {
                let entities: Vec<Value> = entities.iter().map(as_json).collect();
                println!("{}", json!({ "text": text, "entities": entities }));
                continue;
            }
            println!("{text}");
            for entity in entities {
                let Entity { label, score, word, start, end, .. } = entity;
                println!("  {score:>7.4}  {label:<12} {word} ({start}..{end})");
            }
        }
        Ok(())
    })
}

fn as_json(entity: &Entity) -> Value {
    let Entity { label, score, word, start, end, index } = entity;
    let key = if index.is_some() { "entity" } else { "entity_group" };
    let mut value = json!({ key: label, "score": score, "word": word, "start": start, "end": end });
    if let Some(index) = index {
        value["index"] = json!(index);
    }
    value
}
