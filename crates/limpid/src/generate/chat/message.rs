//! Messages, and other values that a template sees. JSON keeps its order: a template may print it.

use crate::error::{ChatError, Result};
use minijinja::Value;
use minijinja::value::ValueKind;

/// A message of a conversation: who said what.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(Value);

impl Message {
    /// What `role` said: "system", "user", "assistant", "tool", or what the template knows.
    pub fn new(role: &str, content: &str) -> Self {
        Self(Value::from_pairs([("role", role), ("content", content)]))
    }

    /// The instructions of a conversation.
    pub fn system(content: &str) -> Self {
        Self::new("system", content)
    }

    /// What the person said.
    pub fn user(content: &str) -> Self {
        Self::new("user", content)
    }

    /// What the model said.
    pub fn assistant(content: &str) -> Self {
        Self::new("assistant", content)
    }

    /// A message with more keys than two (`tool_calls`, …), as JSON.
    /// # Errors
    /// [`ChatError::NotAMessage`] if it is not an object with a role.
    pub fn from_json(json: &str) -> Result<Self> {
        let value = parse(json, "message")?;
        let has_role = value.kind() == ValueKind::Map
            && value.get_attr("role").is_ok_and(|role| role.as_str().is_some());
        match has_role {
            true => Ok(Self(value)),
            false => {
                let reason = "it is not an object with a role".into();
                Err(ChatError::NotAMessage { what: "message", reason }.into())
            }
        }
    }

    /// Who said it.
    pub fn role(&self) -> String {
        self.text("role").unwrap_or_default()
    }

    /// What was said, if it is text.
    pub fn content(&self) -> Option<String> {
        self.text("content")
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.get_attr(key).ok()?.as_str().map(String::from)
    }

    pub(super) fn value(&self) -> Value {
        self.0.clone()
    }
}

/// A value for a variable of a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable(Value);

impl Variable {
    /// A value as JSON.
    /// # Errors
    /// [`ChatError::NotAMessage`] if it is not JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        Ok(Self(parse(json, "variable")?))
    }

    pub(super) fn value(&self) -> Value {
        self.0.clone()
    }
}

fn parse(json: &str, what: &'static str) -> Result<Value> {
    serde_json::from_str(json)
        .map_err(|e| ChatError::NotAMessage { what, reason: e.to_string() }.into())
}
