//! Sentence embeddings.

use crate::arrays;
use crate::attention::Attention;
use crate::error::exception;
use crate::interrupt::detached;
use crate::model::Model;
use crate::texts::Texts;
use limpid::encode::{Normalization, Pooling};
use limpid::inspect::encoder_attention;
use limpid::pipeline::{EmbedderOptions, LongText};
use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// An encoder that gives one vector per text.
#[pyclass(frozen, extends = Model, module = "limpid")]
pub struct Embedder {
    inner: Arc<limpid::Embedder>,
}

/// What a text that is too long becomes.
pub fn long_text(truncate: bool) -> LongText {
    if truncate { LongText::Truncate } else { LongText::Error }
}

#[pymethods]
impl Embedder {
    /// Loads a model folder, or the model of a run folder. Pooling ("mean" or "cls") and prompt are
    /// those of the folder unless given; vectors have length 1 unless `normalize` is false.
    #[new]
    #[pyo3(signature = (
        path, *, pooling = None, normalize = true, truncate = false, prompt = None
    ))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        pooling: Option<&str>,
        normalize: bool,
        truncate: bool,
        prompt: Option<String>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let pooling = match pooling {
            None => None,
            Some("mean") => Some(Pooling::Mean),
            Some("cls") => Some(Pooling::Cls),
            Some(other) => {
                let message = format!("pooling: '{other}' is neither mean nor cls");
                return Err(PyValueError::new_err(message));
            }
        };
        let normalization = if normalize { Normalization::UnitLength } else { Normalization::None };
        let options = EmbedderOptions { pooling, normalization, long_text: long_text(truncate) };
        let inner = detached(py, |_| {
            let embedder = limpid::Embedder::load_with(path, options)?;
            match prompt {
                Some(name) => embedder.with_prompt(&name),
                None => Ok(embedder),
            }
        })?;
        let inner = Arc::new(inner);
        Ok(Model::of(&inner).add_subclass(Self { inner }))
    }

    /// The number of components of a vector.
    #[getter]
    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    /// The vector of a text (c), or those of several texts (n, c).
    fn embed<'py>(&self, py: Python<'py>, texts: Texts) -> PyResult<Bound<'py, PyAny>> {
        let mut found = detached(py, |_| self.inner.embed(texts.as_slice()))?;
        match texts {
            Texts::One(_) => Ok(found.swap_remove(0).into_pyarray(py).into_any()),
            Texts::Several(_) => Ok(arrays::matrix(py, &found, self.inner.dimension())?.into_any()),
        }
    }

    /// The attention of every layer and head over a text.
    fn attention(&self, py: Python<'_>, text: &str) -> PyResult<Attention> {
        let encoded = self.inner.tokenize(text, None, LongText::Error).map_err(exception)?;
        let model = self.inner.model();
        let encoder = model.encoder().expect("checked by load");
        let found = py.detach(|| encoder_attention((encoder, &model.params), &encoded, &|_| true));
        Attention::new(py, self.inner.tokenizer(), &encoded.0, found)
    }
}
