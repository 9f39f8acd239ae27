//! BPE of SentencePiece: llama.cpp has no merges for it, but a score per token. Of two neighbours
//! that make a token, those with the highest score are merged first.

use super::tokens::{BYTE, CONTROL, NORMAL, Tokens, UNKNOWN, merges, unsupported};
use super::writer::Value;
use crate::error::GgufProblem;
use serde_json::Value as Json;
use std::collections::{HashMap, HashSet};

pub(super) fn keys(json: &Json, tokens: &mut Tokens) -> Result<Vec<(String, Value)>, GgufProblem> {
    if json["model"]["byte_fallback"] != true {
        return Err(unsupported("BPE that is neither byte-level nor has bytes for unknown text"));
    }
    if json["model"]["ignore_merges"] == true {
        return Err(unsupported("BPE of SentencePiece with symbols of its own"));
    }
    let prefix = has_prefix(json)?;
    for (text, kind) in tokens.texts.iter().zip(&mut tokens.kinds) {
        let is_byte = text.len() == 6 && text.starts_with("<0x") && text.ends_with('>');
        if *kind == NORMAL && is_byte {
            *kind = BYTE;
        }
    }
    let unknown = json["model"]["unk_token"].as_str().unwrap_or("<unk>");
    if let Some(id) = tokens.id(unknown) {
        tokens.kinds[id] = UNKNOWN;
    }
    let scores = scores(json, tokens)?;
    Ok(vec![
        ("ggml.model".into(), Value::Text("llama".into())),
        ("ggml.pre".into(), Value::Text("default".into())),
        ("ggml.scores".into(), Value::Floats(scores)),
        ("ggml.add_space_prefix".into(), Value::Bool(prefix)),
    ])
}

/// Whether a text begins with the mark of a space that it does not have.
fn has_prefix(json: &Json) -> Result<bool, GgufProblem> {
    let (normalizer, pre) = (&json["normalizer"], &json["pre_tokenizer"]);
    let steps = match &normalizer["normalizers"] {
        Json::Array(steps) => steps.iter().collect(),
        _ if normalizer.is_null() => Vec::new(),
        _ => vec![normalizer],
    };
    let is_space = |step: &Json| step["type"] == "Replace" && step["pattern"]["String"] == " ";
    let prepends = steps.iter().any(|step| step["type"] == "Prepend" && step["prepend"] == "▁");
    let others = steps.iter().filter(|step| step["type"] != "Prepend" && !is_space(step)).count();
    let metaspace = pre["type"] == "Metaspace";
    // Pieces may not cross a space where it splits; of SentencePiece's they do not anyway.
    let known = metaspace || pre.is_null() || pre["type"] == "Split";
    if others > 0 || !known {
        return Err(unsupported("another normalizer than the replacement of spaces"));
    }
    Ok(prepends || metaspace && pre["prepend_scheme"] != "never")
}

/// A score for each token: the later it is merged, the lower.
fn scores(json: &Json, tokens: &Tokens) -> Result<Vec<f32>, GgufProblem> {
    let mut rank: HashMap<String, usize> = HashMap::new();
    let mut pairs: HashSet<(&str, &str)> = HashSet::new();
    let mut last = String::new();
    for (left, right) in merges(json) {
        let whole = format!("{left}{right}");
        if whole != last && rank.contains_key(&whole) {
            return Err(unsupported("merges that one score per token cannot order"));
        }
        let next = rank.len();
        rank.entry(whole.clone()).or_insert(next);
        pairs.insert((left, right));
        last = whole;
    }
    let mergeable: HashSet<&str> = (tokens.texts.iter().zip(&tokens.kinds))
        .filter(|(_, kind)| **kind == NORMAL)
        .map(|(text, _)| text.as_str())
        .collect();
    // Any two tokens that make a third are merged there.
    for whole in &mergeable {
        let splits = whole.char_indices().skip(1).map(|(at, _)| whole.split_at(at));
        let missing = |(left, right): &(&str, &str)| {
            let is_token = |half: &str| mergeable.contains(half);
            is_token(left) && is_token(right) && !pairs.contains(&(*left, *right))
        };
        if let Some((left, right)) = splits.into_iter().find(missing) {
            let what = format!("the tokens '{left}' and '{right}' that are not merged");
            return Err(unsupported(what));
        }
    }
    let score = |(text, kind): (&String, &i32)| match rank.get(text) {
        Some(rank) if *kind != CONTROL => -(*rank as f32),
        _ => 0.0,
    };
    Ok(tokens.texts.iter().zip(&tokens.kinds).map(score).collect())
}
