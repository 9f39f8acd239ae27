//! The catalogue: which examples there are, in reading order, and the options of each.

use super::entries::EXAMPLES;
use super::examples::Walkthrough;
use super::inputs::Arguments;
use super::parse::nearest;
use crate::error::{ExampleError, Result};

/// A worked example.
pub struct Example {
    /// Its name, which is also its key for [`find`].
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What one learns, in a line.
    pub summary: &'static str,
    /// Inputs that can be set.
    pub options: &'static [ExampleOption],
    /// Names of examples to read next.
    pub see_also: &'static [&'static str],
    pub(super) compute: fn(&Arguments) -> Result<Walkthrough>,
}

/// An input of an example that can be set.
#[derive(Clone, Copy, Debug)]
pub struct ExampleOption {
    /// Its key.
    pub name: &'static str,
    /// Other keys for it.
    pub aliases: &'static [&'static str],
    /// What its text must be.
    pub kind: ValueKind,
    /// What it is.
    pub help: &'static str,
    /// Its value if it is not set.
    pub default: DefaultValue,
}

/// What the text of an option must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// Rows of numbers: "1 0 1 0; 0 1 0 1".
    Matrix,
    /// One row of numbers: "2 4 6 8".
    Row {
        /// The smallest.
        min: f32,
        /// The largest.
        max: f32,
    },
    /// A number.
    Number {
        /// The smallest.
        min: f32,
        /// The largest.
        max: f32,
    },
    /// A whole number.
    Count {
        /// The smallest.
        min: usize,
        /// The largest.
        max: usize,
    },
    /// Words with spaces between them.
    Words,
    /// One of these.
    Choice(&'static [&'static str]),
}

impl ValueKind {
    /// The placeholder of the value in a usage line.
    pub fn placeholder(self) -> &'static str {
        match self {
            ValueKind::Matrix => "ROWS",
            ValueKind::Row { .. } => "NUMBERS",
            ValueKind::Number { .. } => "NUMBER",
            ValueKind::Count { .. } => "N",
            ValueKind::Words => "WORDS",
            ValueKind::Choice(_) => "CHOICE",
        }
    }
}

/// The value of an option that is not set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// This text.
    Text(&'static str),
    /// Computed from the other inputs; a description.
    Computed(&'static str),
}

impl Example {
    /// The option with this key or alias.
    pub fn option(&self, name: &str) -> Option<&'static ExampleOption> {
        self.options.iter().find(|option| option.name == name || option.aliases.contains(&name))
    }
}

/// All examples, in reading order.
pub fn examples() -> &'static [Example] {
    EXAMPLES
}

/// The example with this name, or with this number in reading order, counted from 1.
///
/// ```
/// use limpid_learn::explain::find;
///
/// assert_eq!(find("causal-mask")?.name, find("3")?.name);
/// # Ok::<(), limpid_learn::error::Error>(())
/// ```
///
/// # Errors
/// If there is none; the error carries the most similar name and all names.
pub fn find(name: &str) -> Result<&'static Example> {
    let numbered = || EXAMPLES.get(name.parse::<usize>().ok()?.checked_sub(1)?);
    let found = EXAMPLES.iter().find(|example| example.name == name).or_else(numbered);
    found.ok_or_else(|| {
        let examples: Vec<&'static str> = EXAMPLES.iter().map(|example| example.name).collect();
        let nearest = nearest(name, examples.iter().copied());
        ExampleError::Unknown { name: name.to_owned(), nearest, examples }.into()
    })
}
