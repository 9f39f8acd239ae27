//! What a template may cost: each value is charged when it is made, read by a filter or printed.

use crate::error::{ChatError, TemplateLimit};
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of all values together: some hundred times a long conversation.
const MAX_TOTAL: usize = 256 << 20;
/// Bytes of one value.
const MAX_VALUE: usize = 16 << 20;
/// Bytes of a value beside its text.
const VALUE: usize = 32;
/// Levels of lists in lists.
const MAX_DEPTH: usize = 64;

/// What is left of a rendering's allowance.
pub(super) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub fn new() -> Self {
        Self { left: AtomicUsize::new(MAX_TOTAL) }
    }

    /// Charges a value, with all that is in it.
    pub fn charge(&self, value: &Value) -> Result<(), Error> {
        let mut bytes = 0;
        weigh(value, 0, &mut bytes)?;
        self.charge_bytes(bytes)
    }

    /// Charges so many bytes of one value that is about to be made.
    pub fn charge_bytes(&self, bytes: usize) -> Result<(), Error> {
        let take = |left: usize| left.checked_sub(bytes);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        match bytes <= MAX_VALUE && taken.is_ok() {
            true => Ok(()),
            false => Err(stopped(TemplateLimit::Size)),
        }
    }
}

/// Adds the bytes of a value; lists count as often as they are named.
fn weigh(value: &Value, depth: usize, bytes: &mut usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(stopped(TemplateLimit::Depth));
    }
    *bytes += VALUE + value.as_str().map_or(0, str::len);
    if *bytes > MAX_VALUE {
        return Err(stopped(TemplateLimit::Size));
    }
    match value.kind() {
        ValueKind::Seq => {
            for item in value.try_iter()? {
                weigh(&item, depth + 1, bytes)?;
            }
        }
        ValueKind::Map => {
            for key in value.try_iter()? {
                weigh(&key, depth + 1, bytes)?;
                weigh(&value.get_item(&key)?, depth + 1, bytes)?;
            }
        }
        // Made while it is read.
        ValueKind::Iterable => *bytes += value.len().unwrap_or(0),
        _ => {}
    }
    Ok(())
}

/// The error of a limit.
pub(super) fn stopped(limit: TemplateLimit) -> Error {
    error(ChatError::Stopped { limit, line: None })
}

/// An error of ours, as it travels through the engine.
pub(super) fn error(error: ChatError) -> Error {
    Error::new(ErrorKind::InvalidOperation, error.to_string()).with_source(error)
}
