//! Tokens as the page shows them.

use super::problem::{Kind, LabProblem};
use super::types::Token;
use limpid::text::Tokenizer;

/// Tokens of ids, in which `text` was tokenized: where its tokens stand, they have offsets.
pub fn tokens(tokenizer: &Tokenizer, ids: &[u32], text: Option<&str>) -> Vec<Token> {
    let special = tokenizer.special_tokens();
    let mut all: Vec<Token> = ids.iter().map(|id| token(tokenizer, &special, *id)).collect();
    let Some((plain, offsets)) = text.and_then(|text| tokenizer.encode_with_offsets(text).ok())
    else {
        return all;
    };
    let text = text.unwrap_or_default();
    let at = ids.windows(plain.len().max(1)).position(|window| window == plain);
    let units = |bytes: usize| text.get(..bytes).map(|part| part.encode_utf16().count());
    if let Some(first) = at {
        for (token, (from, to)) in all[first..].iter_mut().zip(offsets) {
            (token.start, token.end) = (units(from), units(to));
        }
    }
    all
}

/// One token without a place in a text.
pub fn one(tokenizer: &Tokenizer, id: u32) -> Token {
    token(tokenizer, &tokenizer.special_tokens(), id)
}

/// As it reads alone.
pub fn readable(tokenizer: &Tokenizer, id: u32) -> String {
    let text = tokenizer.decode_with_special(&[id]).unwrap_or_default();
    match text.trim().is_empty() || text.contains('\u{fffd}') {
        true => tokenizer.token(id),
        false => text,
    }
}

fn token(tokenizer: &Tokenizer, special: &[(u32, String)], id: u32) -> Token {
    Token {
        id,
        text: readable(tokenizer, id),
        piece: tokenizer.token(id),
        special: special.iter().any(|(own, _)| *own == id),
        unknown: tokenizer.unk_id() == Some(id),
        start: None,
        end: None,
    }
}

/// Refuses ids that the vocabulary has not.
pub fn check_ids(ids: &[u32], vocab_size: usize, field: &'static str) -> Result<(), LabProblem> {
    match ids.iter().find(|id| **id as usize >= vocab_size) {
        Some(id) => Err(LabProblem::invalid(
            field,
            format!("token {id} is beyond the vocabulary of {vocab_size} tokens"),
        )),
        None => Ok(()),
    }
}

/// Refuses texts with more tokens than the lab shows.
pub fn check_length(tokens: usize, context: usize) -> Result<(), LabProblem> {
    let max = context.min(super::MAX_TOKENS);
    match tokens {
        0 => Err(LabProblem::new(Kind::Empty, "the text has no tokens").hint("type a word")),
        tokens if tokens > max => Err(LabProblem::too_long(tokens, max)),
        _ => Ok(()),
    }
}
