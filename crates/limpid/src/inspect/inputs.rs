//! The numbers of an example: those that were given, and the usual ones for the rest.

use super::catalogue::{Example, ExampleOption, Usual, find};
use super::maths::Matrix;
use super::parse::{self, Value, nearest};
use crate::error::{Error, Result};

/// What was given in place of an example's usual numbers. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inputs {
    example: Option<&'static str>,
    values: Vec<(&'static str, Value)>,
}

impl Inputs {
    /// Reads options of an example, as (name without dashes, text).
    ///
    /// # Errors
    /// If there is no such example, it takes no such option, an option comes twice, or a text cannot be read.
    pub fn parse<N: AsRef<str>, T: AsRef<str>>(example: &str, options: &[(N, T)]) -> Result<Self> {
        let example = find(example)?;
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        for (name, text) in options {
            let (name, text) = (name.as_ref().trim_start_matches('-'), text.as_ref());
            let option = example.option(name).ok_or_else(|| unknown(example, name))?;
            if values.iter().any(|(name, _)| *name == option.name) {
                return Err(Error::config(format!("--{} is given twice", option.name)).hint("give it once"));
            }
            values.push((option.name, parse::value(name, option.takes, text)?));
        }
        Ok(Self { example: Some(example.name), values })
    }

    /// These inputs as `example` reads them.
    pub(super) fn of(&self, example: &'static Example) -> Result<Given<'_>> {
        match self.example {
            Some(name) if name != example.name => Err(Error::config(format!(
                "these options were read for '{name}', not for '{}'",
                example.name
            ))
            .hint("read the options again for this example")),
            _ => Ok(Given { example, values: &self.values }),
        }
    }
}

fn unknown(example: &Example, name: &str) -> Error {
    let error = Error::config(format!("'{}' has no option --{name}", example.name));
    let names: Vec<String> = example.options.iter().map(|option| format!("--{}", option.name)).collect();
    let near = nearest(name, example.options.iter().map(|option| option.name));
    let asks = near.map_or(String::new(), |near| format!("did you mean --{near}? "));
    error.hint(format!("{asks}it takes {}", names.join(", ")))
}

/// The numbers of one example: given, or usual.
pub(super) struct Given<'a> {
    example: &'static Example,
    values: &'a [(&'static str, Value)],
}

impl Given<'_> {
    /// Whether all numbers are the usual ones, so that remarks about them hold.
    pub fn untouched(&self) -> bool {
        self.values.is_empty()
    }

    /// Whether this option was given.
    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(given, _)| *given == name)
    }

    fn given(&self, name: &str) -> Option<&Value> {
        // A name that the catalogue does not have is a slip in an example.
        self.spec(name);
        self.values.iter().find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    #[track_caller]
    fn spec(&self, name: &str) -> &'static ExampleOption {
        self.example.option(name).unwrap_or_else(|| panic!("{} has no option {name}", self.example.name))
    }

    #[track_caller]
    fn value(&self, name: &str) -> Value {
        let spec = self.spec(name);
        match (self.given(name), spec.usual) {
            (Some(value), _) => value.clone(),
            (None, Usual::Text(text)) => {
                parse::value(name, spec.takes, text).expect("the catalogue's own values can be read")
            }
            (None, Usual::Derived(_)) => panic!("{} computes its own {name}", self.example.name),
        }
    }

    #[track_caller]
    pub fn matrix(&self, name: &str) -> Matrix {
        match self.value(name) {
            Value::Matrix(matrix) => matrix,
            other => panic!("{name} is not a matrix: {other:?}"),
        }
    }

    /// Only what was given.
    pub fn given_matrix(&self, name: &str) -> Option<Matrix> {
        self.has(name).then(|| self.matrix(name))
    }

    #[track_caller]
    pub fn row(&self, name: &str) -> Vec<f32> {
        match self.value(name) {
            Value::Row(row) => row,
            other => panic!("{name} is not a row: {other:?}"),
        }
    }

    /// Only what was given.
    pub fn given_row(&self, name: &str) -> Option<Vec<f32>> {
        self.has(name).then(|| self.row(name))
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

    #[track_caller]
    pub fn choice(&self, name: &str) -> &'static str {
        match self.value(name) {
            Value::Choice(choice) => choice,
            other => panic!("{name} is not a choice: {other:?}"),
        }
    }

    /// Names of `n` rows: the given words, which must be as many; the usual ones if they are; or numbers.
    pub fn labels(&self, name: &str, n: usize, what: &str) -> Result<Vec<String>> {
        let words = self.words(name);
        if words.len() == n {
            return Ok(words);
        }
        if self.has(name) {
            return Err(Error::config(format!(
                "--{name} has {} for {}",
                plural(words.len(), "word"),
                plural(n, what)
            ))
            .hint(format!("give one word for each {what}")));
        }
        Ok(numbered(what, n))
    }

    /// Refuses a matrix whose size does not fit: `rows` or `cols` may be left open.
    pub fn check_size(
        &self,
        name: &str,
        matrix: &Matrix,
        rows: Option<usize>,
        cols: Option<usize>,
        because: &str,
    ) -> Result<()> {
        let (want_rows, want_cols) = (rows.unwrap_or(matrix.rows()), cols.unwrap_or(matrix.cols()));
        if (matrix.rows(), matrix.cols()) == (want_rows, want_cols) {
            return Ok(());
        }
        let open = |n: Option<usize>| n.map_or("any".to_owned(), |n| n.to_string());
        Err(Error::config(format!(
            "--{name} is {} (rows×columns), but must be {}×{}: {because}",
            matrix.size(),
            open(rows),
            open(cols)
        ))
        .hint(format!(
            "give --{name} {} of {} numbers",
            rows.map_or("rows".to_owned(), |n| plural(n, "row")),
            open(cols)
        )))
    }

    /// Refuses a row that is not `n` long.
    pub fn check_length(&self, name: &str, row: &[f32], n: usize, because: &str) -> Result<()> {
        if row.len() == n {
            return Ok(());
        }
        Err(Error::config(format!("--{name} has {}, but needs {n}: {because}", plural(row.len(), "number")))
            .hint(format!("give --{name} {}", plural(n, "number"))))
    }
}

/// "1 row", "2 rows".
pub(super) fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// "token 1", "token 2", …
pub(super) fn numbered(what: &str, n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("{what} {i}")).collect()
}

/// Names of columns: "d1", "d2", …
pub(super) fn dims(n: usize) -> Vec<String> {
    (1..=n).map(|i| format!("d{i}")).collect()
}
