//! Evaluation of a model on the held-out examples of a dataset: loss, metrics and samples.

mod best_metric;
mod samples;
mod test_scores;

pub(super) use samples::samples;
pub(super) use test_scores::Scoring;
pub use test_scores::{ScoredSplit, TestScores};

use super::dataset::{RunDataset, TextDataset, ValidationText};
use crate::eval::encoder::{MaskedScore, class_score};
use crate::eval::loss::{Loss, pairs_loss, sequences_loss, text_loss};
use crate::model::{Decoder, Model, Stack};
use limpid_tensor::params::Params;

/// Loss and metrics of a model on the validation split, without dropout and label smoothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Validation {
    /// Cross-entropy loss in nats per token; of a classifier, per text.
    pub loss: f64,
    /// Terms of the loss.
    pub tokens: usize,
    /// The loss in bits per character, of a language model.
    pub bits_per_character: Option<f64>,
    /// Share of masked tokens, or of labels, that are predicted correctly.
    pub accuracy: Option<f64>,
    /// Macro F1 over the labels.
    pub macro_f1: Option<f64>,
    /// Accuracy of next-sentence prediction.
    pub pair_accuracy: Option<f64>,
}

/// Evaluates `model` on the validation split of `dataset`.
///
/// # Panics
/// If the model is of another task than the dataset.
pub fn validate(dataset: &RunDataset, model: &Model) -> Validation {
    let params = &model.params;
    match (dataset, &model.stack) {
        (RunDataset::Text(text), Stack::Decoder(gpt)) => {
            let loss = validation_loss(text, (gpt, params));
            let bits = loss.bits_per_character(text.characters_per_token());
            Validation { bits_per_character: Some(bits), ..of_loss(&loss) }
        }
        (RunDataset::Pairs(pairs), stack) => {
            let model = stack.translator().expect("pairs are for an encoder-decoder");
            of_loss(&pairs_loss((model, params), pairs.validation()))
        }
        (RunDataset::Masked(masked), Stack::Encoder(bert)) => {
            let mut score = MaskedScore::default();
            masked.validation_batches().for_each(|batch| score.add((bert, params), &batch));
            Validation {
                accuracy: Some(score.accuracy()),
                pair_accuracy: score.pair_accuracy(),
                ..of_loss(&score.loss)
            }
        }
        (RunDataset::Labelled(labelled), Stack::Encoder(bert)) => {
            let (loss, confusion) = class_score((bert, params), labelled.validation_batches());
            let (accuracy, f1) = (confusion.accuracy(), confusion.macro_mean().f1);
            Validation { accuracy: Some(accuracy), macro_f1: Some(f1), ..of_loss(&loss) }
        }
        _ => panic!("the dataset is of another task than the model"),
    }
}

fn of_loss(loss: &Loss) -> Validation {
    Validation { loss: loss.mean(), tokens: loss.tokens, ..Validation::default() }
}

fn validation_loss(text: &TextDataset, model: (&Decoder, &Params)) -> Loss {
    match text.validation() {
        ValidationText::Stream { file, range } => {
            text_loss(model, |part| file.slice(part), range, text.context())
        }
        ValidationText::Documents(documents) => sequences_loss(model, documents),
    }
}
