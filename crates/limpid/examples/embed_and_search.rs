//! Semantic search: embeds documents once, then ranks them by cosine similarity to a query.
//!
//! `cargo run --release --example embed_and_search -- FOLDER "a query"` with the folder of an
//! encoder, such as all-MiniLM-L6-v2; without arguments it makes a small one with random weights,
//! whose embeddings know no more than which words two texts share.

use limpid::encode::cosine;
use limpid::error::Result;
use limpid::model::{Model, config::EncoderConfig};
use limpid::text::{Purpose, word_tokenizer_for};
use limpid::{Embedder, hub};
use std::path::Path;

const DOCUMENTS: [&str; 4] = [
    "the cat sat on the mat",
    "a dog ran to the tree",
    "rain fell on the roof all night",
    "the old man sold fish at the market",
];

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let ranked = match (args.next(), args.next()) {
        (Some(folder), Some(query)) => search(folder.as_ref(), &query)?,
        _ => run("encoder-example".as_ref())?,
    };
    for (similarity, document) in ranked {
        println!("{similarity:.4}  {document}");
    }
    Ok(())
}

/// Saves an encoder with random weights and searches with it; the best document first.
pub fn run(folder: &Path) -> Result<Vec<(f64, &'static str)>> {
    let tokenizer = word_tokenizer_for(DOCUMENTS, Purpose::Encoder)?;
    let config = EncoderConfig::new(tokenizer.vocab_size(), 16, 1, 2, 32);
    hub::save(&Model::new(config, 1)?, folder)?;
    tokenizer.save(folder)?;
    search(folder, "a dog at the tree")
}

fn search(folder: &Path, query: &str) -> Result<Vec<(f64, &'static str)>> {
    let embedder = Embedder::load(folder)?;
    let documents = embedder.embed(&DOCUMENTS)?;
    let query = embedder.embed(&[query])?.remove(0);
    let mut ranked: Vec<(f64, &str)> =
        documents.iter().map(|vector| cosine(&query, vector)).zip(DOCUMENTS).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(ranked)
}
