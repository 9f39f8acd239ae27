//! Translation and summarization with an encoder-decoder.

use crate::attention::CrossAttention;
use crate::error::exception;
use crate::generated::Generated;
use crate::interrupt::{Signals, detached};
use crate::model::Model;
use crate::options::generation_options;
use crate::texts::Texts;
use limpid::error::Result;
use limpid::generate::{GenerationOptions, TranslateOptions};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// An encoder-decoder, Transformer or recurrent.
#[pyclass(frozen, extends = Model, module = "limpid")]
pub struct Translator {
    inner: Arc<limpid::Translator>,
}

impl Translator {
    fn run(
        &self,
        texts: &[String],
        options: &GenerationOptions,
        prefix: &str,
        signals: &mut Signals,
    ) -> Result<Vec<Vec<limpid::generate::Translation>>> {
        let config = self.inner.decoding_config(options)?;
        let prefix = prefix.to_string();
        let with_prefix = TranslateOptions { prefix, ..Default::default() };
        self.inner.run(texts, &config, &with_prefix, Some(&mut |_| signals.check()))
    }

    /// The tokens of the best translation of a text.
    fn best(&self, text: &str, signals: &mut Signals) -> Result<limpid::generate::Translation> {
        let (texts, options) = ([text.to_string()], GenerationOptions::default());
        let mut found = self.run(&texts, &options, "", signals)?;
        Ok(found.swap_remove(0).swap_remove(0))
    }
}

#[pymethods]
impl Translator {
    /// Loads a model folder, or the model of a run folder; the languages are those of a
    /// multilingual model.
    #[new]
    #[pyo3(signature = (path, *, source_language = None, target_language = None))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        source_language: Option<String>,
        target_language: Option<String>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let inner = detached(py, |_| {
            limpid::Translator::load(path)?
                .with_languages(source_language.as_deref(), target_language.as_deref())
        })?;
        let inner = Arc::new(inner);
        Ok(Model::of(&inner).add_subclass(Self { inner }))
    }

    /// The languages of a multilingual model; none of others.
    #[getter]
    fn languages(&self) -> Vec<String> {
        self.inner.languages()
    }

    /// The best translation of a text, or of each text.
    #[pyo3(signature = (texts, *, prefix = "", **options))]
    fn translate<'py>(
        &self,
        py: Python<'py>,
        texts: Texts,
        prefix: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = generation_options(options)?;
        let run = |signals: &mut Signals| self.run(texts.as_slice(), &options, prefix, signals);
        let found = detached(py, run)?;
        let best = found.into_iter().map(|mut all| all.swap_remove(0).text);
        match texts {
            Texts::One(_) => best.collect::<String>().into_bound_py_any(py),
            Texts::Several(_) => best.collect::<Vec<_>>().into_bound_py_any(py),
        }
    }

    /// All translations of each text, the best first, with tokens, reasons and scores.
    #[pyo3(signature = (texts, *, prefix = "", **options))]
    fn translate_all(
        &self,
        py: Python<'_>,
        texts: Vec<String>,
        prefix: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<Generated>>> {
        let options = generation_options(options)?;
        let found = detached(py, |signals| self.run(&texts, &options, prefix, signals))?;
        Ok(Generated::of_each(py, found))
    }

    /// The translation of a text with its cross-attention.
    fn attention(&self, py: Python<'_>, text: &str) -> PyResult<CrossAttention> {
        let found = detached(py, |signals| {
            self.inner.check_attends()?;
            let best = self.best(text, signals)?;
            self.inner.attention(text, &best.tokens)
        })?;
        CrossAttention::new(py, found)
    }

    /// The translation of a text, and the pairs of a source word and a word of the translation that
    /// belong together, counted from 0.
    fn align(&self, py: Python<'_>, text: &str) -> PyResult<(String, Vec<(usize, usize)>)> {
        detached(py, |signals| {
            self.inner.check_attends()?;
            let best = self.best(text, signals)?;
            let pairs = self.inner.align(text, &best.tokens)?;
            Ok((best.text, pairs))
        })
    }

    /// By how many tokens a text exceeds what the model reads; 0 if it does not.
    fn excess_tokens(&self, text: &str) -> PyResult<usize> {
        let found = self.inner.overlength(text).map_err(exception)?;
        Ok(found.map_or(0, |found| found.excess()))
    }
}
