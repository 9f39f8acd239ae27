//! Worked examples of every part of a Transformer and of the models before it, computed by the
//! kernels that training uses.
//!
//! ```
//! use limpid_learn::explain::{self, Inputs, Style};
//!
//! let inputs = Inputs::parse("scaling", &[("query", "2 3 4 1")])?;
//! let explanation = explain::explain("scaling", &inputs)?;
//! print!("{}", explain::render(&explanation, Style::Plain, 80));
//! # Ok::<(), limpid_learn::error::Error>(())
//! ```
//!
//! An [`Explanation`] is data: steps with a formula, tables of numbers and notes. [`render`] makes
//! text of it; it serializes to JSON, for a program or a page. [`examples()`] lists what there is,
//! with the options of each; every number of an example can be replaced ([`Inputs`]).

mod catalogue;
mod entries;
mod examples;
mod inputs;
mod layout;
pub(crate) mod maths;
pub(crate) mod model;
pub(crate) mod number;
mod parse;
mod render;

pub use catalogue::{DefaultValue, Example, ExampleOption, ValueKind, examples, find};
pub use inputs::Inputs;
pub use maths::Matrix;
pub use model::{Cell, Explanation, Note, Step, Table};
pub use render::{Style, list, options, render};

use crate::error::Result;

/// Computes the example with this name or number, with its default numbers or the user's.
///
/// # Errors
/// If there is no such example, the inputs were parsed for another one, or they do not fit each
/// other.
pub fn explain(name: &str, inputs: &Inputs) -> Result<Explanation> {
    let example = find(name)?;
    let walkthrough = (example.compute)(&inputs.of(example)?)?;
    Ok(Explanation {
        name: example.name,
        title: example.title,
        introduction: walkthrough.introduction,
        steps: walkthrough.steps,
        see_also: example.see_also,
    })
}
