//! Inputs that clients send in several forms.

use crate::http::{Problem, ProblemKind};
use serde::Deserialize;
use utoipa::ToSchema;

/// Texts of a request at most.
pub const MAX_TEXTS: usize = 2_048;

/// OpenAI's prompts and inputs: a text, texts, token ids, or lists of them.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected text, texts, token ids or lists of token ids")]
pub enum TextOrTokens {
    /// One text.
    Text(String),
    /// Several.
    Texts(Vec<String>),
    /// Token ids of one text.
    Tokens(Vec<u32>),
    /// Of several.
    TokenLists(Vec<Vec<u32>>),
}

/// One input: text, or token ids.
#[derive(Clone, Debug)]
pub enum Item {
    /// Text.
    Text(String),
    /// Token ids.
    Tokens(Vec<u32>),
}

impl TextOrTokens {
    /// The single inputs.
    /// # Errors
    /// A [`Problem`] if there are none, or too many.
    pub fn items(self, param: &'static str) -> Result<Vec<Item>, Problem> {
        let items: Vec<Item> = match self {
            Self::Text(text) => vec![Item::Text(text)],
            Self::Texts(texts) => texts.into_iter().map(Item::Text).collect(),
            Self::Tokens(ids) => vec![Item::Tokens(ids)],
            Self::TokenLists(lists) => lists.into_iter().map(Item::Tokens).collect(),
        };
        check_count(items.len(), param)?;
        Ok(items)
    }
}

/// A text or several.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub enum OneOrMany {
    /// One text.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// The texts.
    /// # Errors
    /// A [`Problem`] if there are none, or too many.
    pub fn texts(self, param: &'static str) -> Result<Vec<String>, Problem> {
        let texts = match self {
            Self::One(text) => vec![text],
            Self::Many(texts) => texts,
        };
        check_count(texts.len(), param)?;
        Ok(texts)
    }
}

/// Checks the number of inputs.
/// # Errors
/// A [`Problem`] if there are none, or too many.
pub fn check_count(count: usize, param: &'static str) -> Result<(), Problem> {
    match count {
        0 => {
            let message = format!("{param} is empty: expected at least one text");
            Err(Problem::new(ProblemKind::Empty, message).with_param(param))
        }
        n if n > MAX_TEXTS => {
            let message = format!("{param} has {n} texts: at most {MAX_TEXTS} in a request");
            Err(Problem::invalid(message).with_param(param))
        }
        _ => Ok(()),
    }
}

/// Checks that a number of a request is in a range.
/// # Errors
/// A [`Problem`] that names the field and the range.
pub fn check_range<T: PartialOrd + std::fmt::Display>(
    param: &'static str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) -> Result<T, Problem> {
    match range.contains(&value) {
        true => Ok(value),
        false => {
            let (low, high) = range.into_inner();
            let message = format!("{param} {value} is not in {low} to {high}");
            Err(Problem::invalid(message).with_param(param))
        }
    }
}
