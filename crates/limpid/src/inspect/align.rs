//! Word alignment of a translation by cross-attention.
//!
//! ```text
//! weight(i, j) = Σ cross-attention of the tokens of target word j to the tokens of source word i
//!                (one layer, mean of its heads)
//! j is aligned to the i of the largest weight
//! ```
//!
//! Words are separated by white space and counted from 0; punctuation belongs to the word it
//! touches. The end token is no word. Of the decoder's layers the one with the sharpest attention
//! is taken. Attention suggests an alignment, it does not prove one.

use super::attention::{cross_attention, with_end};
use crate::error::Result;
use crate::generate::{TextStream, argmax};
use crate::model::Seq2Seq;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// For each word of the translation, in order: (source word, target word).
pub type Alignment = Vec<(usize, usize)>;

/// Aligns a translation, given by its tokens without the end token, to its source.
/// # Errors
/// [`NoAttention`](crate::error::GenerationError::NoAttention).
pub fn align<'a>(
    (model, params): (impl Into<Seq2Seq<'a>>, &Params),
    tokenizer: &Tokenizer,
    source: &str,
    translation: &[u32],
) -> Result<Alignment> {
    let model = model.into();
    let end = model.end();
    let (ids, offsets) = tokenizer.encode_with_offsets(source)?;
    let [before, behind] = tokenizer.source_affixes(end)?;
    let starts = word_starts(source);
    let words = offsets.iter().map(|(from, to)| word_at(source, &starts, *from, *to));
    let source_words: Vec<Option<usize>> =
        before.iter().map(|_| None).chain(words).chain(behind.iter().map(|_| None)).collect();
    let ids = [before, ids, behind].concat();
    let target_words = target_words(tokenizer, translation)?;
    let target = with_end(model, translation);
    if translation.is_empty() || starts.is_empty() {
        return Ok(Vec::new());
    }
    let (_, weights) = cross_attention(model, params, &ids, &target)?;
    let words = target_words.iter().flatten().max().map_or(0, |last| last + 1);
    let mut sums = vec![vec![0.0_f32; starts.len()]; words];
    for (j, row) in target_words.iter().zip(&weights) {
        for (i, weight) in source_words.iter().zip(row) {
            if let (Some(i), Some(j)) = (i, j) {
                sums[*j][*i] += weight;
            }
        }
    }
    Ok(sums
        .iter()
        .enumerate()
        .filter(|(_, row)| row.iter().any(|w| *w > 0.0))
        .map(|(j, row)| (argmax(row), j))
        .collect())
}

/// The word that each token of a text belongs to; none for special tokens and white space.
fn target_words(tokenizer: &Tokenizer, tokens: &[u32]) -> Result<Vec<Option<usize>>> {
    let mut stream = TextStream::new(tokenizer, &[], &[]);
    let mut ends = Vec::with_capacity(tokens.len());
    for token in tokens {
        stream.push(*token)?;
        ends.push(stream.text().len());
    }
    stream.finish()?;
    let text = stream.text();
    let starts = word_starts(text);
    let from = [0].into_iter().chain(ends.iter().copied());
    Ok(from.zip(&ends).map(|(from, to)| word_at(text, &starts, from, *to)).collect())
}

/// The byte offsets at which words begin.
fn word_starts(text: &str) -> Vec<usize> {
    let mut before = ' ';
    let mut starts = Vec::new();
    for (at, c) in text.char_indices() {
        if before.is_whitespace() && !c.is_whitespace() {
            starts.push(at);
        }
        before = c;
    }
    starts
}

/// The word that holds the last character of `text[from..to]` that is not white space.
fn word_at(text: &str, starts: &[usize], from: usize, to: usize) -> Option<usize> {
    let part = text.get(from..to)?;
    let (at, _) = part.char_indices().rev().find(|(_, c)| !c.is_whitespace())?;
    starts.iter().rposition(|start| *start <= from + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EncoderDecoder;
    use crate::model::config::EncoderDecoderConfig;
    use crate::text::word_tokenizer;

    #[test]
    fn a_translation_that_fills_all_positions_can_be_aligned() {
        let tokenizer = word_tokenizer(["a b c d"]).unwrap();
        let mut config = EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 1, 8, 8);
        config.max_position_embeddings = 6;
        let mut builder = Params::builder();
        let model = EncoderDecoder::new(&config, &mut builder).unwrap();
        let params = builder.build(1);
        let word = tokenizer.encode("b").unwrap()[0];
        for length in [1, 5, 6] {
            let found = align((&model, &params), &tokenizer, "a b", &vec![word; length]).unwrap();
            assert_eq!(found.len(), length);
        }
    }

    #[test]
    fn tokens_belong_to_the_word_that_holds_them() {
        let text = "L'homme est là.";
        let tokenizer = word_tokenizer([text]).unwrap();
        let (ids, offsets) = tokenizer.encode_with_offsets(text).unwrap();
        let starts = word_starts(text);
        assert_eq!(starts, [0, 8, 12]);
        let words: Vec<Option<usize>> =
            offsets.iter().map(|(from, to)| word_at(text, &starts, *from, *to)).collect();
        // ▁L' homme ▁est ▁là .
        assert_eq!(words, [Some(0), Some(0), Some(1), Some(2), Some(2)]);
        assert_eq!(target_words(&tokenizer, &ids).unwrap(), words);
        assert_eq!(
            target_words(&tokenizer, &[1, ids[0]]).unwrap(),
            [None, Some(0)],
            "the end token is no word"
        );
    }
}
