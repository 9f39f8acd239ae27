//! Evaluation of masked language models and of classifiers of texts and tokens.
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
//! let texts = [(vec![1, 5, 2], vec![0; 3]), (vec![1, 7, 8, 2], vec![0; 4])];
//! let batch = LabelledBatch { input: EncoderInput::new(&texts), labels: vec![0, 1].into() };
//! let (loss, confusion) = class_score((&model.stack, &model.params), [&batch]);
//! assert_eq!(loss.tokens, 2);
//! assert!((0.0..=1.0).contains(&confusion.accuracy()));
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::classification::ConfusionMatrix;
use super::entities::EntityScore;
use super::loss::Loss;
use super::multi_label::MultiLabelScore;
use super::regression;
use crate::data::batch::{LabelledBatch, MaskedBatch, TaggedBatch, Targets};
use crate::distributed::World;
use crate::error::Result;
use crate::generate::argmax;
use crate::model::{Encoder, Stack};
use limpid_tensor::kernels::cross_entropy::IGNORE;
use limpid_tensor::kernels::softmax::log_sum_exp;
use limpid_tensor::kernels::value_loss::ValueLoss;
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
    pub fn add(&mut self, model: (&Encoder, &Params), batch: &MaskedBatch) {
        self.add_measured(batch, &measure(model, batch));
    }

    /// The sums over batches, which the ranks of a world share.
    ///
    /// # Errors
    /// If another process is gone or does not answer.
    pub fn of(
        world: &mut World,
        model: (&Encoder, &Params),
        batches: impl IntoIterator<Item = MaskedBatch>,
    ) -> Result<Self> {
        let mut score = Self::default();
        let add = |batch: &MaskedBatch, measured: &[f32]| score.add_measured(batch, measured);
        world.share_out(batches, |batch| measure(model, batch), add)?;
        Ok(score)
    }

    fn add_measured(&mut self, batch: &MaskedBatch, measured: &[f32]) {
        let (tokens, pairs) = measured.split_at(2 * batch.targets.len());
        for [loss, correct] in tokens.as_chunks::<2>().0 {
            self.loss.sum += f64::from(*loss);
            self.correct += *correct as usize;
        }
        self.loss.tokens += batch.targets.len();
        self.pairs.0 += pairs.len();
        self.pairs.1 += pairs.iter().filter(|known| **known == 1.0).count();
    }
}

/// The loss of each masked token and whether it was predicted correctly (1, else 0), then whether
/// each next-sentence pair was.
fn measure((bert, params): (&Encoder, &Params), batch: &MaskedBatch) -> Vec<f32> {
    let flag = |is_correct: bool| f32::from(u8::from(is_correct));
    let mut measured = Vec::with_capacity(2 * batch.targets.len());
    let mut tape = Tape::inference(params);
    let hidden = bert.hidden(&mut tape, &batch.input);
    // Some rows at a time: a row of logits is as long as the vocabulary.
    const ROWS: usize = 256;
    for (rows, targets) in batch.rows.chunks(ROWS).zip(batch.targets.chunks(ROWS)) {
        let logits = bert.word_logits(&mut tape, &hidden, &rows.into());
        for (i, target) in targets.iter().enumerate() {
            let row = logits.value().row(i);
            let loss = log_sum_exp(row) - row[*target as usize];
            measured.extend([loss, flag(argmax(row) == *target as usize)]);
        }
    }
    if let Some(labels) = &batch.next_sentence_labels {
        let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
        let known = |i: usize| argmax(logits.value().row(i)) == labels[i] as usize;
        measured.extend((0..labels.len()).map(|i| flag(known(i))));
    }
    measured
}

/// The loss and the confusion matrix of a sequence classifier with one label per text.
/// # Panics
/// If the targets are not label ids, or there are none.
pub fn class_score(
    model: (&Stack, &Params),
    batches: impl IntoIterator<Item = impl Borrow<LabelledBatch>>,
) -> (Loss, ConfusionMatrix) {
    let classes = model.0.labels().map_or(0, |labels| labels.names.len());
    let (mut loss, mut labels, mut predicted) = (Loss::default(), Vec::new(), Vec::new());
    for_each_logits(model, batches, |batch, logits| {
        let Targets::Labels(targets) = &batch.labels else {
            panic!("a confusion matrix of targets that are not labels")
        };
        for (label, row) in targets.iter().zip(logits.chunks(classes)) {
            loss.sum += f64::from(log_sum_exp(row) - row[*label as usize]);
            labels.push(*label as usize);
            predicted.push(argmax(row));
        }
        loss.tokens += targets.len();
    });
    let confusion =
        ConfusionMatrix::new(classes, &labels, &predicted).expect("one prediction per label");
    (loss, confusion)
}

/// Predictions of a regression and their targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegressionScore {
    /// What the model predicted.
    pub predicted: Vec<f64>,
    /// What it should have.
    pub targets: Vec<f64>,
}

