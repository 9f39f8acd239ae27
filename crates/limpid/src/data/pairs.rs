//! Sentence pairs as token ids; [`super::sampler::BatchSampler`] makes batches of them.

use crate::error::Result;
use crate::text::Tokenizer;

/// A source and a target sentence as token ids, each ending with the end token.
pub type TokenPair = (Vec<u32>, Vec<u32>);

/// The token ids of a sentence, followed by `end`.
pub fn with_end(mut ids: Vec<u32>, end: u32) -> Vec<u32> {
    ids.push(end);
    ids
}

/// Tokenizes sentence pairs; `end` is appended to both sides.
/// # Errors
/// If a text cannot be tokenized.
pub fn tokenize_pairs<'a>(
    tokenizer: &Tokenizer,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    end: u32,
) -> Result<Vec<TokenPair>> {
    let pair = |(source, target): (&str, &str)| {
        Ok((
            with_end(tokenizer.encode(source)?, end),
            with_end(tokenizer.encode_target(target)?, end),
        ))
    };
    pairs.into_iter().map(pair).collect()
}
