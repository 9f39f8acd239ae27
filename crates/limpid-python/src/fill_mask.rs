//! Mask filling with a masked language model.

use crate::interrupt::detached;
use crate::model::Model;
use crate::texts::Texts;
use limpid::encode;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// An encoder with a masked-language-modelling head.
#[pyclass(frozen, extends = Model, module = "limpid")]
pub struct FillMask {
    inner: Arc<limpid::FillMask>,
}

/// A token at a mask.
#[pyclass(frozen, get_all, module = "limpid")]
pub struct FilledMask {
    /// Token id.
    id: u32,
    /// The token, as in the vocabulary.
    token: String,
    /// Its probability.
    probability: f32,
    /// The text with it; other masks stay.
    text: String,
}

#[pymethods]
impl FilledMask {
    fn __repr__(&self) -> String {
        format!("<FilledMask {:?} {:.4}>", self.token, self.probability)
    }
}

/// The predictions of each mask of a text.
type Masks = Vec<Vec<FilledMask>>;

fn masks(found: Vec<encode::MaskPredictions>) -> Masks {
    let filled = |found: encode::FilledMask| {
        let encode::FilledMask { id, token, probability, text } = found;
        FilledMask { id, token, probability, text }
    };
    found.into_iter().map(|mask| mask.into_iter().map(filled).collect()).collect()
}

#[pymethods]
impl FillMask {
    /// Loads a model folder, or the model of a run folder.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<PyClassInitializer<Self>> {
        let inner = Arc::new(detached(py, |_| limpid::FillMask::load(path))?);
        Ok(Model::of(&inner).add_subclass(Self { inner }))
    }

    /// The text of the mask token, such as "[MASK]".
    #[getter]
    fn mask_token(&self) -> Option<&'static str> {
        self.inner.tokenizer().mask_token().map(|(_, text)| text)
    }

    /// For each mask of a text the `top` most likely tokens; of several texts, a list of them.
    #[pyo3(signature = (texts, top = 5))]
    fn fill<'py>(&self, py: Python<'py>, texts: Texts, top: usize) -> PyResult<Bound<'py, PyAny>> {
        let mut found = detached(py, |_| self.inner.fill(texts.as_slice(), top))?;
        match texts {
            Texts::One(_) => masks(found.swap_remove(0)).into_pyobject(py),
            Texts::Several(_) => {
                found.into_iter().map(masks).collect::<Vec<Masks>>().into_pyobject(py)
            }
        }
    }
}
