//! The text that `limpid quantize` measures on: one half to choose by, the other to judge by.

use crate::args::Quantize;
use crate::error::{Error, Result};
use limpid::eval::loss::pairs_loss;
use limpid::eval::translator::tokens_to_score;
use limpid::model::{Model, Seq2Seq, Stack};
use limpid::quantize::Sample;
use limpid::text::{Tokenizer, nonblank_lines};
use limpid_learn::corpus::{generate, stories};
use std::path::Path;

/// Tokens, texts and pairs of each half.
const TOKENS: usize = 4096;
const TEXTS: usize = 100;
const PAIRS: usize = 100;

/// Two samples that share nothing.
pub struct Samples {
    /// What weights are measured and kept by.
    pub choosing: Sample,
    /// What the result is judged by.
    pub held_out: Sample,
    /// The held-out pairs as text, for a translator.
    pub pairs: Vec<(String, String)>,
    /// Where the text comes from.
    pub origin: String,
}

/// The samples for the stack of a model.
pub fn samples(args: &Quantize, model: &Model, tokenizer: &Tokenizer) -> Result<Samples> {
    let translator = model.stack.translator();
    let given = (args.data.is_some(), args.source.is_some());
    if (translator.is_some() && given.0) || (translator.is_none() && given.1) {
        let (wrong, right) = match translator {
            Some(_) => ("--data", "--source FILE --target FILE"),
            None => ("--source", "--data FILE"),
        };
        let text = format!("{wrong} has no effect for {}", model.stack.kind());
        return Err(Error::config(text).hint(format!("use {right}")));
    }
    match translator {
        Some(translator) => of_pairs(args, translator, model, tokenizer),
        None => of_text(args, model, tokenizer),
    }
}

fn of_text(args: &Quantize, model: &Model, tokenizer: &Tokenizer) -> Result<Samples> {
    let (lines, origin) = match &args.data {
        Some(path) => (nonblank_lines(std::slice::from_ref(path))?, path.display().to_string()),
        None => {
            let test = stories::generate(1, 2 * TEXTS, 1).test;
            (test.into_iter().map(|story| story.text).collect(), "built-in stories".to_string())
        }
    };
    let too_short = || Error::data(format!("{origin}: too little text to measure on"));
    let (choosing, held_out) = if let Stack::Decoder(_) = model.stack {
        let mut ids = Vec::new();
        for line in &lines {
            ids.extend(tokenizer.encode(&(line.clone() + "\n"))?);
            if ids.len() >= 2 * TOKENS {
                break;
            }
        }
        let half = ids.len().min(2 * TOKENS) / 2;
        if half < 2 {
            return Err(too_short().hint("give a longer text"));
        }
        (Sample::Text(ids[..half].to_vec()), Sample::Text(ids[half..2 * half].to_vec()))
    } else {
        let half = lines.len().min(2 * TEXTS) / 2;
        if half == 0 {
            return Err(too_short().hint("give at least two lines"));
        }
        (Sample::Texts(lines[..half].to_vec()), Sample::Texts(lines[half..2 * half].to_vec()))
    };
    Ok(Samples { choosing, held_out, pairs: Vec::new(), origin })
}

fn of_pairs(
    args: &Quantize,
    translator: Seq2Seq,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<Samples> {
    let (mut pairs, files, origin) = match (&args.source, &args.target) {
        (Some(source), Some(target)) => {
            let [a, b] = [source, target].map(|path| nonblank_lines(std::slice::from_ref(path)));
            let (a, b) = (a?, b?);
            if a.len() != b.len() {
                let text = format!("{} source and {} target lines", a.len(), b.len());
                return Err(Error::data(text).hint("line n of one file translates line n"));
            }
            let files = [source.as_path(), target.as_path()];
            (a.into_iter().zip(b).collect(), files, source.display().to_string())
        }
        _ => (built_in(translator, model, tokenizer)?, [Path::new(""); 2], "built-in pairs".into()),
    };
    pairs.truncate(2 * PAIRS);
    if pairs.len() < 2 {
        return Err(Error::data(format!("{origin}: too few pairs to measure on"))
            .hint("give at least two lines"));
    }
    let tokens = tokens_to_score(tokenizer, &pairs, files, translator.end(), translator.longest())?;
    let half = pairs.len() / 2;
    Ok(Samples {
        choosing: Sample::Pairs(tokens[..half].to_vec()),
        held_out: Sample::Pairs(tokens[half..].to_vec()),
        pairs: pairs.split_off(half),
        origin,
    })
}

/// Pairs of the built-in corpus, in the direction that the model knows better.
fn built_in(
    translator: Seq2Seq,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<Vec<(String, String)>> {
    let test = generate(20 * PAIRS, 1).test;
    let from_french: Vec<(String, String)> =
        test.into_iter().map(|pair| (pair.french, pair.english)).collect();
    let from_english: Vec<(String, String)> =
        from_french.iter().map(|(french, english)| (english.clone(), french.clone())).collect();
    let loss = |pairs: &[(String, String)]| -> Result<f64> {
        let few = &pairs[..pairs.len().min(30)];
        let (end, longest) = (translator.end(), translator.longest());
        let ids = tokens_to_score(tokenizer, few, [Path::new(""); 2], end, longest)?;
        Ok(pairs_loss((translator, &model.params), ids).mean())
    };
    Ok(if loss(&from_french)? <= loss(&from_english)? { from_french } else { from_english })
}
