//! `limpid fill-mask`: the most likely tokens at [MASK].

use super::inputs::{each_text, warn_of_unknown};
use crate::args::FillMask;
use crate::error::Result;
use crate::printer;
use limpid::encode::MaskPredictions;
use serde_json::json;

/// Prints the most likely tokens at each mask.
pub fn run(args: &FillMask) -> Result<()> {
    let model = limpid::FillMask::load(&args.model)?;
    printer::warnings(model.warnings());
    each_text(&args.text, "fill-mask", &mut |texts, origin| {
        let found = model.fill(texts, args.top as usize)?;
        warn_of_unknown(model.tokenizer(), texts, origin)?;
        for (text, masks) in texts.iter().zip(found) {
            if args.json {
                println!("{}", as_json(text, &masks));
            } else {
                print(text, &masks);
            }
        }
        Ok(())
    })
}

fn as_json(text: &str, masks: &[MaskPredictions]) -> serde_json::Value {
    let mask = |predictions: &MaskPredictions| {
        let filled = predictions.iter().map(|filled| {
            json!({
                "token": filled.token, "id": filled.id, "probability": filled.probability,
                "text": filled.text,
            })
        });
        filled.collect::<Vec<_>>()
    };
    json!({ "text": text, "masks": masks.iter().map(mask).collect::<Vec<_>>() })
}

fn print(text: &str, masks: &[MaskPredictions]) {
    println!("{text}");
    for (i, predictions) in masks.iter().enumerate() {
        if masks.len() > 1 {
            println!("  mask {}", i + 1);
        }
        for filled in predictions {
            // A word tokenizer marks the space before a word.
            let token = filled.token.trim_start_matches('▁');
            println!("  {:>7.4}  {token:<16} {}", filled.probability, filled.text);
        }
    }
}
