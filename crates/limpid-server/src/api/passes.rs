//! Texts of a request through an encoder: tokenized off the event loop, admitted together.

use super::generation::{at, blocking};
use super::inspect::Timing;
use super::{App, Caller};
use crate::engine::{JobError, Pass, PassOutput};
use crate::http::{Problem, ProblemKind};
use crate::models::{Models, ServedModel};
use limpid::data::batch::EncodedText;
use limpid::pipeline::{
    Classifier, Embedder, FillMask, Pipeline, QuestionAnswerer, Reranker, TokenClassifier,
};
use std::sync::Arc;
use std::time::Instant;

/// What a pass of a text is, once it is tokenized; or what is wrong with the text.
pub type Tokenized = Result<Pass, Problem>;

/// The answers to some texts, in their order, and the number of tokens they had.
pub struct Passed {
    /// An answer each.
    pub outputs: Vec<PassOutput>,
    /// Tokens of all.
    pub tokens: usize,
    /// What was read.
    pub read: Read,
}

/// Texts as a model read them, and how long it took.
pub struct Read {
    /// Token ids and token type ids of each.
    pub encoded: Vec<EncodedText>,
    /// Time by stage.
    pub timing: Timing,
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
    let begun = Instant::now();
    let models: Arc<Models> = Arc::clone(&app.models);
    let tokenized = blocking(move || {
        let (served, count) = (models.get(model), texts.len());
        let tokenize = |(i, text)| tokenize(served, text).map_err(|problem| at(problem, i, count));
        texts.into_iter().enumerate().map(tokenize).collect::<Result<Vec<Pass>, Problem>>()
    });
    let passes = tokenized.await??;
    let tokens = passes.iter().map(Pass::rows).sum();
    let encoded = passes.iter().filter_map(Pass::text).cloned().collect();
    app.metrics.tokens(&app.models.get(model).name, tokens, 0);
    let mut admitted = app.engine.pass(app.origin(caller, model), passes)?;
    let accepted = Instant::now();
    let mut started = None;
    let mut outputs = Vec::with_capacity(admitted.answers.len());
    for answer in admitted.answers.iter_mut() {
        let answered = answer.await.unwrap_or(Err(JobError::Internal))?;
        started.get_or_insert(answered.started);
        outputs.push(answered.output);
    }
    let timing = Timing::new(begun, accepted, started.unwrap_or(accepted));
    Ok(Passed { outputs, tokens, read: Read { encoded, timing } })
}

/// Runs something on the engine's thread that is no pass of its own kind: so many rows.
/// # Errors
/// Those of `call`, and a [`Problem`] if it is not admitted or gives no answer.
pub async fn call<T: Send + 'static>(
    app: &Arc<App>,
    caller: Caller,
    model: usize,
    rows: usize,
    call: impl FnOnce(&ServedModel) -> limpid::error::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let call = move |served: &ServedModel| _ = sender.send(call(served));
    let pass = Pass::Call(rows, Box::new(call));
    let mut admitted = app.engine.pass(app.origin(caller, model), vec![pass])?;
    match (&mut admitted.answers[0]).await.unwrap_or(Err(JobError::Internal)) {
        Ok(_) => Ok(receiver.await.map_err(|_| JobError::Internal)??),
        Err(error) => Err(error.into()),
    }
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

/// The reranker of a model.
pub fn reranker(model: &ServedModel) -> Option<&Reranker> {
    match &model.pipeline {
        Pipeline::Encoder { reranker, .. } => reranker.as_ref(),
        _ => None,
    }
}

/// The token classifier of a model.
pub fn tagger(model: &ServedModel) -> Option<&TokenClassifier> {
    match &model.pipeline {
        Pipeline::Encoder { tagger, .. } => tagger.as_ref(),
        _ => None,
    }
}

/// The question answerer of a model.
pub fn answerer(model: &ServedModel) -> Option<&QuestionAnswerer> {
    match &model.pipeline {
        Pipeline::Encoder { answerer, .. } => answerer.as_ref(),
        _ => None,
    }
}
