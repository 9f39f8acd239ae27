//! Models that were made for another task.

use limpid::error::{PipelineError as E, Task};

pub(super) fn hint(error: &E) -> Option<String> {
    let E::WrongModel { task, made_for, .. } = error else { return None };
    let trained_by = match task {
        Task::Generation => "`limpid train gpt --data text.txt` trains a language model",
        Task::Translation => "`limpid demo` trains a translator",
        Task::Embedding => "`limpid train bert --data text.txt` trains an encoder",
        Task::FillMask => "`limpid train bert --data text.txt` trains an encoder that can",
        Task::Classification => {
            "`limpid train classify --data labelled.tsv --from MODEL` fine-tunes an encoder"
        }
        Task::TokenClassification => {
            "`limpid train tag --data words.conll --from MODEL` fine-tunes an encoder"
        }
        Task::QuestionAnswering => {
            "`limpid train answer --data questions.json --from MODEL` fine-tunes an encoder"
        }
        Task::Reranking => "it needs a sequence classifier with one label, as cross-encoders have",
        _ => return Some(format!("`limpid {}` uses this one", verb_of(*made_for))),
    };
    Some(format!("{trained_by}; `limpid {}` uses this one", verb_of(*made_for)))
}

/// The command for a task.
pub fn verb_of(task: Task) -> &'static str {
    match task {
        Task::Translation => "translate",
        Task::Embedding => "embed",
        Task::FillMask => "fill-mask",
        Task::Classification => "classify",
        Task::TokenClassification => "tag",
        Task::QuestionAnswering => "answer",
        Task::Reranking => "rerank",
        _ => "generate",
    }
}
