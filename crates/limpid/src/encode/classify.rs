//! Which label a text has.

use super::Encoder;
use crate::error::{Error, Result};
use limpid_tensor::kernels::softmax::softmax_forward;
use limpid_tensor::tape::Tape;

/// What a classifier thinks of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The probability of each label, in their order.
    pub probabilities: Vec<f32>,
}

impl Labelled {
    /// The number of the likeliest label.
    pub fn best(&self) -> usize {
        crate::decode::argmax(&self.probabilities)
    }

    /// The numbers of the labels, the likeliest first.
    pub fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.probabilities.len()).collect();
        order.sort_by(|a, b| self.probabilities[*b].total_cmp(&self.probabilities[*a]));
        order
    }
}

/// Labels texts, or pairs of texts.
pub fn classify(encoder: &Encoder, texts: &[(String, Option<String>)]) -> Result<Vec<Labelled>> {
    let Some(labels) = encoder.bert.labels().map(<[String]>::len) else {
        return Err(Error::config("the model has no labels: it is not a classifier")
            .hint("limpid train classify --data labelled.tsv --from MODEL makes one of it"));
    };
    let read = |(i, (text, second)): (usize, &(String, Option<String>))| {
        encoder.read(text, second.as_deref(), &format!("text {}", i + 1))
    };
    let reads = texts.iter().enumerate().map(read).collect::<Result<Vec<_>>>()?;
    let mut found = Vec::with_capacity(texts.len());
    encoder.in_groups(&reads, |input, _| {
        let mut tape = Tape::inference(encoder.params);
        let hidden = encoder.bert.hidden(&mut tape, input);
        let logits = encoder.bert.class_logits(&mut tape, &hidden, input);
        let mut probabilities = vec![0.0; logits.data().len()];
        softmax_forward(&mut probabilities, logits.data(), labels);
        found.extend(probabilities.chunks(labels).map(|row| Labelled { probabilities: row.to_vec() }));
        Ok(())
    })?;
    Ok(found)
}
