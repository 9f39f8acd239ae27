//! `POST /v1/completions`: a language model continues prompts.

use super::generation::{self, Finished, Running, finish_reason};
use super::inputs::{Item, TextOrTokens, check_range};
use super::inspect::{Inspect, Inspection};
use super::logprobs::{Logprobs, PromptScores};
use super::passes;
use super::sampling::{Sampling, Usage, neutral};
use super::sse::{self, Frames, Left};
use super::{App, Caller, reply};
use crate::engine::GenerationEvent;
use crate::http::{Dialect, OpenAiProblem, Problem};
use crate::models::{ServedModel, ServedTask};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use limpid::inspect::prompt_scores;
use limpid::model::Stack;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// New tokens if the request does not say: OpenAI's default.
const DEFAULT_NEW_TOKENS: usize = 16;
/// Log-probabilities per token.
const MAX_LOGPROBS: usize = 5;

/// Prompts and how to continue them.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct CompletionRequest {
    /// The model's name; without one, the first that generates text.
    pub model: Option<String>,
    /// Text, texts, token ids, or lists of token ids.
    pub prompt: TextOrTokens,
    /// New tokens, 16 by default.
    pub max_tokens: Option<usize>,
    /// Only equal to n.
    pub best_of: Option<usize>,
    /// Put the prompt before the text.
    pub echo: Option<bool>,
    /// Log-probabilities of the generated tokens, with so many of the most likely ones: 0 to 5.
    pub logprobs: Option<usize>,
    /// Only empty.
    pub suffix: Option<String>,
    /// How texts are generated.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// What the answer is to be opened to.
    pub inspect: Option<Inspect>,
}

/// One text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CompletionChoice {
    /// Its number: that of the prompt times n, and that of the sample.
    pub index: usize,
    /// The text, or in a stream more of it.
    pub text: String,
    /// Log-probabilities of its tokens.
    pub logprobs: Option<Logprobs>,
    /// `stop` or `length`.
    pub finish_reason: Option<&'static str>,
}

/// The texts of a request, or a piece of one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Completion {
    /// Its name.
    pub id: String,
    /// `text_completion`
    pub object: &'static str,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// The model's name.
    pub model: String,
    /// What the bits of the answer depend on: files, version, instruction set.
    pub system_fingerprint: String,
    /// The texts.
    pub choices: Vec<CompletionChoice>,
    /// Tokens; in a stream only at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What was found inside, for each prompt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inspect: Vec<Inspection>,
}

/// Continues prompts.
#[utoipa::path(post, path = "/v1/completions", tag = "OpenAI",
    request_body = CompletionRequest, responses((status = 200, body = Completion)))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, OpenAiProblem> {
    let request: CompletionRequest = app.payload(request).await?.json()?;
    let generates = |model: &ServedModel| model.task() == ServedTask::TextGeneration;
    let model = app.model(caller, request.model.as_deref(), generates, "generate text")?;
    let items = request.prompt.clone().items("prompt")?;
    let mut spec = request.sampling.spec(request.max_tokens, request.logprobs)?;
    spec.default_new_tokens = Some(DEFAULT_NEW_TOKENS);
    request.check()?;
    if let Some(inspect) = &request.inspect {
        inspect.check(app.models.get(model))?;
        spec.trace = inspect.tracing(spec.trace)?;
        neutral("inspect", !request.sampling.streams())?;
    }
    neutral("logprobs", request.logprobs.is_none() || !request.sampling.streams())?;
    spec.streams = request.sampling.streams();
    let running = generation::start(&app, caller, model, items, spec).await?;
    let answer = Answer { app, caller, model, id: format!("cmpl-{}", caller.id), request };
    match answer.request.sampling.streams() {
        true => Ok(sse::stream(move |frames| async move { answer.stream(running, frames).await })),
        false => Ok(answer.collect(running).await?),
    }
}

impl CompletionRequest {
    fn check(&self) -> Result<(), Problem> {
        check_range("logprobs", self.logprobs.unwrap_or(0), 0..=MAX_LOGPROBS)?;
        neutral("best_of", self.best_of.is_none_or(|best| best == self.sampling.texts()))?;
        neutral("suffix", self.suffix.as_ref().is_none_or(String::is_empty))
    }
}

/// A request that was admitted.
struct Answer {
    app: Arc<App>,
    caller: Caller,
    model: usize,
    id: String,
    request: CompletionRequest,
}

impl Answer {
    fn served(&self) -> &ServedModel {
        self.app.models.get(self.model)
    }

    fn completion(&self, choices: Vec<CompletionChoice>, usage: Option<Usage>) -> Completion {
        let served = self.served();
        Completion {
            id: self.id.clone(),
            object: "text_completion",
            created: super::unix_seconds(),
            model: served.name.clone(),
            system_fingerprint: served.fingerprint.clone(),
            choices,
            usage,
            inspect: Vec::new(),
        }
    }

    /// What stands before the texts of a prompt.
    fn echo(&self, prompt: &[u32], item: Option<&Item>) -> Result<String, Problem> {
        match (self.request.echo, item) {
            (Some(true), Some(Item::Text(text))) => Ok(text.clone()),
            (Some(true), _) => Ok(self.served().pipeline.tokenizer().decode(prompt)?),
            _ => Ok(String::new()),
        }
    }

