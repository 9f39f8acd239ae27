//! Texts as vectors.

use super::Encoder;
use crate::error::Result;
use limpid_tensor::tape::Tape;

/// How the vectors of the tokens become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// That of `[CLS]`.
    Cls,
    /// Their mean, the special tokens included, as sentence-transformers does it.
    Mean,
}

/// How long the vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// 1, so that a dot product is a cosine.
    One,
    /// As the model makes them.
    AsIs,
}

/// One vector a text.
pub fn embed(encoder: &Encoder, texts: &[String], pooling: Pooling, length: Length) -> Result<Vec<Vec<f32>>> {
    let read = |(i, text): (usize, &String)| encoder.read(text, None, &format!("text {}", i + 1));
    let reads = texts.iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    let mut vectors = Vec::with_capacity(texts.len());
    encoder.in_groups(&reads, |input, _| {
        let mut tape = Tape::inference(encoder.params);
        let hidden = encoder.bert.hidden(&mut tape, input);
        for span in input.tokens.spans.iter() {
            let rows = match pooling {
                Pooling::Cls => span.start..span.start + 1,
                Pooling::Mean => span.start..span.start + span.len,
            };
            let mut vector = mean(rows.map(|row| hidden.value().row(row)), encoder.bert.config().hidden_size);
            if length == Length::One {
                // 1e-12 as PyTorch's normalize has it: a vector of zeros stays one.
                let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
                vector.iter_mut().for_each(|x| *x /= norm);
            }
            vectors.push(vector.into_iter().map(|x| x as f32).collect());
        }
        Ok(())
    })?;
    Ok(vectors)
}

fn mean<'a>(rows: impl Iterator<Item = &'a [f32]>, c: usize) -> Vec<f64> {
    let (mut sum, mut count) = (vec![0.0; c], 0.0);
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        count += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= count);
    sum
}

/// a·b / (|a|·|b|); 0 if one of them is 0.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
    if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cosine_is_that_of_the_angle() {
        assert_eq!(cosine(&[3.0, 4.0], &[6.0, 8.0]), 1.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 5.0]), 0.0);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 1.0]), 0.0);
    }
}
