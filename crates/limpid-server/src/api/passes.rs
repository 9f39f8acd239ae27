//! Texts of a request through an encoder: tokenized off the event loop, admitted together.

use super::generation::{at, blocking};
use super::{App, Caller};
use crate::engine::{JobError, Pass, PassOutput};
use crate::http::{Problem, ProblemKind};
use crate::models::{Models, ServedModel};
use limpid::pipeline::{Classifier, Embedder, FillMask, Pipeline};
use std::sync::Arc;

/// What a pass of a text is, once it is tokenized; or what is wrong with the text.
pub type Tokenized = Result<Pass, Problem>;

/// The answers to some texts, in their order, and the number of tokens they had.
pub struct Passed {
    /// An answer each.
    pub outputs: Vec<PassOutput>,
    /// Tokens of all.
    pub tokens: usize,
}

/// Tokenizes texts, each on its own, and computes them.
/// # Errors
/// A [`Problem`] that names the text it is about.
pub async fn run<T: Send + 'static>(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    texts: Vec<T>,
    tokenize: impl Fn(&ServedModel, T) -> Tokenized + Send + 'static,
) -> Result<Passed, Problem> {
    let models: Arc<Models> = Arc::clone(&app.models);
    let tokenized = blocking(move || {
        let (served, count) = (models.get(model), texts.len());
        let tokenize = |(i, text)| tokenize(served, text).map_err(|problem| at(problem, i, count));
        texts.into_iter().enumerate().map(tokenize).collect::<Result<Vec<Pass>, Problem>>()
    });
    let passes = tokenized.await??;
    let tokens = passes.iter().map(Pass::rows).sum();
    app.metrics.tokens(&app.models.get(model).name, tokens, 0);
    let mut admitted = app.engine.pass(app.origin(caller, model), passes)?;
    let mut outputs = Vec::with_capacity(admitted.answers.len());
    for answer in admitted.answers.iter_mut() {
        let answer = answer.await.unwrap_or(Err(JobError::Internal));
        outputs.push(answer?);
    }
    Ok(Passed { outputs, tokens })
}

/// The answer was of another kind than asked for: a bug.
pub fn mixed_up() -> Problem {
    Problem::new(ProblemKind::Internal, "an internal error: an answer of another kind")
}

/// Whether a model gives embeddings.
pub fn embeds(model: &ServedModel) -> bool {
    embedder(model).is_some()
}

/// Whether a model classifies.
pub fn classifies(model: &ServedModel) -> bool {
    classifier(model).is_some()
}

/// Whether a model fills masks.
pub fn fills(model: &ServedModel) -> bool {
    fill_mask(model).is_some()
}

/// The embedder of a model.
pub fn embedder(model: &ServedModel) -> Option<&Embedder> {
    match &model.pipeline {
        Pipeline::Encoder { embedder, .. } => Some(embedder),
        _ => None,
    }
}

/// The classifier of a model.
pub fn classifier(model: &ServedModel) -> Option<&Classifier> {
    match &model.pipeline {
        Pipeline::Encoder { classifier, .. } => classifier.as_ref(),
        Pipeline::Classifier(classifier) => Some(classifier),
        _ => None,
    }
}

/// The masked language model of a model.
pub fn fill_mask(model: &ServedModel) -> Option<&FillMask> {
    match &model.pipeline {
        Pipeline::Encoder { fill_mask, .. } => fill_mask.as_ref(),
        _ => None,
    }
}
