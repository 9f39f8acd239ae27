//! `limpid fill-mask`: words for gaps.

use super::encoder::{Opened, each_text};
use crate::args::FillMask;
use limpid::encode::{Gap, Overlong, fill_mask};
use limpid::error::Result;
use serde_json::json;

/// Prints the likeliest words for each mask.
pub fn run(args: &FillMask) -> Result<()> {
    let hint = "limpid train bert --data text.txt trains an encoder that can";
    let opened = Opened::new(&args.model, "cannot fill a mask", hint)?;
    let encoder = opened.encoder(Overlong::Refuse);
    each_text(&args.text, "fill-mask", &mut |texts, origin| {
        let found = fill_mask(&encoder, texts, args.top as usize)?;
        opened.warn_of_unknown(texts, origin)?;
        for (text, gaps) in texts.iter().zip(found) {
            if args.json {
                println!("{}", as_json(text, &gaps));
            } else {
                print(text, &gaps);
            }
        }
        Ok(())
    })
}

fn as_json(text: &str, gaps: &[Gap]) -> serde_json::Value {
    let gap = |gap: &Gap| {
        let words = gap.iter().map(|word| {
            json!({ "token": word.token, "id": word.id, "probability": word.probability, "text": word.text })
        });
        words.collect::<Vec<_>>()
    };
    json!({ "text": text, "masks": gaps.iter().map(gap).collect::<Vec<_>>() })
}

fn print(text: &str, gaps: &[Gap]) {
    println!("{text}");
    for (i, gap) in gaps.iter().enumerate() {
        if gaps.len() > 1 {
            println!("  mask {}", i + 1);
        }
        for word in gap {
            // A vocabulary of words writes the space before a word with a sign of its own.
            let token = word.token.trim_start_matches('▁');
            println!("  {:>7.4}  {token:<16} {}", word.probability, word.text);
        }
    }
}
