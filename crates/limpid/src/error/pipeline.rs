//! Errors of the facade: a model that was made for another task.

use std::fmt;
use std::path::PathBuf;

/// A folder whose model cannot do what it was loaded for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The model was made for another task.
    #[error("{} holds {found}: it cannot {task}", path.display())]
    WrongModel {
        /// The model folder.
        path: PathBuf,
        /// What kind of model it holds.
        found: &'static str,
        /// The task it was loaded for.
        task: Task,
        /// The task that it was made for.
        made_for: Task,
    },
    /// Sources for a language model, or none for a translator.
    #[error("{found} scores {expected}")]
    WrongScorerInput {
        /// What kind of model it is.
        found: &'static str,
        /// What it scores: "texts" or "targets given their sources".
        expected: &'static str,
    },
}

/// What a model can be loaded for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Task {
    /// Continue a text.
    Generation,
    /// Text to text: translation, summarization.
    Translation,
    /// One vector per text.
    Embedding,
    /// Words for masks.
    FillMask,
    /// A label per text.
    Classification,
    /// Log-probabilities of given texts.
    Scoring,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Task::Generation => "generate text",
            Task::Translation => "translate",
            Task::Embedding => "produce embeddings",
            Task::FillMask => "fill a mask",
            Task::Classification => "classify",
            Task::Scoring => "score texts",
        })
    }
}
