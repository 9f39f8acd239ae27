//! Evaluation of a model on the held-out examples of a dataset: loss, metrics and samples.
//!
//! ```no_run
//! use limpid::train::evaluate::validate;
//! use limpid::train::setup::{RunStart, open};
//! use limpid::train::RunConfig;
//!
//! let config = RunConfig::parse("task = 'gpt'\n[data]\ntext = 'a.txt'\n", &[])?;
//! let run = open(config, "runs/english".as_ref(), RunStart::Resume, &mut |_progress| {})?.run;
//! let found = validate(run.dataset(), run.model(), run.tokenizer())?;
//! println!("loss {:.3}, perplexity {:?}", found.loss, found.perplexity);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod best_metric;
mod samples;
mod test_scores;

pub(super) use samples::samples;
pub use test_scores::{ScoredSplit, TestScores};
pub(super) use test_scores::{score, scored_pairs};

use super::dataset::{
    Examples, LabelledExamples, QuestionExamples, RunDataset, TextExamples, TextSplit,
};
use crate::distributed::World;
use crate::encode::{TextEncoder, Truncation};
use crate::error::{Result, RunError};
use crate::eval::answers::{answer_loss, answer_score};
use crate::eval::encoder::{
    MaskedScore, class_score, multi_label_score, regression_score, token_score,
};
use crate::eval::loss::{Loss, pairs_loss_in, sequences_loss_in, text_loss_in};
use crate::eval::squad::AnswerScore;
use crate::model::config::ProblemType;
use crate::model::{Decoder, Encoder, Model, Stack};
use crate::report::Validation;
use crate::text::Tokenizer;
use limpid_tensor::params::Params;

/// Evaluates `model` on the validation split of `dataset`, without dropout and label smoothing:
/// loss and metrics, for a line of `metrics.jsonl`.
///
/// # Errors
/// [`RunError::EmptyValidation`] if there is nothing to predict; a text that cannot be used.
///
/// # Panics
/// If the model is of another task than the dataset.
pub fn validate(dataset: &RunDataset, model: &Model, tokenizer: &Tokenizer) -> Result<Validation> {
    validate_in(&mut World::single(), dataset, model, tokenizer)
}

/// The same on all ranks of a world: the batches of language models, translators and masked
/// language models are shared out, those of classifiers are evaluated by every rank. Every rank
/// gets the same result.
pub(super) fn validate_in(
    world: &mut World,
    dataset: &RunDataset,
    model: &Model,
    tokenizer: &Tokenizer,
) -> Result<Validation> {
    let params = &model.params;
    let mut found = Validation::default();
    let loss = match (&dataset.examples, &model.stack) {
        (Examples::Text(text), Stack::Decoder(gpt)) => {
            let loss = validation_loss(world, text, (gpt, params))?;
            found.bits_per_character = Some(loss.bits_per_character(text.characters_per_token));
            loss
        }
        (Examples::Pairs(pairs), stack) => {
            let model = stack.translator().expect("pairs are for an encoder-decoder");
            pairs_loss_in(world, (model, params), pairs.validation())?
        }
        (Examples::Masked(masked), Stack::Encoder(bert)) => {
            let score = MaskedScore::of(world, (bert, params), masked.validation_batches())?;
            found.accuracy = Some(score.accuracy());
            found.pair_accuracy = score.pair_accuracy();
            score.loss
        }
        (Examples::Labelled(labelled), stack) => {
            label_scores(labelled, (stack, params), &mut found)
        }
        (Examples::Tagged(tagged), Stack::Encoder(bert)) => {
            let (loss, score) = token_score((bert, params), tagged.validation_batches());
            found.accuracy = Some(score.accuracy());
            found.f1 = Some(score.overall().f1);
            loss
        }
        (Examples::Questions(questions), Stack::Encoder(bert)) => {
            let score = answer_scores(questions, (bert, params), tokenizer)?;
            found.f1 = Some(score.f1());
            found.exact_match = Some(score.exact_match());
            answer_loss((bert, params), questions.validation_batches())
        }
        _ => panic!("the dataset is of another task than the model"),
    };
    if loss.tokens == 0 {
        return Err(RunError::EmptyValidation.into());
    }
    found.loss = loss.mean();
    // Perplexity is a measure of language models, not of classifiers.
    found.perplexity = dataset.examples.is_language().then(|| found.loss.exp());
    Ok(found)
}

/// The loss of a classifier, and the metrics of its problem.
fn label_scores(
    labelled: &LabelledExamples,
    model: (&Stack, &Params),
    found: &mut Validation,
) -> Loss {
    let batches = labelled.validation_batches();
    match labelled.problem() {
        ProblemType::SingleLabel => {
            let (loss, confusion) = class_score(model, batches);
            found.accuracy = Some(confusion.accuracy());
            found.macro_f1 = Some(confusion.macro_mean().f1);
            loss
        }
        ProblemType::Regression => {
            let score = regression_score(model, batches);
            (found.pearson, found.spearman) = (score.pearson(), score.spearman());
            let tokens = score.targets.len();
            Loss { sum: score.mean_squared_error() * tokens as f64, tokens }
        }
        ProblemType::MultiLabel => {
            let (loss, score) = multi_label_score(model, batches);
            found.accuracy = Some(score.accuracy());
            found.micro_f1 = Some(score.micro().f1);
            found.macro_f1 = Some(score.macro_mean().f1);
            loss
        }
    }
}

fn validation_loss(
    world: &mut World,
    text: &TextExamples,
    model: (&Decoder, &Params),
) -> Result<Loss> {
    match &text.validation {
        TextSplit::Windows(windows) => {
            let ids = |part| windows.slice(part);
            text_loss_in(world, model, ids, 0..windows.len(), text.context)
        }
        TextSplit::Lines(lines) => sequences_loss_in(world, model, lines.sequences()),
    }
}

/// Exact match and F1 of the answers to the validation questions, in the windows of the training.
fn answer_scores(
    questions: &QuestionExamples,
    (model, params): (&Encoder, &Params),
    tokenizer: &Tokenizer,
) -> Result<AnswerScore> {
    let truncation = Truncation::Error;
    let encoder = TextEncoder { model, weights: params.into(), tokenizer, truncation };
    answer_score(&encoder, questions.questions(), questions.options())
}
