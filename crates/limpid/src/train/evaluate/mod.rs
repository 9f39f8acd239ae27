//! Evaluation of a model on the held-out examples of a dataset: loss, metrics and samples.
//!
//! ```no_run
//! use limpid::train::evaluate::validate;
//! use limpid::train::setup::{RunStart, open};
//! use limpid::train::RunConfig;
//!
//! let config = RunConfig::parse("task = 'gpt'\n[data]\ntext = 'a.txt'\n", &[])?;
//! let run = open(config, "runs/english".as_ref(), RunStart::Resume, &mut |_progress| {})?.run;
//! let found = validate(run.dataset(), run.model())?;
//! println!("loss {:.3}, perplexity {:?}", found.loss, found.perplexity);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod best_metric;
mod samples;
mod test_scores;

pub(super) use samples::samples;
pub use test_scores::{ScoredSplit, TestScores};
pub(super) use test_scores::{score, scored_pairs};

use super::dataset::{Examples, RunDataset, TextExamples, TextSplit};
use crate::error::RunError;
use crate::eval::encoder::{MaskedScore, class_score};
use crate::eval::loss::{Loss, pairs_loss, sequences_loss, text_loss};
use crate::model::{Decoder, Model, Stack};
use crate::report::Validation;
use limpid_tensor::params::Params;

/// Evaluates `model` on the validation split of `dataset`, without dropout and label smoothing:
/// loss and metrics, for a line of `metrics.jsonl`.
///
/// # Errors
/// [`RunError::EmptyValidation`] if there is nothing to predict.
///
/// # Panics
/// If the model is of another task than the dataset.
pub fn validate(dataset: &RunDataset, model: &Model) -> Result<Validation, RunError> {
    let params = &model.params;
    let mut found = Validation::default();
    let loss = match (&dataset.examples, &model.stack) {
        (Examples::Text(text), Stack::Decoder(gpt)) => {
            let loss = validation_loss(text, (gpt, params));
            found.bits_per_character = Some(loss.bits_per_character(text.characters_per_token));
            loss
        }
        (Examples::Pairs(pairs), stack) => {
            let model = stack.translator().expect("pairs are for an encoder-decoder");
            pairs_loss((model, params), pairs.validation())
        }
        (Examples::Masked(masked), Stack::Encoder(bert)) => {
            let mut score = MaskedScore::default();
            masked.validation_batches().for_each(|batch| score.add((bert, params), &batch));
            found.accuracy = Some(score.accuracy());
            found.pair_accuracy = score.pair_accuracy();
            score.loss
        }
        (Examples::Labelled(labelled), Stack::Encoder(bert)) => {
            let (loss, confusion) = class_score((bert, params), labelled.validation_batches());
            found.accuracy = Some(confusion.accuracy());
            found.macro_f1 = Some(confusion.macro_mean().f1);
            loss
        }
        _ => panic!("the dataset is of another task than the model"),
    };
    if loss.tokens == 0 {
        return Err(RunError::EmptyValidation);
    }
    found.loss = loss.mean();
    // Perplexity is a measure of language models, not of classifiers.
    found.perplexity = found.macro_f1.is_none().then(|| found.loss.exp());
    Ok(found)
}

fn validation_loss(text: &TextExamples, model: (&Decoder, &Params)) -> Loss {
    match &text.validation {
        TextSplit::Windows(windows) => {
            text_loss(model, |part| windows.slice(part), 0..windows.len(), text.context)
        }
        TextSplit::Lines(lines) => sequences_loss(model, lines.sequences()),
    }
}
