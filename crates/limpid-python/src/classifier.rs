//! Classification of texts and pairs of texts.

use crate::arrays;
use crate::embedder::long_text;
use crate::interrupt::detached;
use crate::model::Model;
use limpid::error::Result;
use limpid::pipeline::LabelScore;
use numpy::PyArray2;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::PathBuf;
use std::sync::Arc;

/// A model with a classification head.
#[pyclass(frozen, extends = Model, module = "limpid")]
pub struct Classifier {
    inner: Arc<limpid::Classifier>,
}

/// Texts, or pairs of texts: one or the other.
enum Inputs {
    Texts(Vec<String>),
    Pairs(Vec<(String, String)>),
}

impl Inputs {
    fn extract(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wrong = |_| PyTypeError::new_err("expected a sequence of str, or of pairs of str");
        match given.extract::<Vec<String>>() {
            Ok(texts) => Ok(Self::Texts(texts)),
            Err(_) => Ok(Self::Pairs(given.extract().map_err(wrong)?)),
        }
    }

    fn classify(&self, classifier: &limpid::Classifier) -> Result<Vec<Vec<LabelScore>>> {
        match self {
            Self::Texts(texts) => classifier.classify(texts),
            Self::Pairs(pairs) => classifier.classify_pairs(pairs),
        }
    }
}

/// Labels with their scores.
type Scores = Vec<(String, f32)>;

fn named(found: Vec<LabelScore>) -> Scores {
    found.into_iter().map(|found| (found.label, found.score)).collect()
}

#[pymethods]
impl Classifier {
    /// Loads a model folder, or the model of a run folder. Texts that are too long are an error
    /// unless `truncate` is true.
    #[new]
    #[pyo3(signature = (path, *, truncate = false))]
    fn new(py: Python<'_>, path: PathBuf, truncate: bool) -> PyResult<PyClassInitializer<Self>> {
        let loaded = detached(py, |_| limpid::Classifier::load(path))?;
        let inner = Arc::new(loaded.with_long_text(long_text(truncate)));
        Ok(Model::of(&inner).add_subclass(Self { inner }))
    }

    /// The labels, in the order of the model.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.labels().to_vec()
    }

    /// The labels of a text with their scores, the largest first; of several texts, or pairs of
    /// texts, a list of them.
    fn classify<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(text) = texts.cast::<PyString>() {
            let text: String = text.extract()?;
            let mut found = detached(py, |_| self.inner.classify(&[text]))?;
            return named(found.swap_remove(0)).into_pyobject(py);
        }
        let inputs = Inputs::extract(texts)?;
        let found = detached(py, |_| inputs.classify(&self.inner))?;
        found.into_iter().map(named).collect::<Vec<Scores>>().into_pyobject(py)
    }

    /// The scores of several texts, or pairs of texts, (n, labels), in the order of the labels.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let inputs = Inputs::extract(texts)?;
        let found = detached(py, |_| inputs.classify(&self.inner))?;
        let labels = self.inner.labels();
        let in_order = |found: &Vec<LabelScore>| {
            let score = |label: &String| {
                found
                    .iter()
                    .find(|found| found.label == *label)
                    .map_or(f32::NAN, |found| found.score)
            };
            labels.iter().map(score).collect()
        };
        let rows: Vec<Vec<f32>> = found.iter().map(in_order).collect();
        arrays::matrix(py, &rows, labels.len())
    }
}
