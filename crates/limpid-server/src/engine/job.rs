//! Jobs of the engine: what is computed, and who waits for it.

use crate::models::ServedModel;
use limpid::data::batch::EncodedText;
use limpid::encode::{MaskPredictions, Normalization};
use limpid::generate::{Generated, Step};
use limpid::pipeline::LabelScore;
use limpid_tensor::tensor::Tensor;
use std::sync::mpsc::SyncSender;
use tokio::sync::{mpsc, oneshot};

/// Why a job gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// Its deadline passed.
    #[error("the request took longer than its deadline")]
    Expired,
    /// Nobody waits for it.
    #[error("the request was cancelled")]
    Cancelled,
    /// The library refused it.
    #[error(transparent)]
    Library(#[from] limpid::error::Error),
    /// A panic, which is in the log.
    #[error("an internal error; the log has the details")]
    Internal,
}

/// What a generation tells while it runs.
pub enum GenerationEvent {
    /// It left the queue.
    Started(std::time::Instant),
    /// More text of a sample.
    Text {
        /// Which sample.
        sample: usize,
        /// The text.
        text: String,
    },
    /// How a token was selected; only with a trace.
    Step {
        /// Which sample.
        sample: usize,
        /// How.
        step: Step,
    },
    /// A step of a beam search; only with a trace.
    BeamStep(limpid::generate::BeamStep),
    /// The end: nothing follows.
    Done(Result<Vec<Generated>, JobError>),
}

/// Sends the events of a generation.
pub type EventSender = mpsc::UnboundedSender<GenerationEvent>;

/// Runs a generation with the sessions it is given, and sends its events.
pub type Generate = Box<dyn FnOnce(&super::RemoteSessions<'_>, &EventSender) + Send>;

/// One forward pass.
pub enum Pass {
    /// The embedding of a text.
    Embed(EncodedText, Normalization),
    /// The hidden states of a text.
    HiddenStates(EncodedText),
    /// The labels of a text or a pair.
    Classify(EncodedText),
    /// Tokens for the masks of a text.
    FillMask {
        /// The text.
        text: String,
        /// Its tokens.
        encoded: EncodedText,
        /// How many tokens for each mask.
        top: usize,
    },
    /// Anything else, which sends its answer itself: so many rows.
    Call(usize, Box<dyn FnOnce(&ServedModel) + Send>),
}

impl Pass {
    /// Rows of the pass.
    pub fn rows(&self) -> usize {
        match self {
            Pass::Embed((ids, _), _) | Pass::HiddenStates((ids, _)) | Pass::Classify((ids, _)) => {
                ids.len()
            }
            Pass::FillMask { encoded, .. } => encoded.0.len(),
            Pass::Call(rows, _) => *rows,
        }
    }
}

/// What a pass gives.
pub enum PassOutput {
    /// An embedding.
    Vector(Vec<f32>),
    /// Hidden states.
    Vectors(Vec<Vec<f32>>),
    /// Labels, the most likely first.
    Labels(Vec<LabelScore>),
    /// Predictions for each mask.
    Masks(Vec<MaskPredictions>),
    /// It sent its answer itself.
    Called,
}

/// Where the answer of a pass goes.
pub type PassSender = oneshot::Sender<Result<PassOutput, JobError>>;

/// What a thread of a generation is told.
pub(super) enum Reply {
    Opened,
    Logits(Tensor),
}

/// A job that was admitted and has not ended.
pub(super) enum Entry {
    Generation(GenerationEntry),
    Pass(Pass, PassSender),
}

pub(super) struct GenerationEntry {
    pub model: usize,
    pub events: EventSender,
    /// Until its thread starts.
    pub generate: Option<Generate>,
    /// The sources of sequences that it asked to open.
    pub open: Option<Vec<Vec<u32>>>,
    /// Selections since the last step.
    pub select: Vec<Vec<usize>>,
    /// What it asked to append to each sequence.
    pub tokens: Vec<Vec<u32>>,
    /// Where its thread waits.
    pub reply: Option<SyncSender<Reply>>,
}
