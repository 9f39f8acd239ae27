//! The filter `tojson`, as Python's `json.dumps` writes.

use super::budget::Budget;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// How JSON is written: the arguments of `json.dumps`.
#[derive(Default)]
pub(super) struct Style {
    pub ensure_ascii: bool,
    /// What each level is indented by.
    pub indent: Option<String>,
    /// Between items, and between key and value.
    pub separators: Option<(String, String)>,
    pub sort_keys: bool,
}

/// The JSON of a value.
pub(super) fn dumps(value: &Value, style: &Style, budget: &Budget) -> Result<String, Error> {
    let (item, key) = match (&style.separators, &style.indent) {
        (Some((item, key)), _) => (item.as_str(), key.as_str()),
        (None, Some(_)) => (",", ": "),
        (None, None) => (", ", ": "),
    };
    let mut writer = Writer { out: String::new(), style, item, key, budget, charged: 0 };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    style: &'a Style,
    item: &'a str,
    key: &'a str,
    budget: &'a Budget,
    /// Bytes that were charged already.
    charged: usize,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => self.out.push_str("null"),
            ValueKind::Bool => self.out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.out.push_str(&number(value)),
            ValueKind::String => self.text(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.list(&items, depth)?;
            }
            ValueKind::Map => self.map(value, depth)?,
            kind => {
                let message = format!("{kind} is not JSON serializable");
                return Err(Error::new(ErrorKind::BadSerialization, message));
            }
        }
        self.charge()
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Result<(), Error> {
        self.out.push('[');
        for (i, item) in items.iter().enumerate() {
            self.before(i, depth + 1);
            self.value(item, depth + 1)?;
        }
        self.close(']', items.len(), depth);
        Ok(())
    }

    fn map(&mut self, map: &Value, depth: usize) -> Result<(), Error> {
        let mut keys: Vec<Value> = map.try_iter()?.collect();
        if self.style.sort_keys {
            keys.sort();
        }
        self.out.push('{');
        for (i, key) in keys.iter().enumerate() {
            self.before(i, depth + 1);
            match key.as_str() {
                Some(text) => self.text(text),
                None => {
                    self.out.push('"');
                    self.value(key, depth + 1)?;
                    self.out.push('"');
                }
            }
            self.out.push_str(self.key);
            self.value(&map.get_item(key)?, depth + 1)?;
        }
        self.close('}', keys.len(), depth);
        Ok(())
    }

    /// What stands before item i.
    fn before(&mut self, i: usize, depth: usize) {
        if i > 0 {
            self.out.push_str(self.item);
        }
        self.new_line(depth);
    }

    fn close(&mut self, bracket: char, items: usize, depth: usize) {
        if items > 0 {
            self.new_line(depth);
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = &self.style.indent {
            self.out.push('\n');
            (0..depth).for_each(|_| self.out.push_str(indent));
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\u{8}' => self.out.push_str("\\b"),
                '\u{c}' => self.out.push_str("\\f"),
                c if c < ' ' || (self.style.ensure_ascii && !(' '..='~').contains(&c)) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    fn charge(&mut self) -> Result<(), Error> {
        let new = self.out.len() - self.charged;
        self.charged = self.out.len();
        self.budget.charge_bytes(new)
    }
}

/// A number as Python's `repr` writes it.
fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(x) if !value.is_integer() => float(x),
        _ => value.to_string(),
    }
}

/// A float as Python's `repr` and `json.dumps` write it.
pub(super) fn float(x: f64) -> String {
    if x.is_nan() {
        return "NaN".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if x == 0.0 || (1e-4..1e16).contains(&x.abs()) {
        return format!("{x:?}");
    }
    let text = format!("{x:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let cases = [(1.0, "1.0"), (0.1, "0.1"), (1e16, "1e+16"), (1.5e-7, "1.5e-07")];
        let more = [(123456789012345.0, "123456789012345.0"), (-0.0001, "-0.0001")];
        for (x, text) in cases.into_iter().chain(more).chain([(1e100, "1e+100"), (0.0, "0.0")]) {
            assert_eq!(float(x), text);
        }
    }
}
