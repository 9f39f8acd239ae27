//! Evaluation of extractive question answering.
//!
//! ```text
//! answer = argmax over spans of p(first token)·p(last token)      exact match, F1: over its words
//! loss   = −(ln p(first token) + ln p(last token)) / 2            mean over the windows
//! ```

use super::loss::Loss;
use super::squad::AnswerScore;
use crate::data::batch::AnswerBatch;
use crate::data::questions::Question;
use crate::encode::{AnswerOptions, Impossible, TextEncoder, answers};
use crate::error::Result;
use crate::model::Encoder;
use limpid_tensor::params::Params;
use limpid_tensor::tape::Tape;

/// Maximum number of tokens of an answer that is scored, as in the examples of `transformers`.
pub const MAX_ANSWER_LEN: usize = 30;

/// Questions that are answered at a time.
const AT_A_TIME: usize = 32;

/// Exact match and F1 of the best answers. There may be none if one of the questions has none.
/// # Errors
/// Those of [`answers`].
pub fn answer_score(
    encoder: &TextEncoder,
    questions: &[Question],
    options: AnswerOptions,
) -> Result<AnswerScore> {
    let impossible = match questions.iter().any(|question| question.answers().is_empty()) {
        true => Impossible::Allowed,
        false => options.impossible,
    };
    let options = AnswerOptions { top_k: 1, impossible, ..options };
    let mut score = AnswerScore::default();
    for group in questions.chunks(AT_A_TIME) {
        let texts: Vec<(&str, &str)> =
            group.iter().map(|one| (one.question.as_str(), &*one.context)).collect();
        for (question, found) in group.iter().zip(answers(encoder, &texts, options)?) {
            let best = found.first().map_or("", |answer| answer.answer.as_str());
            let correct: Vec<&str> =
                question.answers().iter().map(|(text, _)| text.as_str()).collect();
            score.add(best, &correct);
        }
    }
    Ok(score)
}

/// The mean loss of windows: of each the mean over the first and the last token of the answer.
pub fn answer_loss(
    (model, params): (&Encoder, &Params),
    batches: impl Iterator<Item = AnswerBatch>,
) -> Loss {
    let mut loss = Loss::default();
    for batch in batches {
        let sum = model.answer_loss(&mut Tape::inference(params), &batch, 1.0);
        loss.sum += f64::from(sum.data()[0]);
        loss.tokens += batch.answers.len();
    }
    loss
}
