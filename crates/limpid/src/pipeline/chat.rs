//! A conversation with a language model.

use super::Generator;
use crate::error::{ChatError, Error, Result};
use crate::generate::chat::{ChatTemplate, Message, RenderOptions};
use crate::generate::{
    ContextOverflow, DecodingConfig, Event, GenerateOptions, Generated, GenerationOptions, OnEvent,
};
use std::ops::ControlFlow;

/// A conversation: its messages, rendered by the model's chat template. Made by
/// [`Generator::chat`].
///
/// ```
/// # use limpid::model::{Model, config::DecoderConfig};
/// # let folder = format!("limpid-doc-chat-{}", std::process::id());
/// # let folder = std::env::temp_dir().join(folder);
/// # let tokenizer = limpid::text::word_tokenizer(["user assistant the cat sat on the mat"])?;
/// # let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 64, 1, 2, 8);
/// # limpid::hub::save(&Model::new(config, 1)?, &folder)?;
/// # tokenizer.save(&folder)?;
/// # let template = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}";
/// # std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
/// let generator = limpid::Generator::load(&folder)?;
/// let mut chat = generator.chat()?.system("the cat");
/// let reply = chat.send("the mat")?;
/// assert_eq!(chat.messages().len(), 3);
/// assert_eq!(chat.messages()[2].content(), Some(reply));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), limpid::error::Error>(())
/// ```
pub struct Chat<'g> {
    generator: &'g Generator,
    template: ChatTemplate,
    system: Option<Message>,
    messages: Vec<Message>,
    options: GenerationOptions,
    render: RenderOptions,
}

impl<'g> Chat<'g> {
    pub(super) fn new(generator: &'g Generator, template: ChatTemplate) -> Self {
        let (options, render) = Default::default();
        Self { generator, template, system: None, messages: Vec::new(), options, render }
    }

    /// With instructions at the beginning, which [`Chat::reset`] keeps.
    pub fn system(mut self, content: &str) -> Self {
        self.system = Some(Message::system(content));
        self.reset();
        self
    }

    /// With these options for every reply.
    pub fn options(mut self, options: GenerationOptions) -> Self {
        self.options = options;
        self
    }

    /// With these options of the template.
    pub fn render_options(mut self, render: RenderOptions) -> Self {
        self.render = render;
        self
    }

    /// What was said so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Adds a message that is not answered at once.
    pub fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Forgets all but the instructions.
    pub fn reset(&mut self) {
        self.messages = self.system.iter().cloned().collect();
    }

    /// The prompt of what was said so far.
    /// # Errors
    /// A [`ChatError`] of the template.
    pub fn prompt(&self) -> Result<String> {
        self.template.render(&self.messages, &self.render)
    }

    /// The reply to a message. Both become part of the conversation.
    /// # Errors
    /// A [`ChatError`] of the template or a
    /// [`GenerationError`](crate::error::GenerationError); then the message is forgotten.
    pub fn send(&mut self, message: &str) -> Result<String> {
        self.stream(message, |_| ControlFlow::Continue(()))
    }

    /// Calls `on_text` with each piece of the reply as soon as it is final; `Break` ends it, and
    /// the piece of it becomes part of the conversation. A beam search gives its text at once.
    /// # Errors
    /// As [`Chat::send`].
    pub fn stream(
        &mut self,
        message: &str,
        mut on_text: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<String> {
        let config = self.generator.decoding_config(&self.options)?;
        let options = self.generator.generate_options(ContextOverflow::Error);
        let (mut streamed, mut stopped) = (false, false);
        let found = self.run(message, &config, &options, &mut |event| {
            if let Event::Text { text, .. } = event {
                streamed = true;
                stopped = on_text(text).is_break();
            }
            if stopped { Err(Error::Interrupted) } else { Ok(()) }
        });
        match found {
            Err(Error::Interrupted) if stopped => {}
            Err(error) => return Err(error),
            Ok(reply) if !streamed && !reply.text.is_empty() => _ = on_text(&reply.text),
            Ok(_) => {}
        }
        Ok(self.messages.last().and_then(Message::content).unwrap_or_default())
    }

    /// The reply to a message, with events as they happen. If `on_event` ends it with
    /// [`Error::Interrupted`], what was said until then becomes part of the conversation.
    /// # Errors
    /// As [`Chat::send`], and every error of `on_event`.
    pub fn run(
        &mut self,
        message: &str,
        config: &DecodingConfig,
        options: &GenerateOptions,
        on_event: OnEvent,
    ) -> Result<Generated> {
        let num_return_sequences = config.num_return_sequences();
        if num_return_sequences > 1 {
            return Err(ChatError::SeveralReplies { num_return_sequences }.into());
        }
        let before = self.messages.len();
        self.messages.push(Message::user(message));
        let mut said = String::new();
        let reply = self.prompt().and_then(|prompt| {
            let mut listen = |event: Event| {
                if let Event::Text { text, .. } = &event {
                    said.push_str(text);
                }
                on_event(event)
            };
            self.generator.run(&[prompt], config, options, &mut listen)
        });
        match reply {
            Ok(mut replies) => {
                let reply = replies.swap_remove(0).swap_remove(0);
                self.messages.push(Message::assistant(&reply.text));
                Ok(reply)
            }
            Err(Error::Interrupted) => {
                self.messages.push(Message::assistant(&said));
                Err(Error::Interrupted)
            }
            Err(error) => {
                self.messages.truncate(before);
                Err(error)
            }
        }
    }
}
