//! Sentence embeddings: one vector per text.

use super::TextEncoder;
use crate::data::batch::EncodedText;
use crate::error::Result;
use crate::hub::{Pooling, SentenceModule};
use limpid_tensor::kernels::attention::Span;

/// The length of embeddings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normalization {
    /// 1, so that a dot product is a cosine similarity.
    #[default]
    UnitLength,
    /// As the model gives them.
    None,
}

/// One embedding per text, (c).
/// # Errors
/// An [`EncodeError`](crate::error::EncodeError) for a text that cannot be used.
pub fn embed(
    encoder: &TextEncoder,
    texts: &[String],
    pooling: Pooling,
    normalization: Normalization,
) -> Result<Vec<Vec<f32>>> {
    embed_with_modules(encoder, texts, pooling, &[], normalization)
}

/// The same with the modules of sentence-transformers that follow the pooling.
/// # Errors
/// Those of [`embed`].
/// # Panics
/// If a module does not take embeddings of the model's width.
pub fn embed_with_modules(
    encoder: &TextEncoder,
    texts: &[String],
    pooling: Pooling,
    modules: &[SentenceModule],
    normalization: Normalization,
) -> Result<Vec<Vec<f32>>> {
    let encoded = encoder.tokenize_all(texts)?;
    Ok(embed_tokens(encoder, &encoded, pooling, modules, normalization))
}

/// The same of texts that were tokenized before, each as [`TextEncoder::tokenize`] gives it.
/// # Panics
/// As [`embed_with_modules`].
pub fn embed_tokens(
    encoder: &TextEncoder,
    texts: &[EncodedText],
    pooling: Pooling,
    modules: &[SentenceModule],
    normalization: Normalization,
) -> Vec<Vec<f32>> {
    encoder.map_batches(texts, |input, hidden| {
        let embedding = |span: &Span| {
            let rows = match pooling {
                Pooling::Cls => span.start..span.start + 1,
                Pooling::Mean => span.start..span.start + span.len,
            };
            let mut vector =
                mean(rows.map(|row| hidden.value().row(row)), encoder.model.config().hidden_size);
            for module in modules {
                match module {
                    SentenceModule::Normalize => normalize(&mut vector),
                    SentenceModule::Dense(dense) => vector = dense.forward(&vector),
                    SentenceModule::Truncate(length) => vector.truncate(*length),
                }
            }
            if normalization == Normalization::UnitLength {
                normalize(&mut vector);
            }
            vector.into_iter().map(|x| x as f32).collect()
        };
        input.tokens.spans.iter().map(embedding).collect()
    })
}

/// The hidden state of each token of each text, (tokens, c).
pub fn hidden_states(encoder: &TextEncoder, texts: &[EncodedText]) -> Vec<Vec<Vec<f32>>> {
    encoder.map_batches(texts, |input, hidden| {
        let states = |span: &Span| {
            let rows = span.start..span.start + span.len;
            rows.map(|row| hidden.value().row(row).to_vec()).collect()
        };
        input.tokens.spans.iter().map(states).collect()
    })
}

fn normalize(vector: &mut [f64]) {
    // 1e-12 as in PyTorch's normalize: a vector of zeros stays one.
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-12);
    vector.iter_mut().for_each(|x| *x /= norm);
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

/// Cosine similarity: a·b / (|a|·|b|); 0 if one of them is 0.
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
    if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosine_similarity_is_the_cosine_of_the_angle() {
        assert_eq!(cosine(&[3.0, 4.0], &[6.0, 8.0]), 1.0);
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 5.0]), 0.0);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 1.0]), 0.0);
    }
}
