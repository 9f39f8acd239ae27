//! `POST /v1/chat/completions`: a language model with a chat template replies.

use super::generation::{self, Finished, Running, finish_reason};
use super::inputs::{Item, check_count, check_range};
use super::inspect::{Inspect, Inspection};
use super::logprobs::ChatLogprobs;
use super::sampling::{Sampling, Usage, neutral};
use super::sse::{self, Frames, Left};
use super::{App, Caller, reply};
use crate::engine::GenerationEvent;
use crate::http::{Dialect, OpenAiProblem, Problem, ProblemKind};
use crate::models::{ServedModel, ServedTask};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use limpid::generate::chat::{Message, RenderOptions};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Log-probabilities per token.
const MAX_LOGPROBS: usize = 20;

/// A conversation and how to continue it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct ChatRequest {
    /// The model's name; without one, the first with a chat template.
    pub model: Option<String>,
    /// What was said.
    pub messages: Vec<ChatMessage>,
    /// New tokens.
    pub max_completion_tokens: Option<usize>,
    /// Its older name.
    pub max_tokens: Option<usize>,
    /// Log-probabilities of the generated tokens.
    pub logprobs: Option<bool>,
    /// With so many of the most likely ones: 0 to 20.
    pub top_logprobs: Option<usize>,
    /// Only of type `text`.
    pub response_format: Option<ResponseFormat>,
    /// How texts are generated.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// What the answer is to be opened to.
    pub inspect: Option<Inspect>,
}

/// What a reply looks like.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct ResponseFormat {
    /// Only `text`.
    pub r#type: String,
}

/// A message.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct ChatMessage {
    /// Who: `system`, `user`, `assistant`, or what the template knows.
    pub role: String,
    /// What.
    pub content: Option<Content>,
}

/// Text, or parts of it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected text or a list of parts")]
pub enum Content {
    /// Text.
    Text(String),
    /// Parts, which are put together.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Clone, Debug, Deserialize, ToSchema)]
pub struct Part {
    /// Only `text`.
    pub r#type: String,
    /// The text.
    pub text: Option<String>,
}

/// A reply, or a piece of one.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Reply {
    /// `assistant`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// The text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// One reply.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChatChoice {
    /// Its number.
    pub index: usize,
    /// The reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Reply>,
    /// In a stream: more of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<Reply>,
    /// Log-probabilities of its tokens.
    pub logprobs: Option<ChatLogprobs>,
    /// `stop` or `length`.
    pub finish_reason: Option<&'static str>,
}

/// The replies of a request, or a piece of one.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ChatCompletion {
    /// Its name.
    pub id: String,
    /// `chat.completion` or `chat.completion.chunk`
    pub object: &'static str,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// The model's name.
    pub model: String,
    /// What the bits of the answer depend on: files, version, instruction set.
    pub system_fingerprint: String,
    /// The replies.
    pub choices: Vec<ChatChoice>,
    /// Tokens; in a stream only at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What was found inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inspect: Option<Inspection>,
}

/// Replies to a conversation.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "OpenAI",
    request_body = ChatRequest, responses((status = 200, body = ChatCompletion)))]
pub async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request<Body>,
) -> Result<Response<Body>, OpenAiProblem> {
    let request: ChatRequest = app.payload(request).await?.json()?;
    let generates = |model: &ServedModel| model.task() == ServedTask::TextGeneration;
    let model = app.model(caller, request.model.as_deref(), generates, "reply to a chat")?;
    let top = match request.logprobs {
        Some(true) => Some(request.top_logprobs.unwrap_or(0)),
        _ => None,
    };
    check_range("top_logprobs", request.top_logprobs.unwrap_or(0), 0..=MAX_LOGPROBS)?;
    neutral("logprobs", top.is_none() || !request.sampling.streams())?;
    let text = |format: &ResponseFormat| format.r#type == "text";
    neutral("response_format", request.response_format.as_ref().is_none_or(text))?;
    let max_tokens = request.max_completion_tokens.or(request.max_tokens);
    let mut spec = request.sampling.spec(max_tokens, top)?;
    spec.streams = request.sampling.streams();
    if let Some(inspect) = &request.inspect {
        inspect.check(app.models.get(model))?;
        spec.trace = inspect.tracing(spec.trace)?;
        neutral("inspect", !request.sampling.streams())?;
    }
    let prompt = prompt(&app, model, &request.messages).await?;
    let running = generation::start(&app, caller, model, vec![Item::Text(prompt)], spec).await?;
    let id = format!("chatcmpl-{}", caller.id);
    let answer = Answer { app, caller, model, id, top, request };
    match answer.request.sampling.streams() {
        true => Ok(sse::stream(move |frames| async move { answer.stream(running, frames).await })),
        false => Ok(answer.collect(running).await?),
    }
}

