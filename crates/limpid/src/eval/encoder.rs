//! How good an encoder is: at words that were masked, at labels.

use super::classification::Confusion;
use super::loss::Loss;
use crate::data::batch::{LabelledBatch, MaskedBatch};
use crate::decode::argmax;
use crate::model::Bert;
use limpid_tensor::kernels::softmax::log_sum_exp;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;
use std::borrow::Borrow;

/// Sums over masked places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaskedScore {
    /// Of the words.
    pub loss: Loss,
    /// Places at which the likeliest word is the right one.
    pub right: usize,
    /// Sequences of two texts, and for how many of them it was known whether the second follows the first.
    pub order: (usize, usize),
}

impl MaskedScore {
    /// The part of the places at which the likeliest word is the right one.
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.loss.tokens as f64
    }

    /// The part of the pairs of texts of which it was known whether the second follows the first; none if there were no pairs.
    pub fn pair_accuracy(&self) -> Option<f64> {
        let (pairs, known) = self.order;
        (pairs > 0).then(|| known as f64 / pairs as f64)
    }

    /// Adds a batch.
    pub fn add(&mut self, (bert, params): (&Bert, &Params), batch: &MaskedBatch) {
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        // Some rows at a time: a row of scores is as long as the vocabulary.
        const ROWS: usize = 256;
        for (rows, targets) in batch.rows.chunks(ROWS).zip(batch.targets.chunks(ROWS)) {
            let logits = bert.word_logits(&mut tape, &hidden, &rows.into());
            for (i, target) in targets.iter().enumerate() {
                let row = logits.value().row(i);
                self.loss.sum += f64::from(log_sum_exp(row) - row[*target as usize]);
                self.right += usize::from(argmax(row) == *target as usize);
            }
        }
        self.loss.tokens += batch.targets.len();
        if let Some(follows) = &batch.follows {
            let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
            let known = |i: &usize| argmax(logits.value().row(*i)) == follows[*i] as usize;
            self.order.0 += follows.len();
            self.order.1 += (0..follows.len()).filter(known).count();
        }
    }
}

/// The loss of a classifier, and what it took for what.
pub fn class_score(
    (bert, params): (&Bert, &Params),
    batches: impl IntoIterator<Item = impl Borrow<LabelledBatch>>,
) -> (Loss, Confusion) {
    let classes = bert.labels().map_or(0, <[String]>::len);
    let (mut loss, mut right, mut said) = (Loss::default(), Vec::new(), Vec::new());
    for batch in batches {
        let batch: &LabelledBatch = batch.borrow();
        let mut tape = Tape::inference(params);
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.class_logits(&mut tape, &hidden, &batch.input);
        for (i, label) in batch.labels.iter().enumerate() {
            let row = logits.value().row(i);
            loss.sum += f64::from(log_sum_exp(row) - row[*label as usize]);
            right.push(*label as usize);
            said.push(argmax(row));
        }
        loss.tokens += batch.labels.len();
    }
    let confusion =
        Confusion::new(classes, &right, &said).expect("as many answers as questions, one at least");
    (loss, confusion)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{BertConfig, BertHead};
    use crate::data::batch::Typed;
    use crate::model::{Architecture, Model};
    use limpid_tensor::ops::LossSpec;

    fn model(head: BertHead) -> Model {
        Model::bert(&BertConfig { head, ..BertConfig::new(19, 8, 1, 2, 8) }, 3).unwrap()
    }

    #[test]
    fn the_loss_is_that_of_training_and_accuracy_counts_the_likeliest() {
        let model = model(BertHead::PreTraining);
        let Architecture::Bert(bert) = &model.architecture else { unreachable!() };
        let input =
            Typed::new(&[(vec![2, 5, 9, 3, 7, 3], vec![0, 0, 0, 0, 1, 1]), (vec![2, 11, 3], vec![0; 3])]);
        let batch = MaskedBatch {
            input,
            rows: [1, 4, 7].into(),
            targets: vec![6, 8, 4],
            follows: None,
            asked_a_sequence: None,
        };
        let mut score = MaskedScore::default();
        score.add((bert, &model.params), &batch);
        let mut tape = Tape::inference(&model.params);
        let loss = bert.masked_loss(&mut tape, &batch, LossSpec { smoothing: 0.0, weight: 1.0 });
        assert!((score.loss.sum - f64::from(loss.data()[0])).abs() < 1e-4 && score.loss.tokens == 3);
        // With the likeliest words as targets everything is right.
        let hidden = bert.hidden(&mut tape, &batch.input);
        let logits = bert.word_logits(&mut tape, &hidden, &batch.rows);
        let targets = (0..3).map(|i| argmax(logits.value().row(i)) as u32).collect();
        let mut score = MaskedScore::default();
        score
            .add((bert, &model.params), &MaskedBatch { targets, follows: Some(vec![0, 1]), ..batch.clone() });
        assert_eq!((score.accuracy(), score.order.0), (1.0, 2));
        let said = bert.class_logits(&mut tape, &hidden, &batch.input);
        let known = [0, 1].map(|i| (argmax(said.value().row(i)) == i) as usize).iter().sum::<usize>();
        assert_eq!(score.pair_accuracy(), Some(known as f64 / 2.0));
    }

    #[test]
    fn the_loss_of_a_classifier_is_that_of_training() {
        let labels = ["a", "b", "c"].map(String::from).to_vec();
        let model = model(BertHead::Classifier(labels));
        let Architecture::Bert(bert) = &model.architecture else { unreachable!() };
        let batch = |ids: &[Vec<u32>], labels: &[u32]| LabelledBatch {
            input: Typed::single(ids),
            labels: labels.to_vec(),
        };
        let batches = [batch(&[vec![2, 5, 3], vec![2, 7, 9, 3]], &[0, 2]), batch(&[vec![2, 3]], &[1])];
        let (loss, confusion) = class_score((bert, &model.params), &batches);
        let one = |batch: &LabelledBatch| {
            let spec = LossSpec { smoothing: 0.0, weight: 1.0 };
            f64::from(bert.class_loss(&mut Tape::inference(&model.params), batch, spec).data()[0])
        };
        assert!((loss.sum - batches.iter().map(one).sum::<f64>()).abs() < 1e-4);
        assert_eq!((confusion.support(0), confusion.support(1), confusion.support(2)), (1, 1, 1));
    }
}
