//! The inputs of an example: values set by the user, and defaults for the rest.

use super::catalogue::{DefaultValue, Example, ExampleOption, find};
use super::maths::Matrix;
use super::parse::{self, Value, nearest};
use crate::error::{ExampleError, Result};

/// Values that replace an example's defaults. `Inputs::default()` replaces nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    example: Option<&'static str>,
    values: Vec<(&'static str, Value)>,
}

impl Inputs {
    /// Parses options of an example, as pairs of key and text: `("tokens", "1 0; 0 1")`.
    ///
    /// # Errors
    /// If there is no such example, it has no such option, an option is set twice, or a text
    /// cannot be parsed.
    pub fn parse<K: AsRef<str>, T: AsRef<str>>(example: &str, options: &[(K, T)]) -> Result<Self> {
        let example = find(example)?;
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        for (key, text) in options {
            let (key, text) = (key.as_ref(), text.as_ref());
            let option = example.option(key).ok_or_else(|| unknown(example, key))?;
            if values.iter().any(|(name, _)| *name == option.name) {
                return Err(ExampleError::Duplicate { option: option.name }.into());
            }
            values.push((option.name, parse::value(option.name, option.kind, text)?));
        }
        Ok(Self { example: Some(example.name), values })
    }

    /// These inputs as arguments of `example`.
    pub(super) fn of(&self, example: &'static Example) -> Result<Arguments<'_>> {
        match self.example {
            Some(parsed_for) if parsed_for != example.name => {
                Err(ExampleError::OtherExample { parsed_for, example: example.name }.into())
            }
            _ => Ok(Arguments { example, values: &self.values }),
        }
    }
}

fn unknown(example: &Example, option: &str) -> ExampleError {
    let options: Vec<&'static str> = example.options.iter().map(|option| option.name).collect();
    ExampleError::UnknownOption {
        example: example.name,
        option: option.to_owned(),
        nearest: nearest(option, options.iter().copied()),
        options,
    }
}

/// The arguments of one example: set by the user, or defaults.
pub(super) struct Arguments<'a> {
    example: &'static Example,
    values: &'a [(&'static str, Value)],
}

impl Arguments<'_> {
    /// Whether nothing was set, so that remarks about the default numbers apply.
    pub fn all_default(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether this option was set.
    pub fn is_set(&self, name: &str) -> bool {
        self.values.iter().any(|(set, _)| *set == name)
    }

    #[track_caller]
    fn spec(&self, name: &str) -> &'static ExampleOption {
        self.example
            .option(name)
            .unwrap_or_else(|| panic!("{} has no option {name}", self.example.name))
    }

    #[track_caller]
    fn value(&self, name: &str) -> Value {
        let spec = self.spec(name);
        let set = self.values.iter().find(|(set, _)| *set == name).map(|(_, value)| value);
        match (set, spec.default) {
            (Some(value), _) => value.clone(),
            (None, DefaultValue::Text(text)) => parse::value(spec.name, spec.kind, text)
                .expect("the catalogue's own defaults can be parsed"),
            (None, DefaultValue::Computed(_)) => {
                panic!("{} computes its own {name}", self.example.name)
            }
        }
    }

    #[track_caller]
    pub fn matrix(&self, name: &str) -> Matrix {
        match self.value(name) {
            Value::Matrix(matrix) => matrix,
            other => panic!("{name} is not a matrix: {other:?}"),
        }
    }

    /// The matrix, if it was set.
    pub fn explicit_matrix(&self, name: &str) -> Option<Matrix> {
        self.is_set(name).then(|| self.matrix(name))
    }

    #[track_caller]
    pub fn row(&self, name: &str) -> Vec<f32> {
        match self.value(name) {
            Value::Row(row) => row,
            other => panic!("{name} is not a row: {other:?}"),
        }
    }

    /// The row, if it was set.
    pub fn explicit_row(&self, name: &str) -> Option<Vec<f32>> {
        self.is_set(name).then(|| self.row(name))
    }

    #[track_caller]
    pub fn number(&self, name: &str) -> f32 {
        match self.value(name) {
            Value::Number(number) => number,
            other => panic!("{name} is not a number: {other:?}"),
        }
    }

    #[track_caller]
    pub fn count(&self, name: &str) -> usize {
        match self.value(name) {
            Value::Count(count) => count,
            other => panic!("{name} is not a count: {other:?}"),
        }
    }

    #[track_caller]
    pub fn words(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::Words(words) => words,
            other => panic!("{name} are not words: {other:?}"),
        }
    }

    /// A single word.
    pub fn word(&self, name: &str) -> Result<String> {
        let spec = self.spec(name);
        let mut words = self.words(name);
        match (words.len(), spec.default) {
            (1, _) => Ok(words.remove(0)),
            (found, DefaultValue::Text(default) | DefaultValue::Computed(default)) => {
                Err(ExampleError::NotOneWord { option: spec.name, found, default }.into())
            }
        }
    }

    #[track_caller]
    pub fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Choice(choice) => choice,
            other => panic!("{name} is not a choice: {other:?}"),
        }
    }

    /// Labels of `n` rows: the words that were set, which must be as many; the default ones if they
    /// are as many; or numbers.
    pub fn labels(&self, name: &str, n: usize, item: &'static str) -> Result<Vec<String>> {
        let words = self.words(name);
        if words.len() == n {
            return Ok(words);
        }
        if self.is_set(name) {
            let (option, found) = (self.spec(name).name, words.len());
            return Err(ExampleError::LabelCount { option, found, expected: n, item }.into());
        }
        Ok(numbered(item, n))
    }

    /// Refuses a matrix of another shape: `rows` or `cols` may be left open.
    pub fn check_shape(
        &self,
        name: &str,
        matrix: &Matrix,
        rows: Option<usize>,
        cols: Option<usize>,
        reason: &'static str,
    ) -> Result<()> {
        let found = (matrix.rows(), matrix.cols());
        if found == (rows.unwrap_or(found.0), cols.unwrap_or(found.1)) {
            return Ok(());
        }
        Err(ExampleError::Shape { option: self.spec(name).name, found, rows, cols, reason }.into())
    }

    /// Refuses a row of another length.
    pub fn check_length(
        &self,
        name: &str,
        found: usize,
        expected: usize,
        reason: &'static str,
    ) -> Result<()> {
        if found == expected {
            return Ok(());
        }
        Err(ExampleError::Length { option: self.spec(name).name, found, expected, reason }.into())
    }
}

/// "1 row", "2 rows".
pub(super) fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// "token 1", "token 2", …
pub(super) fn numbered(noun: &str, n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("{noun} {i}")).collect()
}

/// Labels of columns: "d1", "d2", …
pub(super) fn dims(n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("d{i}")).collect()
}