/// The prompt of a conversation, by the model's template; rendered off the event loop.
async fn prompt(app: &Arc<App>, model: usize, said: &[ChatMessage]) -> Result<String, Problem> {
    check_count(said.len(), "messages")?;
    let messages: Vec<Message> = said.iter().map(message).collect::<Result<_, _>>()?;
    let served = app.models.get(model);
    let Some(template) = served.chat.clone() else {
        let message = format!(
            "{} has no chat template: use /v1/completions, or put chat_template.jinja into its \
             folder",
            served.name
        );
        return Err(Problem::new(ProblemKind::WrongModel, message).with_param("model"));
    };
    let render = move || template.render(&messages, &RenderOptions::default());
    Ok(generation::blocking(render).await??)
}

fn message(said: &ChatMessage) -> Result<Message, Problem> {
    let content = match &said.content {
        None => String::new(),
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Parts(parts)) => {
            neutral("messages", parts.iter().all(|part| part.r#type == "text"))?;
            parts.iter().filter_map(|part| part.text.as_deref()).collect()
        }
    };
    Ok(Message::new(&said.role, &content))
}

/// A request that was admitted.
struct Answer {
    app: Arc<App>,
    caller: Caller,
    model: usize,
    id: String,
    top: Option<usize>,
    request: ChatRequest,
}

impl Answer {
    fn completion(
        &self,
        object: &'static str,
        choices: Vec<ChatChoice>,
        usage: Option<Usage>,
    ) -> ChatCompletion {
        let served = self.app.models.get(self.model);
        ChatCompletion {
            id: self.id.clone(),
            object,
            created: super::unix_seconds(),
            model: served.name.clone(),
            system_fingerprint: served.fingerprint.clone(),
            choices,
            usage,
            inspect: None,
        }
    }

    async fn collect(self, running: Running) -> Result<Response<Body>, Problem> {
        let finished = running.collect().await?.swap_remove(0);
        let served = self.app.models.get(self.model);
        let choice = |(index, text): (usize, &limpid::generate::Generated)| ChatChoice {
            index,
            message: Some(Reply { role: Some("assistant"), content: Some(text.text.clone()) }),
            delta: None,
            logprobs: self.top.map(|top| {
                let steps = finished.steps.get(index).map_or(&[][..], Vec::as_slice);
                ChatLogprobs::new(served.pipeline.tokenizer(), steps, text.tokens.len(), top)
            }),
            finish_reason: Some(finish_reason(text.finish_reason)),
        };
        let choices = finished.texts.iter().enumerate().map(choice).collect();
        let usage = self.count(finished.prompt_tokens, Finished::completion_tokens(&finished));
        let mut completion = self.completion("chat.completion", choices, Some(usage));
        if let Some(inspect) = &self.request.inspect {
            let found = (&finished, 1);
            let inside = inspect.open(&self.app, self.caller, self.model, found, None).await?;
            completion.inspect = Some(inside);
        }
        Ok(reply(&completion))
    }

    fn count(&self, read: usize, generated: usize) -> Usage {
        self.app.metrics.tokens(&self.app.models.get(self.model).name, read, generated);
        Usage::new(read, generated)
    }

    async fn stream(self, running: Running, frames: Frames) -> Result<(), Left> {
        let Running { mut generations, prompt_tokens, .. } = running;
        let n = self.request.sampling.texts();
        for index in 0..n {
            let role = Reply { role: Some("assistant"), content: Some(String::new()) };
            self.piece(&frames, index, role, None).await?;
        }
        let mut sent = vec![false; n];
        let texts = loop {
            match frames.wait(generations.events[0].recv()).await? {
                Some(GenerationEvent::Text { sample, text }) => {
                    sent[sample] = true;
                    self.piece(&frames, sample, said(text), None).await?;
                }
                Some(GenerationEvent::Done(Ok(texts))) => break texts,
                Some(GenerationEvent::Done(Err(error))) => {
                    return frames.problem(&error.into(), Dialect::OpenAi).await;
                }
                Some(_) => {}
                None => return Err(Left),
            }
        };
        for (index, text) in texts.iter().enumerate() {
            if !sent[index] && !text.text.is_empty() {
                // A beam search gives its text at once.
                self.piece(&frames, index, said(text.text.clone()), None).await?;
            }
            let reason = Some(finish_reason(text.finish_reason));
            self.piece(&frames, index, Reply::default(), reason).await?;
        }
        let generated = texts.iter().map(|text| text.tokens.len()).sum();
        let usage = self.count(prompt_tokens[0], generated);
        if self.request.sampling.includes_usage() {
            let last = self.completion("chat.completion.chunk", Vec::new(), Some(usage));
            frames.send(&last).await?;
        }
        frames.done().await
    }

    async fn piece(
        &self,
        frames: &Frames,
        index: usize,
        delta: Reply,
        finish_reason: Option<&'static str>,
    ) -> Result<(), Left> {
        let delta = Some(delta);
        let choice = ChatChoice { index, message: None, delta, logprobs: None, finish_reason };
        frames.send(&self.completion("chat.completion.chunk", vec![choice], None)).await
    }
}

fn said(content: String) -> Reply {
    Reply { role: None, content: Some(content) }
}
