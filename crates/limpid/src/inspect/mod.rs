//! Looking inside: what a model attends to, and small worked examples of every part of a Transformer, computed by the
//! kernels that training uses.
//!
//! ```
//! use limpid::inspect::{self, Inputs, Style};
//!
//! let inputs = Inputs::parse("scaling", &[("query", "2 3 4 1")])?;
//! let explanation = inspect::explain("scaling", &inputs)?;
//! print!("{}", inspect::render(&explanation, Style::Plain, 80));
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! An [`Explanation`] is data: the terminal ([`render`]), `--json` and a page show the same one.

mod align;
mod attention;
mod catalogue;
mod entries;
mod examples;
mod inputs;
mod layout;
mod maths;
mod model;
mod number;
mod parse;
pub mod quiz;
mod render;

pub use align::{Alignment, align};
pub use attention::{TranslationAttention, attention_of, check_attends, heat_map, translation_attention};
pub use catalogue::{Example, ExampleOption, Takes, Usual, examples, find};
pub use inputs::Inputs;
pub use maths::Matrix;
pub use model::{Cell, Explanation, Note, Step, Table};
pub use render::{Style, list, options, render};

use crate::error::Result;

/// Computes an example, with the usual numbers or others.
///
/// # Errors
/// If there is no such example, the inputs were read for another one, or they do not fit each other.
pub fn explain(name: &str, inputs: &Inputs) -> Result<Explanation> {
    let example = find(name)?;
    let given = inputs.of(example)?;
    let told = (example.compute)(&given)?;
    Ok(Explanation {
        name: example.name,
        title: example.title,
        story: told.story,
        steps: told.steps,
        see_also: example.see_also,
    })
}
