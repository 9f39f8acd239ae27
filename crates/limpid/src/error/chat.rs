//! Errors of chat templates.

use std::path::PathBuf;

/// A conversation that cannot be rendered by a model's chat template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are named after what they hold")]
pub enum ChatError {
    /// A folder without a chat template.
    #[error(
        "{folder} has no chat template: neither chat_template.jinja nor the key chat_template in \
         tokenizer_config.json"
    )]
    NoTemplate { folder: PathBuf },
    /// Several templates, and none with the name that counts.
    #[error(
        "{path}: none of the chat templates is named default; it has {}",
        names.join(", ")
    )]
    NoDefault { path: PathBuf, names: Vec<String> },
    /// A file, or one of its keys, holds something else.
    #[error("{path}: {what} is not {expected}")]
    Malformed { path: PathBuf, what: String, expected: &'static str },
    /// A template that is longer than any real one.
    #[error("the chat template has {bytes} bytes; {limit} at most are read")]
    TooLong { bytes: usize, limit: usize },
    /// One expression or tag that is longer than any real one.
    #[error(
        "the chat template has a tag of {bytes} bytes on line {line}; {limit} at most are read"
    )]
    TagTooLong { bytes: usize, line: usize, limit: usize },
    /// A template that is no Jinja, or uses what is not supported.
    #[error("the chat template cannot be read{}: {reason}", on_line(line))]
    Syntax { reason: String, line: Option<usize> },
    /// The template refuses the conversation: it called `raise_exception`.
    #[error("the chat template refuses this conversation: {message}")]
    Refused { message: String },
    /// The template does not end, or does more than any real one.
    #[error("the chat template was stopped{}: {limit}", on_line(line))]
    Stopped { limit: TemplateLimit, line: Option<usize> },
    /// An operation of the template failed.
    #[error("the chat template failed{}: {reason}", on_line(line))]
    Failed { reason: String, line: Option<usize> },
    /// A conversation without messages.
    #[error("a conversation needs at least one message")]
    Empty,
    /// JSON that is no message, or no value of a template.
    #[error("not a {what} of a conversation: {reason}")]
    NotAMessage { what: &'static str, reason: String },
    /// Several replies to one message: a conversation goes on with one.
    #[error("num_return_sequences {num_return_sequences}: a chat has one reply to a message")]
    SeveralReplies { num_return_sequences: usize },
}

/// What a template ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateLimit {
    /// Too many steps: it loops.
    #[error("it takes more steps than any conversation needs (does it loop?)")]
    Steps,
    /// Macros or values nested too deeply.
    #[error("it is nested too deeply")]
    Depth,
    /// A text that is too long, or too many of them.
    #[error("it builds more text than any conversation has")]
    Size,
}

fn on_line(line: &Option<usize>) -> String {
    line.map_or(String::new(), |line| format!(" on line {line}"))
}
