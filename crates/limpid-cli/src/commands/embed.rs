//! `limpid embed` and `limpid similarity`: text embeddings and their cosine similarity.

use super::inputs::{LongTexts, each_text, short_enough};
use crate::args::{Embed, Pool, Similarity, Vectors};
use crate::error::{Error, Result};
use crate::printer;
use limpid::Embedder;
use limpid::encode::{Normalization, Pooling, cosine, npy};
use limpid::files::write_atomic;
use limpid::pipeline::{EmbedderOptions, LongText, Overlength};
use serde_json::{Value, json};
use std::path::Path;

fn load(path: &Path, flags: &Vectors, normalization: Normalization) -> Result<Embedder> {
    let pooling = flags.pool.map(|pool| match pool {
        Pool::Cls => Pooling::Cls,
        Pool::Mean => Pooling::Mean,
    });
    let long_text = if flags.truncate { LongText::Truncate } else { LongText::Error };
    let options = EmbedderOptions { pooling, normalization, long_text };
    let embedder = Embedder::load_with(path, options)?;
    printer::warnings(embedder.warnings());
    Ok(embedder)
}

/// The format of the output.
enum Output<'a> {
    JsonLines(Option<&'a Path>),
    Npy(&'a Path),
}

impl<'a> Output<'a> {
    fn of(path: Option<&'a Path>) -> Result<Self> {
        match path.map(|path| (path, path.extension().and_then(|end| end.to_str()))) {
            None => Ok(Self::JsonLines(None)),
            Some((path, Some("npy"))) => Ok(Self::Npy(path)),
            Some((path, Some("jsonl"))) => Ok(Self::JsonLines(Some(path))),
            Some((path, _)) => Err(Error::config(format!(
                "--out {}: not a kind of file for vectors",
                path.display()
            ))
            .hint("name it .npy or .jsonl")),
        }
    }
}

/// Writes an embedding for each text; one that is too long has none.
pub fn run(args: &Embed) -> Result<()> {
    let output = Output::of(args.out.as_deref())?;
    let normalization =
        if args.no_normalize { Normalization::None } else { Normalization::UnitLength };
    let embedder = load(&args.model, &args.how, normalization)?;
    let (mut lines, mut rows) = (String::new(), Vec::new());
    let mut long_texts = LongTexts::default();
    each_text(&args.text, "embed", &mut |texts, origin| {
        let long = long_texts.check(texts, origin, |text| embedder.overlength(text))?;
        let mut vectors = embedder.embed(&short_enough(texts, &long))?.into_iter();
        for (i, (text, long)) in texts.iter().zip(long).enumerate() {
            printer::unknown_words(&embedder.unknown_words(text)?, &origin.place(i));
            let vector = if long.is_none() { vectors.next() } else { None };
            match output {
                Output::Npy(_) => {
                    rows.push(vector.unwrap_or_else(|| vec![f32::NAN; embedder.dimension()]));
                }
                Output::JsonLines(Some(_)) => lines += &format!("{}\n", line(text, vector, long)),
                Output::JsonLines(None) => println!("{}", line(text, vector, long)),
            }
        }
        Ok(())
    })?;
    match output {
        Output::Npy(path) => write_atomic(path, &npy(&rows))?,
        Output::JsonLines(Some(path)) => write_atomic(path, lines.as_bytes())?,
        Output::JsonLines(None) => {}
    }
    long_texts.finish()
}

fn line(text: &str, vector: Option<Vec<f32>>, long: Option<Overlength>) -> Value {
    let mut line = json!({ "text": text, "embedding": vector });
    if let Some(long) = long {
        line["error"] = "too_long".into();
        line["excess_tokens"] = long.excess().into();
    }
    line
}

/// Prints the cosine similarity of every two texts.
pub fn similarity(args: &Similarity) -> Result<()> {
    let embedder = load(&args.model, &args.how, Normalization::None)?;
    let (mut texts, mut vectors, mut first) = (Vec::new(), Vec::new(), None);
    each_text(&args.text, "similarity", &mut |some, origin| {
        vectors.extend(embedder.embed(some)?);
        texts.extend_from_slice(some);
        first.get_or_insert(origin);
        Ok(())
    })?;
    if texts.len() < 2 {
        return Err(Error::data("one text has nothing to be compared with")
            .hint(format!("limpid similarity {} \"a cat\" \"a dog\"", args.model.display())));
    }
    for (i, text) in texts.iter().enumerate() {
        // The origin of the first texts is where the counting begins.
        let place = first.map_or(String::new(), |origin| origin.place(i));
        printer::unknown_words(&embedder.unknown_words(text)?, &place);
    }
    let matrix: Vec<Vec<f64>> =
        vectors.iter().map(|a| vectors.iter().map(|b| cosine(a, b)).collect()).collect();
    if args.json {
        println!("{}", json!({ "texts": texts, "cosine": matrix }));
        return Ok(());
    }
    for (i, text) in texts.iter().enumerate() {
        let row: Vec<String> = matrix[i].iter().map(|x| format!("{x:>7.4}")).collect();
        println!("{:>3} {}  {text}", i + 1, row.join(" "));
    }
    Ok(())
}
