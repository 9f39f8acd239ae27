//! Which examples there are, in reading order, and what each takes.

use super::entries::EXAMPLES;
use super::examples::Told;
use super::inputs::Given;
use super::parse::nearest;
use crate::error::{Error, Result};

/// A worked example.
pub struct Example {
    /// What is typed to get it.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// What one learns, in a line.
    pub summary: &'static str,
    /// Which numbers can be changed.
    pub options: &'static [ExampleOption],
    /// Names of examples to read next.
    pub see_also: &'static [&'static str],
    pub(super) compute: fn(&Given) -> Result<Told>,
}

/// A number, or some, that can be changed.
#[derive(Clone, Copy, Debug)]
pub struct ExampleOption {
    /// Without the dashes.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What its text must be.
    pub takes: Takes,
    /// What it is.
    pub help: &'static str,
    /// What it is if it is not given.
    pub usual: Usual,
}

/// What the text of an option must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
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

impl Takes {
    /// The word that stands for the value in a usage line.
    pub fn placeholder(self) -> &'static str {
        match self {
            Takes::Matrix => "ROWS",
            Takes::Row { .. } => "NUMBERS",
            Takes::Number { .. } => "NUMBER",
            Takes::Count { .. } => "N",
            Takes::Words => "WORDS",
            Takes::Choice(_) => "CHOICE",
        }
    }
}

/// What an option is if it is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Usual {
    /// As if this had been typed.
    Text(&'static str),
    /// It follows from the other numbers; in words.
    Derived(&'static str),
}

impl Example {
    /// The option of this name, or with this other name.
    pub fn option(&self, name: &str) -> Option<&'static ExampleOption> {
        self.options.iter().find(|option| option.name == name || option.aliases.contains(&name))
    }
}

/// All examples, in reading order.
pub fn examples() -> &'static [Example] {
    EXAMPLES
}

/// The example of this name.
///
/// # Errors
/// If there is none: names the nearest one and all.
pub fn find(name: &str) -> Result<&'static Example> {
    EXAMPLES.iter().find(|example| example.name == name).ok_or_else(|| {
        let names: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
        let near = nearest(name, names.iter().copied());
        let asks = near.map_or(String::new(), |near| format!("did you mean '{near}'? "));
        Error::config(format!("there is no example '{name}'"))
            .hint(format!("{asks}there are {}", names.join(", ")))
    })
}
