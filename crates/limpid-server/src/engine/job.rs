//! Jobs of the engine: what is computed, and who waits for it.

use crate::models::ServedModel;
use limpid::data::batch::EncodedText;
use limpid::encode::{MaskPredictions, Normalization};
use limpid::generate::{Event, Generated, KvFormat, PreparedGeneration, Step};
use limpid::pipeline::{LabelScore, Relevance};
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
    /// Keys and values in another format than those of the engine.
    #[error("kv_cache_dtype {0} is not served: all requests share keys and values in f32")]
    KvFormat(KvFormat),
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

/// Hands an event on; an error if nobody listens any more, which ends the generation.
pub(super) fn forward(event: Event, events: &EventSender) -> limpid::error::Result<()> {
    let sent = match event {
        Event::Text { sample, text, .. } => {
            events.send(GenerationEvent::Text { sample, text: text.to_string() })
        }
        Event::Step { sample, step, .. } => {
            events.send(GenerationEvent::Step { sample, step: step.clone() })
        }
        Event::BeamStep { step, .. } => events.send(GenerationEvent::BeamStep(step.clone())),
    };
    sent.map_err(|_| limpid::error::Error::Interrupted)
}

/// Whether the events of a generation before its end are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// Text and steps as they appear.
    Events,
    /// Only the end.
    End,
}

/// One forward pass.
pub enum Pass {
    /// The embedding of a text.
    Embed(EncodedText, Normalization),
    /// The hidden states of a text.
    HiddenStates(EncodedText),
    /// The labels of a text or a pair.
    Classify(EncodedText),
    /// The relevance of a text to a query.
    Rerank(EncodedText),
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
    /// The text it reads.
    pub fn text(&self) -> Option<&EncodedText> {
        match self {
            Pass::Embed(text, _)
            | Pass::HiddenStates(text)
            | Pass::Classify(text)
            | Pass::Rerank(text)
            | Pass::FillMask { encoded: text, .. } => Some(text),
            Pass::Call(..) => None,
        }
    }

    /// Rows of the pass.
    pub fn rows(&self) -> usize {
        match self {
            Pass::Call(rows, _) => *rows,
            pass => pass.text().map_or(0, |(ids, _)| ids.len()),
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
    /// A relevance.
    Relevance(Relevance),
    /// Predictions for each mask.
    Masks(Vec<MaskPredictions>),
    /// It sent its answer itself.
    Called,
}

/// The answer of a pass.
pub struct Answered {
    /// What it gives.
    pub output: PassOutput,
    /// When it left the queue.
    pub started: std::time::Instant,
}

/// Where the answer of a pass goes.
pub type PassSender = oneshot::Sender<Result<Answered, JobError>>;

/// A job that was admitted and has not ended.
pub(super) enum Entry {
    Generation(Box<GenerationEntry>),
    Pass(Pass, PassSender),
}

pub(super) struct GenerationEntry {
    pub model: usize,
    pub client: u64,
    pub events: EventSender,
    pub listening: Listening,
    /// Until it starts.
    pub prepared: Option<PreparedGeneration>,
}
