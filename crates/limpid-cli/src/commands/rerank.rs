//! `limpid rerank`: texts by their relevance to a query.

use super::inputs::{Origin, each_text};
use crate::args::Rerank;
use crate::error::Result;
use crate::printer;
use limpid::Reranker;
use limpid::pipeline::Ranked;
use serde_json::json;

/// Prints the texts, the most relevant first.
pub fn run(args: &Rerank) -> Result<()> {
    let reranker = Reranker::load(&args.model)?;
    printer::warnings(reranker.warnings());
    // Lines come in parts; the order is that of all of them.
    let (mut texts, mut ranked): (Vec<String>, Vec<Ranked>) = (Vec::new(), Vec::new());
    each_text(&args.text, "rerank --query TEXT", &mut |part, origin| {
        let first = match origin {
            Origin::Arguments(_) => 0,
            Origin::Lines(first) => first,
        };
        let found = reranker.rank(&args.query, part)?;
        texts.truncate(first);
        texts.extend_from_slice(part);
        ranked.retain(|known| known.index < first);
        ranked.extend(found.iter().map(|r| Ranked { index: first + r.index, ..*r }));
        Ok(())
    })?;
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    ranked.truncate(args.top.map_or(usize::MAX, |top| top as usize));
    for Ranked { index, score } in ranked {
        let text = &texts[index];
        match args.json {
            true => println!("{}", json!({ "corpus_id": index, "score": score, "text": text })),
            false => println!("{score:>8.4}\t{text}"),
        }
    }
    Ok(())
}
