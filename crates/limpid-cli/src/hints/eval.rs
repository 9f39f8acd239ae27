//! Evaluation.

use limpid::error::EvalError;

pub(super) fn hint(error: &EvalError) -> Option<String> {
    Some(match error {
        EvalError::NoHypotheses => "is the file empty?".into(),
        EvalError::CountMismatch { .. } | EvalError::SourceMismatch { .. } => {
            "an empty translation still needs its line".into()
        }
        EvalError::NoReference { .. } => "give every line at least one reference".into(),
        EvalError::TooLong { unit, .. } => format!("leave the {unit} out"),
        EvalError::TokenOutOfRange { .. } => {
            "the tokenizer and the model do not belong together".into()
        }
        _ => return None,
    })
}
