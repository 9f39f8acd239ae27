//! Mask filling: the most likely tokens at `[MASK]`, by masked language modelling.

use super::TextEncoder;
use crate::data::batch::EncodedText;
use crate::error::{EncodeError, InputProblem, Result};
use limpid_tensor::kernels::softmax::softmax_forward;

/// A token at a mask.
#[derive(Clone, Debug, PartialEq)]
pub struct FilledMask {
    /// Token id.
    pub id: u32,
    /// The token, as in the vocabulary.
    pub token: String,
    /// Its probability.
    pub probability: f32,
    /// The text with it; other masks stay.
    pub text: String,
}

/// The predictions for one mask, the most likely first.
pub type MaskPredictions = Vec<FilledMask>;

/// The `top` most likely tokens at each `[MASK]` of each text.
/// # Errors
/// [`EncodeError::NoMaskedLmHead`], [`EncodeError::NoMaskToken`], and an [`EncodeError`] for a text
/// that cannot be used or has no mask.
pub fn fill_mask(
    encoder: &TextEncoder,
    texts: &[String],
    top: usize,
) -> Result<Vec<Vec<MaskPredictions>>> {
    let tokenize = |(i, text): (usize, &String)| tokenize_masked(encoder, i, text);
    let encoded = texts.iter().enumerate().map(tokenize).collect::<Result<Vec<_>>>()?;
    fill_mask_tokens(encoder, texts, &encoded, top)
}

/// The token ids and token type ids of text `index`, which has a mask.
/// # Errors
/// As [`fill_mask`].
pub fn tokenize_masked(encoder: &TextEncoder, index: usize, text: &str) -> Result<EncodedText> {
    if !encoder.model.config().head.fills_masks() {
        return Err(EncodeError::NoMaskedLmHead.into());
    }
    let (mask, mask_text) = encoder.tokenizer.mask_token().ok_or(EncodeError::NoMaskToken)?;
    let (ids, types) = encoder.tokenize(index, text, None)?;
    if !ids.contains(&mask) {
        let problem = InputProblem::NoMask { mask: mask_text.to_string() };
        return Err(EncodeError::Input { index, problem }.into());
    }
    Ok((ids, types))
}

/// [`fill_mask`] of texts that were tokenized before, each as [`tokenize_masked`] gives it.
/// # Errors
/// [`EncodeError::NoMaskToken`].
pub fn fill_mask_tokens(
    encoder: &TextEncoder,
    texts: &[String],
    encoded: &[EncodedText],
    top: usize,
) -> Result<Vec<Vec<MaskPredictions>>> {
    let (mask, mask_text) = encoder.tokenizer.mask_token().ok_or(EncodeError::NoMaskToken)?;
    let mut found = Vec::with_capacity(texts.len());
    encoder.for_each_batch(encoded, |tape, input, hidden, first| {
        let ids = &input.tokens.ids;
        let rows: Vec<u32> =
            (0..ids.len() as u32).filter(|row| ids[*row as usize] == mask).collect();
        let logits = encoder.model.word_logits(tape, hidden, &rows.into());
        let v = encoder.model.config().vocab_size;
        let mut probabilities = vec![0.0; logits.data().len()];
        softmax_forward(&mut probabilities, logits.data(), v);
        let mut distributions = probabilities.chunks(v);
        for (i, (ids, _)) in encoded.iter().enumerate().skip(first).take(input.tokens.sequences()) {
            let masks = ids.iter().filter(|id| **id == mask).count();
            let predictions = (0..masks).map(|nth| {
                let distribution = distributions.next().expect("one for each mask");
                fill(encoder, (&texts[i], mask_text), nth, distribution, top)
            });
            found.push(predictions.collect::<Result<Vec<MaskPredictions>>>()?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The predictions for mask number `nth` of a text.
fn fill(
    encoder: &TextEncoder,
    (text, mask_text): (&str, &str),
    nth: usize,
    distribution: &[f32],
    top: usize,
) -> Result<MaskPredictions> {
    let filled = |id: u32| {
        let token = encoder.tokenizer.token(id);
        let word = encoder.tokenizer.decode(&[id])?;
        let word = if word.trim().is_empty() { token.as_str() } else { word.trim() };
        let (probability, text) =
            (distribution[id as usize], with_word(text, mask_text, nth, word));
        Ok(FilledMask { id, probability, text, token })
    };
    most_likely(distribution, top).into_iter().map(filled).collect()
}

/// The text with mask number `nth` replaced; a piece of a word (`##ing`) is joined to the word
/// before it.
fn with_word(text: &str, mask: &str, nth: usize, word: &str) -> String {
    let Some((at, _)) = text.match_indices(mask).nth(nth) else { return text.to_string() };
    let (before, after) = (&text[..at], &text[at + mask.len()..]);
    match word.strip_prefix("##") {
        Some(piece) => format!("{}{piece}{after}", before.trim_end()),
        None => format!("{before}{word}{after}"),
    }
}

/// The ids of the `top` largest, the largest first, equal ones in the order of their ids.
pub(crate) fn most_likely(distribution: &[f32], top: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..distribution.len() as u32).collect();
    let by = |a: &u32, b: &u32| {
        distribution[*b as usize].total_cmp(&distribution[*a as usize]).then(a.cmp(b))
    };
    if top < order.len() && top > 0 {
        order.select_nth_unstable_by(top - 1, by);
    }
    order.truncate(top);
    order.sort_by(by);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_replaces_its_mask_and_no_other() {
        let text = "Xyzzy [MASK], and a [MASK].";
        assert_eq!(with_word(text, "[MASK]", 0, "sat"), "Xyzzy sat, and a [MASK].");
        assert_eq!(with_word(text, "[MASK]", 1, "mat"), "Xyzzy [MASK], and a mat.");
        assert_eq!(with_word(text, "[MASK]", 1, "##nt"), "Xyzzy [MASK], and ant.");
    }

    #[test]
    fn the_most_likely_come_first_and_equal_ones_in_order() {
        assert_eq!(most_likely(&[0.1, 0.4, 0.1, 0.4], 3), [1, 3, 0]);
        assert_eq!(most_likely(&[0.1, 0.4], 5), [1, 0]);
        assert!(most_likely(&[0.1, 0.4], 0).is_empty());
    }
}
