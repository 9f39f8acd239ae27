//! Chat templates: from the messages of a conversation to the prompt of a model.
//!
//! A template is a small program in Jinja that comes with the model: `chat_template.jinja`, or a
//! key of `tokenizer_config.json`. It is rendered as `apply_chat_template` of `transformers` does,
//! and, because it comes from outside, with limits on its steps, its memory and its depth.
//!
//! ```
//! use limpid::generate::chat::{ChatTemplate, Message, RenderOptions};
//!
//! let template = ChatTemplate::new(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let messages = [Message::system("Be brief."), Message::user(" Hello! ")];
//! let prompt = template.render(&messages, &RenderOptions::default())?;
//! assert_eq!(prompt, "<system>Be brief.\n<user>Hello!\n<assistant>");
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod budget;
mod clock;
mod environment;
mod folder;
mod guard;
mod json;
mod message;
mod methods;

pub use message::{Message, Variable};

use crate::error::{ChatError, Result};
use std::path::Path;
use std::time::SystemTime;

/// What a template ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptEnd {
    /// The beginning of the assistant's reply: `add_generation_prompt` is true.
    #[default]
    Reply,
    /// The last message.
    Message,
}

/// How a conversation is rendered.
#[derive(Clone, Debug, Default)]
pub struct RenderOptions {
    /// What the prompt ends with.
    pub end: PromptEnd,
    /// Further variables of the template: `tools`, `documents`, `enable_thinking`, …
    pub variables: Vec<(String, Variable)>,
    /// The time that `strftime_now` formats, as UTC; without it, that of the call.
    pub now: Option<SystemTime>,
}

/// The chat template of a model, with its special tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatTemplate {
    source: String,
    /// `bos_token`, `eos_token`, …: variables of the template.
    special_tokens: Vec<(String, String)>,
}

impl ChatTemplate {
    /// A template without special tokens.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), special_tokens: Vec::new() }
    }

    /// The same with a special token: `eos_token`, say, is `</s>`.
    pub fn with_special_token(mut self, role: impl Into<String>, token: impl Into<String>) -> Self {
        let role = role.into();
        self.special_tokens.retain(|(name, _)| *name != role);
        self.special_tokens.push((role, token.into()));
        self
    }

    /// The template of a model folder: `chat_template.jinja`, or the key `chat_template` of
    /// `tokenizer_config.json`.
    /// # Errors
    /// [`ChatError::NoTemplate`] if there is none, and other [`ChatError`]s if a file holds
    /// something else.
    pub fn load(folder: &Path) -> Result<Self> {
        folder::load(folder)
    }

    /// Its Jinja source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The prompt of a conversation.
    /// # Errors
    /// A [`ChatError`] for a template that is not Jinja, refuses the conversation, fails, or
    /// exceeds a limit.
    pub fn render(&self, messages: &[Message], options: &RenderOptions) -> Result<String> {
        if messages.is_empty() {
            return Err(ChatError::Empty.into());
        }
        Ok(environment::render(self, messages, options)?)
    }
}
