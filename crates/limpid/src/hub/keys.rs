//! The keys of a JSON file, taken out one by one as they are read: what is left nobody asked for.

use crate::config::Tie;
use crate::error::{Error, Result};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// The object that a JSON file holds.
pub(crate) fn read_object(path: &Path) -> Result<Map<String, Value>> {
    let bytes = fs::read(path).map_err(|e| Error::io("read", path, &e))?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|e| Error::format(path, format!("not JSON: {e}")).hint("is it complete? copy it again"))?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Error::format(path, "a JSON object with the model's settings was expected")
            .hint("{\"model_type\": \"marian\", …}")),
    }
}

/// The keys of a file; those that were read are taken out.
pub(super) struct Keys<'a> {
    pub(super) path: &'a Path,
    pub(super) map: Map<String, Value>,
}

impl Keys<'_> {
    pub(super) fn wrong(&self, key: &str, found: &Value, expected: &str) -> Error {
        Error::format(self.path, format!("{key} is {found}, {expected} was expected"))
            .hint("correct the file")
    }

    pub(super) fn size(&mut self, key: &str) -> Result<usize> {
        self.optional_size(key)?.ok_or_else(|| {
            Error::format(self.path, format!("{key} is missing"))
                .hint("every size of the model must be given")
        })
    }

    pub(super) fn optional_size(&mut self, key: &str) -> Result<Option<usize>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            // 2³¹: larger than any model, small enough that no product of sizes overflows unnoticed.
            Some(value) => match value.as_u64().filter(|n| *n < 1 << 31) {
                Some(n) => Ok(Some(n as usize)),
                None => Err(self.wrong(key, &value, "a whole number below 2^31")),
            },
        }
    }

    pub(super) fn share(&mut self, key: &str) -> Result<Option<f32>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|x| (0.0..1.0).contains(x)) {
                Some(x) => Ok(Some(x as f32)),
                None => Err(self.wrong(key, &value, "a number in [0, 1)")),
            },
        }
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong(key, &value, "a name")),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(value) => Err(self.wrong(key, &value, "true or false")),
        }
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<f32>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(x) => Ok(Some(x as f32)),
                None => Err(self.wrong(key, &value, "a number")),
            },
        }
    }

    /// One id, or a list of them.
    pub(super) fn ids(&mut self, key: &str) -> Result<Vec<u32>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(value) => {
                let ids = match &value {
                    Value::Array(ids) => ids.iter().map(token_id).collect(),
                    id => token_id(id).map(|id| vec![id]),
                };
                ids.ok_or_else(|| self.wrong(key, &value, "a token id or a list of them"))
            }
        }
    }

    /// One id at most.
    pub(super) fn one_id(&mut self, key: &str) -> Result<Option<u32>> {
        let value = self.map.get(key).cloned();
        match self.ids(key)?[..] {
            [] => Ok(None),
            [id] => Ok(Some(id)),
            _ => Err(self.wrong(key, &value.unwrap_or_default(), "one token id")),
        }
    }

    /// A list of lists of ids.
    pub(super) fn id_lists(&mut self, key: &str) -> Result<Vec<Vec<u32>>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(value) => {
                let list = |ids: &Value| ids.as_array()?.iter().map(token_id).collect::<Option<Vec<u32>>>();
                let lists = value.as_array().and_then(|lists| lists.iter().map(list).collect());
                lists.ok_or_else(|| self.wrong(key, &value, "a list of lists of token ids"))
            }
        }
    }

    /// One text, or a list of them.
    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(value) => {
                let text = |text: &Value| text.as_str().map(String::from);
                let texts = value.as_array().and_then(|texts| texts.iter().map(text).collect());
                texts.ok_or_else(|| self.wrong(key, &value, "a text or a list of them"))
            }
        }
    }

    /// A setting of which we have these values only; numbers are compared as numbers.
    pub(super) fn must_be_one_of(&mut self, key: &str, supported: &[Value]) -> Result<()> {
        let Some(value) = self.map.remove(key) else { return Ok(()) };
        let same = |other: &Value| match (value.as_f64(), other.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => value == *other,
        };
        if supported.iter().any(same) {
            return Ok(());
        }
        let listed: Vec<String> = supported.iter().map(Value::to_string).collect();
        Err(Error::format(
            self.path,
            format!(
                "{key} = {value} is not supported: it would change the result (only {} is)",
                listed.join(" or ")
            ),
        )
        .hint(format!("remove {key} from the file to go without it")))
    }

    /// Missing means shared, as in `transformers`.
    pub(super) fn tie(&mut self, key: &str) -> Result<Tie> {
        Ok(if self.flag(key)? == Some(false) { Tie::Separate } else { Tie::Shared })
    }

    /// A setting of which we have one value only.
    pub(super) fn must_be(&mut self, key: &str, supported: &Value) -> Result<()> {
        match self.map.remove(key) {
            None => Ok(()),
            Some(value) if value == *supported => Ok(()),
            Some(value) => Err(Error::format(
                self.path,
                format!("{key} = {value} is not supported: it would change the result (only {supported} is)"),
            )),
        }
    }
}

fn token_id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}