impl RegressionScore {
    /// The mean squared error, which is the loss.
    pub fn mean_squared_error(&self) -> f64 {
        regression::mean_squared_error(&self.predicted, &self.targets)
    }

    /// Pearson's correlation, where it is defined.
    pub fn pearson(&self) -> Option<f64> {
        regression::pearson(&self.predicted, &self.targets)
    }

    /// Spearman's correlation, where it is defined.
    pub fn spearman(&self) -> Option<f64> {
        regression::spearman(&self.predicted, &self.targets)
    }
}

/// The predictions of a regression.
/// # Panics
/// If the targets are label ids.
pub fn regression_score(
    model: (&Stack, &Params),
    batches: impl IntoIterator<Item = impl Borrow<LabelledBatch>>,
) -> RegressionScore {
    let mut score = RegressionScore::default();
    for_each_logits(model, batches, |batch, logits| {
        score.predicted.extend(logits.iter().map(|value| f64::from(*value)));
        score.targets.extend(values(batch).iter().map(|value| f64::from(*value)));
    });
    score
}

/// The loss of a classifier where several labels may apply, and its scores: a label is predicted
/// if its logit is positive, so that its probability is above one half.
/// # Panics
/// If the targets are label ids.
pub fn multi_label_score(
    model: (&Stack, &Params),
    batches: impl IntoIterator<Item = impl Borrow<LabelledBatch>>,
) -> (Loss, MultiLabelScore) {
    let labels = model.0.labels().map_or(0, |labels| labels.names.len());
    let (mut loss, mut score) = (Loss::default(), MultiLabelScore::new(labels));
    for_each_logits(model, batches, |batch, logits| {
        for (row, targets) in logits.chunks(labels).zip(values(batch).chunks(labels)) {
            let terms = row
                .iter()
                .zip(targets)
                .map(|(z, t)| f64::from(ValueLoss::BinaryCrossEntropy.value(*z, *t)));
            loss.sum += terms.sum::<f64>() / labels as f64;
            loss.tokens += 1;
            let is_positive = |values: &[f32], least: f32| {
                values.iter().map(|value| *value > least).collect::<Vec<bool>>()
            };
            score.add(&is_positive(row, 0.0), &is_positive(targets, 0.5));
        }
    });
    (loss, score)
}

/// The loss of a token classifier, and the scores of its labels: of entities, and of all.
/// # Panics
/// If the model is not a token classifier.
pub fn token_score(
    (bert, params): (&Encoder, &Params),
    batches: impl IntoIterator<Item = impl Borrow<TaggedBatch>>,
) -> (Loss, EntityScore) {
    let labels = bert.token_labels().expect("a token classifier");
    let (mut loss, mut score) = (Loss::default(), EntityScore::default());
    for batch in batches {
        let batch: &TaggedBatch = batch.borrow();
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.token_logits(&mut tape, &hidden);
        for span in batch.input.tokens.spans.iter() {
            let (mut predicted, mut correct) = (Vec::new(), Vec::new());
            let rows = span.start..span.start + span.len;
            for row in rows.filter(|row| batch.labels[*row] != IGNORE) {
                let (label, row) = (batch.labels[row] as usize, logits.value().row(row));
                loss.sum += f64::from(log_sum_exp(row) - row[label]);
                predicted.push(labels[argmax(row)].as_str());
                correct.push(labels[label].as_str());
            }
            loss.tokens += correct.len();
            score.add(&predicted, &correct);
        }
    }
    (loss, score)
}

fn values(batch: &LabelledBatch) -> &[f32] {
    match &batch.labels {
        Targets::Values(values) => values,
        Targets::Labels(_) => panic!("numbers were expected as targets, found label ids"),
    }
}

/// Calls `work` with each batch and the logits of its texts, row by row.
fn for_each_logits(
    (stack, params): (&Stack, &Params),
    batches: impl IntoIterator<Item = impl Borrow<LabelledBatch>>,
    mut work: impl FnMut(&LabelledBatch, &[f32]),
) {
    for batch in batches {
        let batch: &LabelledBatch = batch.borrow();
        let logits = stack.class_logits(&mut Tape::inference(params), &batch.input);
        work(batch, logits.data());
    }
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
        let (loss, confusion) = class_score((&model.stack, &model.params), &batches);
        let one = |batch: &LabelledBatch| {
            let spec = LossSpec { smoothing: 0.0, weight: 1.0 };
            f64::from(bert.class_loss(&mut Tape::inference(&model.params), batch, spec).data()[0])
        };
        assert!((loss.sum - batches.iter().map(one).sum::<f64>()).abs() < 1e-4);
        assert_eq!((confusion.support(0), confusion.support(1), confusion.support(2)), (1, 1, 1));
    }
}
