//! Encoders: embeddings, mask filling, classification.

use super::available;
use limpid::error::{EncodeError as E, InputProblem};

pub(super) fn hint(error: &E) -> Option<String> {
    Some(match error {
        E::NoClassificationHead => {
            "limpid train classify --data labelled.tsv --from MODEL fine-tunes it as a classifier"
                .into()
        }
        E::NoTokenClassificationHead => {
            "limpid train tag --data words.conll --from MODEL fine-tunes it to label words".into()
        }
        E::NoQuestionAnsweringHead => {
            "limpid train answer --data questions.json --from MODEL fine-tunes it to answer".into()
        }
        E::NoMaskedLmHead => "limpid train bert --data text.txt trains one that can".into(),
        E::NoMaskToken => "limpid tokenizer train … --for bert makes one that has; the model must \
                           be trained with it"
            .into(),
        E::TokenizerMismatch { .. } => "the tokenizer and the model do not belong together".into(),
        E::PromptOfCrossEncoder { .. } => {
            "put the prompt before query and texts yourself, and remove default_prompt_name".into()
        }
        E::UnknownPrompt { available, .. } => format!("it has: {}", available.join(", ")),
        E::Input { problem, .. } => return problem_hint(problem),
        _ => return None,
    })
}

/// What to do about a text that cannot be used.
pub fn problem_hint(problem: &InputProblem) -> Option<String> {
    Some(match problem {
        InputProblem::Empty => {
            "BERT's tokenizer.json puts [CLS] before a text: is it the right one?".into()
        }
        InputProblem::Pair => "give one text".into(),
        InputProblem::TooLong { .. } => shorten("it"),
        InputProblem::QuestionTooLong { .. } => {
            match &available(&["--doc-stride", "--max-seq-len"])[..] {
                "" => "shorten the question".into(),
                flags => format!("shorten the question, or set {flags}"),
            }
        }
        InputProblem::NoText { .. } => {
            "the answer to a question is a part of its context: give both".into()
        }
        InputProblem::NoMask { mask } => {
            format!("write {mask} where a word is missing: \"The cat {mask} on the mat\"")
        }
        _ => return None,
    })
}

/// What to do about texts that are too long: "it" or "them".
pub fn shorten(what: &str) -> String {
    match &available(&["--truncate"])[..] {
        "" => format!("shorten {what}"),
        flag => format!("shorten {what}; {flag} uses the beginning of a single text"),
    }
}
