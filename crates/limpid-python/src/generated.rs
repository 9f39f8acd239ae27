//! A generated text.

use limpid::generate;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

/// A generated text, with what it is made of.
#[pyclass(frozen, get_all, module = "limpid")]
pub struct Generated {
    /// Its text: a continuation without its prompt, a translation with its prefix.
    text: String,
    /// Its token ids, without the end token.
    tokens: Py<PyArray1<u32>>,
    /// Why it ended: "eos_token", "stop_string", "length" or "context".
    finish_reason: &'static str,
    /// Its score in a beam search.
    score: Option<f32>,
}

#[pymethods]
impl Generated {
    fn __repr__(&self) -> String {
        format!("<Generated {:?} ({})>", self.text, self.finish_reason)
    }
}

impl Generated {
    fn new(py: Python<'_>, generated: generate::Generated) -> Self {
        let generate::Generated { text, tokens, finish_reason, score } = generated;
        let tokens = tokens.into_pyarray(py).unbind();
        Self { text, tokens, finish_reason: finish_reason.name(), score }
    }

    /// Those of each input.
    pub fn of_each(py: Python<'_>, found: Vec<Vec<generate::Generated>>) -> Vec<Vec<Self>> {
        let of_one = |found: Vec<_>| found.into_iter().map(|one| Self::new(py, one)).collect();
        found.into_iter().map(of_one).collect()
    }
}
