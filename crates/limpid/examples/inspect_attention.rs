//! Which source words a translator attends to: the cross-attention of one translation as a table.
//!
//! `cargo run --release --example inspect_attention -- FOLDER "Je suis étudiant."` with the model
//! folder of a translator; without arguments it trains a small one first.

#[path = "train_translator.rs"]
#[allow(dead_code)]
mod train_translator;

use limpid::Translator;
use limpid::error::Result;
use limpid::inspect::TranslationAttention;
use std::path::Path;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let found = match (args.next(), args.next()) {
        (Some(folder), Some(text)) => attention(folder.as_ref(), &text)?,
        _ => run("translator-example".as_ref())?,
    };
    print!("{}", table(&found));
    Ok(())
}

/// Trains a translator in a folder and looks at one translation.
pub fn run(folder: &Path) -> Result<TranslationAttention> {
    train_translator::run(folder)?;
    attention(folder, "Il mange une pomme.")
}

fn attention(folder: &Path, text: &str) -> Result<TranslationAttention> {
    let translator = Translator::load(folder)?;
    let best = translator.request(&[text]).translate_all()?.remove(0).remove(0);
    translator.attention(text, &best.tokens)
}

/// A row for each target token, a column for each source token, weights in percent.
pub fn table(found: &TranslationAttention) -> String {
    let mut text = format!("layer {}, mean of its heads\n{:12}", found.layer + 1, "");
    found.source.iter().for_each(|token| text += &format!("{token:>10}"));
    for (token, weights) in found.target.iter().zip(&found.weights) {
        text += &format!("\n{token:12}");
        weights.iter().for_each(|weight| text += &format!("{:>10.0}", 100.0 * weight));
    }
    text + "\n"
}
