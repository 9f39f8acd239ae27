//! Classification of texts and pairs of texts.

use super::TextEncoder;
use crate::data::batch::EncodedText;
use crate::error::{EncodeError, Result};
use limpid_tensor::kernels::softmax::softmax_forward;

/// The label distribution of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Classification {
    /// The probability of each label, in the order of the model's labels.
    pub probabilities: Vec<f32>,
}

impl Classification {
    /// The indices of the labels, the most likely first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.probabilities.len()).collect();
        order.sort_by(|a, b| self.probabilities[*b].total_cmp(&self.probabilities[*a]));
        order
    }
}

/// Classifies texts, or pairs of texts.
/// # Errors
/// [`EncodeError::NoClassificationHead`], and an [`EncodeError`] for a text that cannot be used.
pub fn classify(
    encoder: &TextEncoder,
    texts: &[(String, Option<String>)],
) -> Result<Vec<Classification>> {
    let tokenize = |(i, (text, second)): (usize, &(String, Option<String>))| {
        encoder.tokenize(i, text, second.as_deref())
    };
    let encoded = texts.iter().enumerate().map(tokenize).collect::<Result<Vec<_>>>()?;
    classify_tokens(encoder, &encoded)
}

/// The same of texts that were tokenized before, each as [`TextEncoder::tokenize`] gives it.
/// # Errors
/// [`EncodeError::NoClassificationHead`].
pub fn classify_tokens(
    encoder: &TextEncoder,
    texts: &[EncodedText],
) -> Result<Vec<Classification>> {
    let labels = encoder.model.labels().map(<[String]>::len);
    let labels = labels.ok_or(EncodeError::NoClassificationHead)?;
    let mut found = Vec::with_capacity(texts.len());
    encoder.for_each_batch(texts, |tape, input, hidden, _| {
        let logits = encoder.model.class_logits(tape, hidden, input);
        let mut probabilities = vec![0.0; logits.data().len()];
        softmax_forward(&mut probabilities, logits.data(), labels);
        let rows = probabilities.chunks(labels);
        found.extend(rows.map(|row| Classification { probabilities: row.to_vec() }));
        Ok(())
    })?;
    Ok(found)
}
