//! Words for gaps: what a model that was trained on masked words thinks stood there.

use super::Encoder;
use crate::error::{Error, Result};
use limpid_tensor::kernels::softmax::softmax_forward;
use limpid_tensor::tape::Tape;

/// A word for a gap.
#[derive(Clone, Debug, PartialEq)]
pub struct Filled {
    /// Its id.
    pub id: u32,
    /// The token, as the vocabulary writes it.
    pub token: String,
    /// Its probability, among all tokens of the vocabulary.
    pub probability: f32,
    /// The text with it; other gaps stay open.
    pub text: String,
}

/// A gap, and the likeliest words for it, the likeliest first.
pub type Gap = Vec<Filled>;

/// The `top` likeliest words for each `[MASK]` of each text.
pub fn fill_mask(encoder: &Encoder, texts: &[String], top: usize) -> Result<Vec<Vec<Gap>>> {
    if !encoder.bert.config().head.fills_masks() {
        return Err(Error::config("the model has no head for masked words: it cannot fill a mask")
            .hint("limpid train bert --data text.txt trains one that can"));
    }
    let Some((mask, written)) = encoder.tokenizer.mask() else {
        return Err(Error::config("the tokenizer has no token for a mask ([MASK])").hint(
            "limpid tokenizer train … --for bert makes one that has; the model must be trained with it",
        ));
    };
    let mut reads = Vec::with_capacity(texts.len());
    for (i, text) in texts.iter().enumerate() {
        let name = format!("text {}", i + 1);
        let read = encoder.read(text, None, &name)?;
        if !read.0.contains(&mask) {
            return Err(Error::data(format!("{name} has no {written}: there is nothing to fill"))
                .hint(format!("write {written} where a word is missing: \"The cat {written} on the mat\"")));
        }
        reads.push(read);
    }
    let mut found = Vec::with_capacity(texts.len());
    encoder.in_groups(&reads, |input, first| {
        let ids = &input.tokens.ids;
        let rows: Vec<u32> = (0..ids.len() as u32).filter(|row| ids[*row as usize] == mask).collect();
        let mut tape = Tape::inference(encoder.params);
        let hidden = encoder.bert.hidden(&mut tape, input);
        let logits = encoder.bert.word_logits(&mut tape, &hidden, &rows.into());
        let v = encoder.bert.config().vocab_size;
        let mut probabilities = vec![0.0; logits.data().len()];
        softmax_forward(&mut probabilities, logits.data(), v);
        let mut distributions = probabilities.chunks(v);
        for (i, (ids, _)) in reads.iter().enumerate().skip(first).take(input.tokens.sequences()) {
            let masks = ids.iter().filter(|id| **id == mask).count();
            let gaps = (0..masks).map(|nth| {
                let distribution = distributions.next().expect("one for each mask");
                fill(encoder, (&texts[i], written), nth, distribution, top)
            });
            found.push(gaps.collect::<Result<Vec<Gap>>>()?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The likeliest words for mask number `nth` of a text.
fn fill(
    encoder: &Encoder,
    (text, written): (&str, &str),
    nth: usize,
    distribution: &[f32],
    top: usize,
) -> Result<Gap> {
    let word = |id: u32| {
        let token = encoder.tokenizer.token(id);
        let said = encoder.tokenizer.decode(&[id])?;
        let said = if said.trim().is_empty() { token.as_str() } else { said.trim() };
        Ok(Filled {
            id,
            probability: distribution[id as usize],
            text: with_word(text, written, nth, said),
            token,
        })
    };
    likeliest(distribution, top).into_iter().map(word).collect()
}

/// The text with mask number `nth` replaced; a piece of a word (`##ing`) is joined to what stands before it.
fn with_word(text: &str, written: &str, nth: usize, said: &str) -> String {
    let Some((at, _)) = text.match_indices(written).nth(nth) else { return text.to_string() };
    let (before, after) = (&text[..at], &text[at + written.len()..]);
    match said.strip_prefix("##") {
        Some(piece) => format!("{}{piece}{after}", before.trim_end()),
        None => format!("{before}{said}{after}"),
    }
}

/// The ids of the `top` largest, the largest first, equal ones in the order of their ids.
pub(crate) fn likeliest(distribution: &[f32], top: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..distribution.len() as u32).collect();
    let by =
        |a: &u32, b: &u32| distribution[*b as usize].total_cmp(&distribution[*a as usize]).then(a.cmp(b));
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
    fn a_word_takes_the_place_of_its_mask_and_of_no_other() {
        let text = "Xyzzy [MASK], and a [MASK].";
        assert_eq!(with_word(text, "[MASK]", 0, "sat"), "Xyzzy sat, and a [MASK].");
        assert_eq!(with_word(text, "[MASK]", 1, "mat"), "Xyzzy [MASK], and a mat.");
        assert_eq!(with_word(text, "[MASK]", 1, "##nt"), "Xyzzy [MASK], and ant.");
    }

    #[test]
    fn the_likeliest_come_first_and_equal_ones_in_order() {
        assert_eq!(likeliest(&[0.1, 0.4, 0.1, 0.4], 3), [1, 3, 0]);
        assert_eq!(likeliest(&[0.1, 0.4], 5), [1, 0]);
        assert!(likeliest(&[0.1, 0.4], 0).is_empty());
    }
}
