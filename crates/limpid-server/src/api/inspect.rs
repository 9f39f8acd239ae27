//! Answers that open up: the optional field `inspect`.

use super::generation::Finished;
use super::{App, Caller};
use crate::engine::Pass;
use crate::http::Problem;
use limpid::generate::{BeamStep, Step, Trace};
use limpid::pipeline::Pipeline;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Candidates of a step that are listed at most.
const MAX_CANDIDATES: usize = 1_000;

/// What an answer is to be opened to.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Inspect {
    /// The trace of each step: how each token was selected, with so many candidates.
    pub trace: Option<usize>,
    /// The cross-attention of a translation.
    pub attention: bool,
    /// The word alignment of a translation.
    pub alignment: bool,
    /// Time by stage.
    pub timing: bool,
}

/// What was found inside.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Inspection {
    /// For each text, how each token was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    pub trace: Option<Vec<Vec<Step>>>,
    /// The steps of a beam search.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub beams: Vec<BeamStep>,
    /// Cross-attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attention>,
    /// Pairs (source word, target word), words counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Vec<usize>>>)]
    pub alignment: Option<Vec<(usize, usize)>>,
    /// Time by stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// Cross-attention of a translation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Attention {
    /// Tokens of the source, the end token last.
    pub source: Vec<String>,
    /// Tokens of the translation, the end token last.
    pub target: Vec<String>,
    /// The decoder layer, counted from 0: the one with the sharpest attention.
    pub layer: usize,
    /// Weights, a row for each target token; the mean over the heads.
    pub weights: Vec<Vec<f32>>,
}

/// Time by stage, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Timing {
    /// Until it was admitted: reading, tokenization.
    pub prepare_ms: f64,
    /// In the queue.
    pub queue_ms: f64,
    /// Generation.
    pub compute_ms: f64,
}

impl Inspect {
    /// How much of each step must be reported.
    /// # Errors
    /// A [`Problem`] for too many candidates.
    pub fn tracing(&self, otherwise: Trace) -> Result<Trace, Problem> {
        match self.trace {
            None => Ok(otherwise),
            Some(candidates) => {
                super::inputs::check_range("inspect", candidates, 0..=MAX_CANDIDATES)?;
                Ok(match otherwise {
                    Trace::Top(least) => Trace::Top(candidates.max(least)),
                    _ => Trace::Top(candidates),
                })
            }
        }
    }

    /// What is inside a finished generation; `source` is what a translator read.
    /// # Errors
    /// A [`Problem`] if the model has nothing of the kind.
    pub async fn open(
        self,
        app: &Arc<App>,
        caller: Caller,
        model: usize,
        finished: &Finished,
        source: Option<String>,
    ) -> Result<Inspection, Problem> {
        let mut found = Inspection {
            trace: self.trace.map(|_| finished.steps.clone()),
            beams: if self.trace.is_some() { finished.beam_steps.clone() } else { Vec::new() },
            timing: self.timing.then_some(finished.timing),
            ..Inspection::default()
        };
        if !self.attention && !self.alignment {
            return Ok(found);
        }
        let (Some(source), Pipeline::Translator(_)) = (source, &app.models.get(model).pipeline)
        else {
            let message = "only a translator has cross-attention and alignment";
            return Err(Problem::invalid(message).with_param("inspect"));
        };
        let Some(tokens) = finished.texts.first().map(|text| text.tokens.clone()) else {
            return Ok(found);
        };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let rows = finished.prompt_tokens + tokens.len() + 1;
        let call = move |served: &crate::models::ServedModel| {
            let Pipeline::Translator(translator) = &served.pipeline else { return };
            let look = || {
                let attention = self.attention.then(|| translator.attention(&source, &tokens));
                let alignment = self.alignment.then(|| translator.align(&source, &tokens));
                Ok::<_, limpid::error::Error>((attention.transpose()?, alignment.transpose()?))
            };
            let _ = sender.send(look());
        };
        let passes =
            app.engine.pass(app.origin(caller, model), vec![Pass::Call(rows, Box::new(call))])?;
        let looked = receiver.await.map_err(|_| crate::engine::JobError::Internal)?;
        drop(passes);
        let (attention, alignment) = looked?;
        found.attention = attention.map(|found| Attention {
            source: found.source,
            target: found.target,
            layer: found.layer,
            weights: found.weights,
        });
        found.alignment = alignment;
        Ok(found)
    }
}
