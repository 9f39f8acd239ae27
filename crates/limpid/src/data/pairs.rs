//! Sentence pairs as token ids; [`super::sampler::BatchSampler`] makes batches of them.

use crate::error::Result;
use crate::text::Tokenizer;

/// A source and a target sentence as token ids, each ending with the end token.
pub type TokenPair = (Vec<u32>, Vec<u32>);

/// The token ids of a sentence, followed by `end`.
/// # Errors
/// If the text cannot be tokenized.
pub fn with_end(tokenizer: &Tokenizer, text: &str, end: u32) -> Result<Vec<u32>> {
    let mut ids = tokenizer.encode(text)?;
    ids.push(end);
    Ok(ids)
}

/// Tokenizes sentence pairs; `end` is appended to both sides.
/// # Errors
/// If a text cannot be tokenized.
pub fn tokenize_pairs<'a>(
    tokenizer: &Tokenizer,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    end: u32,
) -> Result<Vec<TokenPair>> {
    let ids = |text| with_end(tokenizer, text, end);
    pairs.into_iter().map(|(source, target)| Ok((ids(source)?, ids(target)?))).collect()
}
