//! Evaluation of encoders: masked language modelling and classification.
//!
//! ```
//! use limpid::data::batch::{EncoderInput, LabelledBatch};
//! use limpid::eval::encoder::class_score;
//! use limpid::model::config::{EncoderConfig, EncoderHead};
//! use limpid::model::Model;
//!
//! let labels = ["bad", "good"].map(String::from).to_vec();
//! let head = EncoderHead::Classifier(labels.into());
//! let model = Model::new(EncoderConfig { head, ..EncoderConfig::new(10, 8, 1, 2, 8) }, 1)?;
//! let encoder = model.encoder().expect("an encoder");
//! let texts = [(vec![1, 5, 2], vec![0; 3]), (vec![1, 7, 8, 2], vec![0; 4])];
//! let batch = LabelledBatch { input: EncoderInput::new(&texts), labels: vec![0, 1].into() };
//! let (loss, confusion) = class_score((encoder, &model.params), [&batch]);
//! assert_eq!(loss.tokens, 2);
//! assert!((0.0..=1.0).contains(&confusion.accuracy()));
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::classification::ConfusionMatrix;
use super::loss::Loss;
use crate::data::batch::{LabelledBatch, MaskedBatch, Targets};
use crate::generate::argmax;
use crate::model::Encoder;
use limpid_tensor::kernels::softmax::log_sum_exp;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use std::borrow::Borrow;

/// Sums over masked tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaskedScore {
    /// The loss of the masked tokens.
    pub loss: Loss,
    /// Masked tokens that were predicted correctly.
    pub correct: usize,
    /// Next-sentence pairs, and how many of them were classified correctly.
    pub pairs: (usize, usize),
}

impl MaskedScore {
    /// The accuracy on masked tokens.
    pub fn accuracy(&self) -> f64 {
        self.correct as f64 / self.loss.tokens as f64
    }

    /// The accuracy of next-sentence prediction; none without pairs.
    pub fn pair_accuracy(&self) -> Option<f64> {
        let (pairs, known) = self.pairs;
        (pairs > 0).then(|| known as f64 / pairs as f64)
    }

    /// Adds a batch.
    pub fn add(&mut self, (bert, params): (&Encoder, &Params), batch: &MaskedBatch) {
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        // Some rows at a time: a row of logits is as long as the vocabulary.
        const ROWS: usize = 256;
        for (rows, targets) in batch.rows.chunks(ROWS).zip(batch.targets.chunks(ROWS)) {
            let logits = bert.word_logits(&mut tape, &hidden, &rows.into());
            for (i, target) in targets.iter().enumerate() {
                let row = logits.value().row(i);
                self.loss.sum += f64::from(log_sum_exp(row) - row[*target as usize]);
                self.correct += usize::from(argmax(row) == *target as usize);
            }
        }
        self.loss.tokens += batch.targets.len();
        if let Some(labels) = &batch.next_sentence_labels {
            let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
            let known = |i: &usize| argmax(logits.value().row(*i)) == labels[*i] as usize;
            self.pairs.0 += labels.len();
            self.pairs.1 += (0..labels.len()).filter(known).count();
        }
    }
}

/// The loss and the confusion matrix of a classifier with one label per text.
/// # Panics
/// If the targets are not label ids.
pub fn class_score(
    (bert, params): (&Encoder, &Params),
    batches: impl IntoIterator<Item = impl Borrow<LabelledBatch>>,
) -> (Loss, ConfusionMatrix) {
    let classes = bert.labels().map_or(0, <[String]>::len);
    let (mut loss, mut labels, mut predicted) = (Loss::default(), Vec::new(), Vec::new());
    for batch in batches {
        let batch: &LabelledBatch = batch.borrow();
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
        let Targets::Labels(targets) = &batch.labels else {
            panic!("a confusion matrix of targets that are not labels")
        };
        for (i, label) in targets.iter().enumerate() {
            let row = logits.value().row(i);
            loss.sum += f64::from(log_sum_exp(row) - row[*label as usize]);
            labels.push(*label as usize);
            predicted.push(argmax(row));
        }
        loss.tokens += targets.len();
    }
    let confusion =
        ConfusionMatrix::new(classes, &labels, &predicted).expect("one prediction per label");
    (loss, confusion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::batch::EncoderInput;
    use crate::model::Model;
    use crate::model::config::{EncoderConfig, EncoderHead};
    use limpid_tensor::ops::LossSpec;

    fn model(head: EncoderHead) -> Model {
        Model::new(&EncoderConfig { head, ..EncoderConfig::new(19, 8, 1, 2, 8) }, 3).unwrap()
    }

    #[test]
    fn the_loss_is_that_of_training_and_accuracy_counts_the_likeliest() {
        let model = model(EncoderHead::PreTraining);
        let bert = model.encoder().expect("an encoder");
        let input = EncoderInput::new(&[
            (vec![2, 5, 9, 3, 7, 3], vec![0, 0, 0, 0, 1, 1]),
            (vec![2, 11, 3], vec![0; 3]),
        ]);
        let batch = MaskedBatch {
            input,
            rows: [1, 4, 7].into(),
            targets: vec![6, 8, 4],
            next_sentence_labels: None,
            targets_per_sequence: None,
        };
        let mut score = MaskedScore::default();
        score.add((bert, &model.params), &batch);
        let mut tape = Tape::inference(&model.params);
        let loss = bert.masked_loss(&mut tape, &batch, LossSpec { smoothing: 0.0, weight: 1.0 });
        assert!(
            (score.loss.sum - f64::from(loss.data()[0])).abs() < 1e-4 && score.loss.tokens == 3
        );
        // With the most likely tokens as targets everything is correct.
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.word_logits(&mut tape, &hidden, &batch.rows);
        let targets = (0..3).map(|i| argmax(logits.value().row(i)) as u32).collect();
        let mut score = MaskedScore::default();
        score.add(
            (bert, &model.params),
            &MaskedBatch { targets, next_sentence_labels: Some(vec![0, 1]), ..batch.clone() },
        );
        assert_eq!((score.accuracy(), score.pairs.0), (1.0, 2));
        let said = bert.class_logits(&mut tape, &hidden, &batch.input);
        let known =
            [0, 1].map(|i| (argmax(said.value().row(i)) == i) as usize).iter().sum::<usize>();
        assert_eq!(score.pair_accuracy(), Some(known as f64 / 2.0));
    }

    #[test]
    fn the_loss_of_a_classifier_is_that_of_training() {
        let labels = ["a", "b", "c"].map(String::from).to_vec();
        let model = model(EncoderHead::Classifier(labels.into()));
        let bert = model.encoder().expect("an encoder");
        let batch = |ids: &[Vec<u32>], labels: &[u32]| LabelledBatch {
            input: EncoderInput::single(ids),
            labels: labels.to_vec().into(),
        };
        let batches =
            [batch(&[vec![2, 5, 3], vec![2, 7, 9, 3]], &[0, 2]), batch(&[vec![2, 3]], &[1])];
        let (loss, confusion) = class_score((bert, &model.params), &batches);
        let one = |batch: &LabelledBatch| {
            let spec = LossSpec { smoothing: 0.0, weight: 1.0 };
            f64::from(bert.class_loss(&mut Tape::inference(&model.params), batch, spec).data()[0])
        };
        assert!((loss.sum - batches.iter().map(one).sum::<f64>()).abs() < 1e-4);
        assert_eq!((confusion.support(0), confusion.support(1), confusion.support(2)), (1, 1, 1));
    }
}
