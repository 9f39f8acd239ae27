//! Datasets: what `train` can change about them.

use limpid::error::{DatasetError, SplitName};

pub(super) fn hint(error: &DatasetError) -> Option<String> {
    let text = match error {
        DatasetError::OneLabel { .. } => {
            "give examples of at least two classes; is data.label_column the right column?"
        }
        DatasetError::QuestionTooLong { tokens, stride, .. } => {
            return Some(format!(
                "--set model.context_length={}, or a smaller --set data.doc_stride=…",
                2 * (tokens + stride)
            ));
        }
        DatasetError::Empty { unit, .. } if unit == "lines" => {
            "empty lines do not count; --set data.unit=windows reads text without line ends"
        }
        DatasetError::Empty { unit, split: SplitName::Validation } if unit == "pairs" => {
            "give more pairs, or a larger --set model.context_length=…"
        }
        DatasetError::Empty { .. } => {
            "give more text; `pairs` needs a line after a line, `lines` lines that are not empty"
        }
        DatasetError::TooShort { found, .. } => {
            return Some(format!(
                "--set model.context_length={}, or more text",
                (found / 2).max(4)
            ));
        }
        DatasetError::ValidationTooShort { files, .. } if files.is_empty() => {
            "give more text, or a larger --set data.validation_split=0.1"
        }
        DatasetError::ValidationTooShort { .. } => {
            "data.validation_text names a text; without it a share of the training text is held out"
        }
        DatasetError::AllTooLong { key, .. } => {
            return Some(format!("a larger --set {key}=…, or shorter sentences"));
        }
        DatasetError::PairTooLong { tokens, .. } => {
            return Some(format!("drop long pairs, or set max_position_embeddings to {tokens}"));
        }
        DatasetError::IdOutOfRange { .. } => "the tokenizer and the model do not belong together",
        _ => return None,
    };
    Some(text.into())
}