    async fn collect(self, running: Running) -> Result<Response<Body>, Problem> {
        let items = self.request.prompt.clone().items("prompt")?;
        let prompts = running.prompts.clone();
        let finished = running.collect().await?;
        let mut choices = Vec::new();
        for (i, found) in finished.iter().enumerate() {
            let echo = self.echo(&prompts[i], items.get(i))?;
            let scores = self.prompt_scores(&prompts[i]).await?;
            choices.extend(self.choices(i, &echo, scores.as_ref(), found));
        }
        let usage = self.count(&finished);
        let mut completion = self.completion(choices, Some(usage));
        if let Some(inspect) = &self.request.inspect {
            for found in &finished {
                let found = (found, finished.len());
                let inside = inspect.open(&self.app, self.caller, self.model, found, None).await?;
                completion.inspect.push(inside);
            }
        }
        Ok(reply(&completion))
    }

    fn count(&self, finished: &[Finished]) -> Usage {
        let read = finished.iter().map(|found| found.prompt_tokens).sum();
        let generated = finished.iter().map(Finished::completion_tokens).sum();
        self.app.metrics.tokens(&self.served().name, read, generated);
        Usage::new(read, generated)
    }

    /// The scores of a prompt that is part of the text, if log-probabilities are asked for.
    async fn prompt_scores(&self, prompt: &[u32]) -> Result<Option<PromptScores>, Problem> {
        let (Some(true), Some(top)) = (self.request.echo, self.request.logprobs) else {
            return Ok(None);
        };
        let ids = prompt.to_vec();
        let scored = passes::call(&self.app, self.caller, self.model, ids.len(), move |served| {
            let Stack::Decoder(decoder) = &served.pipeline.model().stack else {
                return Ok(Vec::new());
            };
            let scores = prompt_scores((decoder, served.pipeline.weights()), &ids, top);
            let scores = [None].into_iter().chain(scores.into_iter().map(Some));
            Ok(ids.into_iter().zip(scores).collect())
        });
        Ok(Some(scored.await?))
    }

    fn choices(
        &self,
        i: usize,
        echo: &str,
        prompt: Option<&PromptScores>,
        found: &Finished,
    ) -> Vec<CompletionChoice> {
        let tokenizer = self.served().pipeline.tokenizer();
        let choice = |(sample, text): (usize, &limpid::generate::Generated)| CompletionChoice {
            index: i * self.request.sampling.texts() + sample,
            text: format!("{echo}{}", text.text),
            logprobs: self.request.logprobs.map(|top| {
                let steps = found.steps.get(sample).map_or(&[][..], Vec::as_slice);
                Logprobs::new(tokenizer, prompt, (steps, text.tokens.len()), top)
            }),
            finish_reason: Some(finish_reason(text.finish_reason)),
        };
        found.texts.iter().enumerate().map(choice).collect()
    }

    /// Sends text as it appears, prompt by prompt.
    async fn stream(self, running: Running, frames: Frames) -> Result<(), Left> {
        let Running { mut generations, prompt_tokens, prompts, .. } = running;
        let items = self.request.prompt.clone().items("prompt").unwrap_or_default();
        let (mut read, mut generated) = (0, 0);
        for (i, events) in generations.events.iter_mut().enumerate() {
            let echo = self.echo(&prompts[i], items.get(i)).unwrap_or_default();
            let n = self.request.sampling.texts();
            let mut begun = vec![echo.is_empty(); n];
            let mut sent = vec![false; n];
            let texts = loop {
                match frames.wait(events.recv()).await? {
                    Some(GenerationEvent::Text { sample, text }) => {
                        let echo =
                            if std::mem::replace(&mut begun[sample], true) { "" } else { &echo };
                        sent[sample] = true;
                        self.piece(&frames, i * n + sample, format!("{echo}{text}"), None).await?;
                    }
                    Some(GenerationEvent::Done(Ok(texts))) => break texts,
                    Some(GenerationEvent::Done(Err(error))) => {
                        return frames.problem(&error.into(), Dialect::OpenAi).await;
                    }
                    Some(_) => {}
                    None => return Err(Left),
                }
            };
            for (sample, text) in texts.iter().enumerate() {
                // A beam search gives its text at once.
                let rest = if sent[sample] { String::new() } else { text.text.clone() };
                let echo = if begun[sample] { "" } else { &echo };
                let reason = Some(finish_reason(text.finish_reason));
                self.piece(&frames, i * n + sample, format!("{echo}{rest}"), reason).await?;
                generated += text.tokens.len();
            }
            read += prompt_tokens[i];
        }
        self.app.metrics.tokens(&self.served().name, read, generated);
        if self.request.sampling.includes_usage() {
            let usage = Some(Usage::new(read, generated));
            frames.send(&self.completion(Vec::new(), usage)).await?;
        }
        frames.done().await
    }

    async fn piece(
        &self,
        frames: &Frames,
        index: usize,
        text: String,
        finish_reason: Option<&'static str>,
    ) -> Result<(), Left> {
        let choice = CompletionChoice { index, text, logprobs: None, finish_reason };
        frames.send(&self.completion(vec![choice], None)).await
    }
}
