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
        for (ids, _) in &reads[first..first + input.tokens.sequences()] {
            let places = (0..ids.len()).filter(|place| ids[*place] == mask);
            let gaps = places.map(|place| {
                let distribution = distributions.next().expect("one for each mask");
                fill(encoder, ids, place, distribution, top)
            });
            found.push(gaps.collect::<Result<Vec<Gap>>>()?);
        }
        Ok(())
    })?;
    Ok(found)
}

fn fill(encoder: &Encoder, ids: &[u32], place: usize, distribution: &[f32], top: usize) -> Result<Gap> {
    let word = |id: u32| {
        let (mut ids, mask) = (ids.to_vec(), ids[place]);
        ids[place] = id;
        // Special tokens are left out of a text, but not the gaps that are still open.
        let parts: Vec<&[u32]> = ids.split(|id| *id == mask).collect();
        let parts =
            parts.iter().map(|part| encoder.tokenizer.decode(part)).collect::<Result<Vec<String>>>()?;
        let open = format!(" {} ", encoder.tokenizer.token(mask));
        Ok(Filled {
            id,
            token: encoder.tokenizer.token(id),
            probability: distribution[id as usize],
            text: parts.join(&open).trim().to_string(),
        })
    };
    likeliest(distribution, top).into_iter().map(word).collect()
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
    fn the_likeliest_come_first_and_equal_ones_in_order() {
        assert_eq!(likeliest(&[0.1, 0.4, 0.1, 0.4], 3), [1, 3, 0]);
        assert_eq!(likeliest(&[0.1, 0.4], 5), [1, 0]);
        assert!(likeliest(&[0.1, 0.4], 0).is_empty());
    }
}
