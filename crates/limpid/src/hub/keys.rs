//! The keys of a JSON file, removed one by one as they are read: what is left is unknown.

use crate::error::{Error, KeyScope, ModelError, Result};
use crate::files::write_atomic;
use crate::model::config::Tie;
use crate::nn::Named;
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;

/// The object in a JSON file.
/// # Errors
/// If the file cannot be read, or holds something else.
pub(crate) fn read_object(path: &Path) -> Result<Map<String, Value>> {
    match read_json(path)? {
        Value::Object(map) => Ok(map),
        _ => Err(Error::from(ModelError::NotAnObject).in_file(path)),
    }
}

/// Writes an object as a JSON file.
pub(super) fn write_object(path: &Path, map: Map<String, Value>) -> Result<()> {
    write_atomic(path, format!("{:#}\n", Value::Object(map)).as_bytes())
}

/// The value in a JSON file.
pub(super) fn read_json(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).map_err(|e| Error::io("read", path, e))?;
    serde_json::from_slice(&bytes)
        .map_err(|source| Error::from(ModelError::NotJson { source }).in_file(path))
}

/// The keys of a file that were not read yet.
pub(super) struct Keys<'a> {
    pub(super) path: &'a Path,
    pub(super) map: Map<String, Value>,
    pub(super) scope: KeyScope,
}

impl Keys<'_> {
    /// An error in this file.
    pub(super) fn error(&self, error: ModelError) -> Error {
        Error::from(error).in_file(self.path)
    }

    pub(super) fn wrong(&self, key: &str, found: &Value, expected: &str) -> Error {
        let (key, found, expected) = (key.into(), found.to_string(), expected.into());
        self.error(ModelError::WrongValue { key, found, expected })
    }

    fn missing(&self, key: &str) -> Error {
        self.error(ModelError::MissingKey { key: key.into() })
    }

    /// The value of a key, as `read` understands it; missing and null are `None`.
    fn take<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(&value) {
                Some(read) => Ok(Some(read)),
                None => Err(self.wrong(key, &value, expected)),
            },
        }
    }

    pub(super) fn size(&mut self, key: &str) -> Result<usize> {
        self.optional_size(key)?.ok_or_else(|| self.missing(key))
    }

    /// Below 2³¹: larger than any model, small enough that no product of sizes overflows unnoticed.
    pub(super) fn optional_size(&mut self, key: &str) -> Result<Option<usize>> {
        let size = |value: &Value| value.as_u64().filter(|n| *n < 1 << 31).map(|n| n as usize);
        self.take(key, "a whole number below 2^31", size)
    }

    pub(super) fn rate(&mut self, key: &str) -> Result<Option<f32>> {
        let rate = |value: &Value| value.as_f64().filter(|x| (0.0..1.0).contains(x));
        Ok(self.take(key, "a number in [0, 1)", rate)?.map(|x| x as f32))
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        self.take(key, "a name", |value| value.as_str().map(String::from))
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>> {
        self.take(key, "true or false", Value::as_bool)
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<f32>> {
        Ok(self.take(key, "a number", Value::as_f64)?.map(|x| x as f32))
    }

    /// An option by its name.
    pub(super) fn optional_named<T: Named>(&mut self, key: &str) -> Result<Option<T>> {
        let Some(name) = self.text(key)? else { return Ok(None) };
        T::from_name(&name).map(Some).map_err(|e| e.in_file(self.path))
    }

    pub(super) fn named<T: Named>(&mut self, key: &str) -> Result<T> {
        self.optional_named(key)?.ok_or_else(|| self.missing(key))
    }

    /// One id, or a list of them.
    pub(super) fn ids(&mut self, key: &str) -> Result<Vec<u32>> {
        let ids = |value: &Value| match value {
            Value::Array(ids) => ids.iter().map(token_id).collect(),
            id => token_id(id).map(|id| vec![id]),
        };
        Ok(self.take(key, "a token id or a list of token ids", ids)?.unwrap_or_default())
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
        let list = |ids: &Value| ids.as_array()?.iter().map(token_id).collect();
        let lists = |value: &Value| value.as_array()?.iter().map(list).collect();
        Ok(self.take(key, "a list of lists of token ids", lists)?.unwrap_or_default())
    }

    /// One text, or a list of them.
    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        let text = |text: &Value| text.as_str().map(String::from);
        let texts = |value: &Value| match value {
            Value::String(text) => Some(vec![text.clone()]),
            value => value.as_array()?.iter().map(text).collect(),
        };
        Ok(self.take(key, "a text or a list of texts", texts)?.unwrap_or_default())
    }

    /// Gives missing keys the values that `transformers` has for them.
    pub(super) fn defaults(&mut self, defaults: &[(&str, Value)]) {
        for (key, value) in defaults {
            self.map.entry(*key).or_insert_with(|| value.clone());
        }
    }

    /// Missing means shared, as in `transformers`.
    pub(super) fn tie(&mut self, key: &str) -> Result<Tie> {
        Ok(if self.flag(key)? == Some(false) { Tie::Separate } else { Tie::Shared })
    }

    /// Refuses a file whose `architectures` names another class of `transformers` than these: it
    /// has another head. A file that names none is of the first.
    pub(super) fn check_class(&self, supported: &[&'static str]) -> Result<()> {
        let named = self.map.get("architectures").and_then(|all| all.get(0)?.as_str());
        match named {
            Some(found) if !supported.contains(&found) => {
                let (found, supported) = (found.into(), supported.to_vec());
                Err(self.error(ModelError::UnsupportedArchitecture { found, supported }))
            }
            _ => Ok(()),
        }
    }

    /// A key of which one value is supported. Null is a value of its own here.
    pub(super) fn must_be(&mut self, key: &str, supported: &Value) -> Result<()> {
        self.must_be_one_of(key, std::slice::from_ref(supported))
    }

    /// A key of which these values are supported; numbers are compared as numbers.
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
        Err(self.error(ModelError::UnsupportedValue {
            key: key.into(),
            found: value.to_string(),
            supported: listed.join(" or "),
            scope: self.scope,
        }))
    }
}

fn token_id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// An f32 with the digits one writes: 1e-12 as an f32 has more digits as an f64.
pub(super) fn short(x: f32) -> Value {
    serde_json::json!(x.to_string().parse::<f64>().expect("a float's own digits"))
}
