//! `limpid tag`: labelled words of texts.

use super::inputs::{LongTexts, each_text, short_enough, warn_of_unknown};
use crate::args::{AggregationStrategy, Tag};
use crate::error::Result;
use crate::printer;
use limpid::TokenClassifier;
use limpid::encode::{Aggregation, Entity};
use serde_json::{Value, json};

/// Prints the labelled parts of each text; one that is too long has none.
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
    let mut long_texts = LongTexts::default();
    each_text(&args.text, "tag", &mut |texts, origin| {
        let long = long_texts.check(texts, origin, |text| tagger.overlength(text))?;
        let mut found = tagger.tag(&short_enough(texts, &long), aggregation)?.into_iter();
        warn_of_unknown(tagger.tokenizer(), texts, origin)?;
        for (text, long) in texts.iter().zip(long) {
            let entities = if long.is_none() { found.next() } else { None }.unwrap_or_default();
            if args.json {
                let entities: Vec<Value> = entities.iter().map(as_json).collect();
                let mut value = json!({ "text": text, "entities": entities });
                if let Some(long) = long {
                    value["error"] = "too_long".into();
                    value["excess_tokens"] = long.excess().into();
                }
                println!("{value}");
                continue;
            }
            println!("{text}");
            for entity in entities {
                let Entity { label, score, word, start, end, .. } = entity;
                println!("  {score:>7.4}  {label:<12} {word} ({start}..{end})");
            }
        }
        Ok(())
    })?;
    long_texts.finish()
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
