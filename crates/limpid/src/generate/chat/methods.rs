//! Methods of Python's `str` and `dict`: those of `minijinja-contrib`, and what it lacks or does
//! otherwise.

use super::budget::Budget;
use minijinja::value::{Rest, Tuple, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

/// Calls a method of a value, charged by what it reads and what it makes.
pub(super) fn call(
    budget: &Budget,
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    budget.charge(value)?;
    args.iter().try_for_each(|arg| budget.charge(arg))?;
    let Some(text) = value.as_str().filter(|_| value.kind() == ValueKind::String) else {
        return unknown_method_callback(state, value, method, args);
    };
    match method {
        "title" => {
            let () = from_args(args)?;
            Ok(Value::from(title(text)))
        }
        "strip" | "lstrip" | "rstrip" => {
            let (chars,): (Option<&str>,) = from_args(args)?;
            Ok(Value::from(strip(text, method, chars)))
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Ok(Value::from(text.strip_prefix(prefix).unwrap_or(text)))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Ok(Value::from(text.strip_suffix(suffix).unwrap_or(text)))
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            Ok(partition(text, separator, method == "partition"))
        }
        "rsplit" => {
            let (separator, most): (Option<&str>, Option<i64>) = from_args(args)?;
            rsplit(text, separator, most)
        }
        "split" if args.first().and_then(Value::as_str) == Some("") => Err(empty_separator()),
        "replace" => {
            let (old, new, most): (&str, &str, Option<i64>) = from_args(args)?;
            replace(budget, text, old, new, most)
        }
        "join" => {
            let (items,): (&Value,) = from_args(args)?;
            join(budget, items, text, None)
        }
        // A width could be anything.
        "format" if text.contains(':') => {
            Err(Error::new(ErrorKind::InvalidOperation, "a format with a width is not supported"))
        }
        _ => {
            let Rest(_) = from_args::<(Rest<Value>,)>(args)?.0;
            unknown_method_callback(state, value, method, args)
        }
    }
}

/// Upper case after anything that is no letter, as `str.title` has it.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for c in text.chars() {
        match inside {
            true => out.extend(c.to_lowercase()),
            false => out.extend(c.to_uppercase()),
        }
        inside = c.is_alphabetic();
    }
    out
}

/// White space as Python has it: four control characters more than Unicode.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn strip<'t>(text: &'t str, method: &str, chars: Option<&str>) -> &'t str {
    let gone = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    match method {
        "lstrip" => text.trim_start_matches(gone),
        "rstrip" => text.trim_end_matches(gone),
        _ => text.trim_matches(gone),
    }
}

fn partition(text: &str, separator: &str, first: bool) -> Value {
    let found = if first { text.split_once(separator) } else { text.rsplit_once(separator) };
    let parts = match (found, first) {
        (Some((before, after)), _) => [before, separator, after],
        (None, true) => [text, "", ""],
        (None, false) => ["", "", text],
    };
    Value::from(Tuple::from(parts.map(Value::from)))
}

fn rsplit(text: &str, separator: Option<&str>, most: Option<i64>) -> Result<Value, Error> {
    let limit = most.and_then(|most| usize::try_from(most).ok()).map_or(usize::MAX, |n| n + 1);
    let mut parts: Vec<&str> = match separator {
        Some("") => return Err(empty_separator()),
        Some(separator) => text.rsplitn(limit, separator).collect(),
        None if limit == usize::MAX => text.split_whitespace().rev().collect(),
        None => {
            let message = "rsplit by white space with a limit is not supported";
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
    };
    parts.reverse();
    Ok(parts.into_iter().map(Value::from).collect())
}

fn empty_separator() -> Error {
    Error::new(ErrorKind::InvalidOperation, "empty separator")
}

/// `str.replace`, and the filter of this name.
pub(super) fn replace(
    budget: &Budget,
    text: &str,
    old: &str,
    new: &str,
    most: Option<i64>,
) -> Result<Value, Error> {
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let count = text.matches(old).take(most).count();
    budget.charge_bytes(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::from(text.replacen(old, new, most)))
}

/// `str.join`, and the filter of this name.
pub(super) fn join(
    budget: &Budget,
    items: &Value,
    separator: &str,
    attribute: Option<&str>,
) -> Result<Value, Error> {
    let mut out = String::new();
    for (i, item) in items.try_iter()?.enumerate() {
        let item = match attribute {
            Some(attribute) => item.get_attr(attribute)?,
            None => item,
        };
        budget.charge(&item)?;
        if i > 0 {
            out.push_str(separator);
        }
        let from = out.len();
        match item.as_str() {
            Some(text) => out.push_str(text),
            None => out.push_str(&item.to_string()),
        }
        budget.charge_bytes(out.len() - from + separator.len())?;
    }
    budget.charge_bytes(out.len())?;
    Ok(Value::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_white_space_are_pythons() {
        assert_eq!(title("they're bill's friends_x 3a"), "They'Re Bill'S Friends_X 3A");
        assert_eq!(strip("\u{1f} a\u{a0}", "strip", None), "a");
        assert_eq!(strip("xxaxx", "rstrip", Some("xy")), "xxa");
        assert_eq!(partition("a=b=c", "=", false).to_string(), "('a=b', '=', 'c')");
        assert_eq!(rsplit("a.b.c", Some("."), Some(1)).unwrap().to_string(), "['a.b', 'c']");
    }
}
