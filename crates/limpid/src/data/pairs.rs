//! Sentence pairs as token ids; [`super::sampler::BatchSampler`] makes batches of them.
//!
//! ```
//! use limpid::data::pairs::tokenize_pairs;
//! use limpid::text::word_tokenizer;
//!
//! let tokenizer = word_tokenizer(["Il dort.", "He sleeps."])?;
//! let end = tokenizer.eos_id().expect("a translator has an end token");
//! let pairs = tokenize_pairs(&tokenizer, [("Il dort.", "He sleeps.")], end)?;
//! let (source, target) = &pairs[0];
//! assert_eq!((source.last(), target.last()), (Some(&end), Some(&end)));
//! # Ok::<(), limpid::error::Error>(())
//! ```

use crate::error::Result;
use crate::text::Tokenizer;

/// A source and a target sentence as token ids, each ending with the end token.
pub type TokenPair = (Vec<u32>, Vec<u32>);

/// Tokenizes sentence pairs; `end` is appended to both sides, in a multilingual model with the
/// tokens of their languages.
/// # Errors
/// If a text cannot be tokenized.
pub fn tokenize_pairs<'a>(
    tokenizer: &Tokenizer,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    end: u32,
) -> Result<Vec<TokenPair>> {
    let pair = |(source, target): (&str, &str)| {
        Ok((tokenizer.source_sentence(source, end)?, tokenizer.target_sentence(target, end)?))
    };
    pairs.into_iter().map(pair).collect()
}
