//! What every class of the facade has: its folder, its parameters, its tokenizer.

use crate::arrays;
use crate::tokenizer::Tokenizer;
use limpid::hub::Warning;
use limpid::model;
use limpid::tensor::packed_weights::Weights;
use limpid::text;
use limpid::{Classifier, Embedder, FillMask, Generator, Translator};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A type of the facade, loaded from a folder.
pub trait Loaded: Send + Sync {
    fn model(&self) -> &model::Model;
    fn tokenizer(&self) -> &text::Tokenizer;
    fn warnings(&self) -> &[Warning];
    fn folder(&self) -> &Path;
    fn weights(&self) -> Weights<'_>;
}

macro_rules! loaded {
    ($($facade:ident)*) => {
        $(impl Loaded for $facade {
            fn model(&self) -> &model::Model {
                self.model()
            }
            fn tokenizer(&self) -> &text::Tokenizer {
                self.tokenizer()
            }
            fn warnings(&self) -> &[Warning] {
                self.warnings()
            }
            fn folder(&self) -> &Path {
                self.folder()
            }
            fn weights(&self) -> Weights<'_> {
                self.weights()
            }
        })*
    };
}
loaded!(Generator Translator Embedder Classifier FillMask);

/// A loaded model folder: the base of all models.
#[pyclass(frozen, subclass, module = "limpid")]
pub struct Model {
    pub loaded: Arc<dyn Loaded>,
}

impl Model {
    /// The base of a class that holds this.
    pub fn of(loaded: &Arc<impl Loaded + 'static>) -> PyClassInitializer<Self> {
        Self { loaded: Arc::clone(loaded) as Arc<dyn Loaded> }.into()
    }
}

#[pymethods]
impl Model {
    /// The model folder.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.loaded.folder().to_path_buf()
    }

    /// What was ignored in the folder.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.loaded.warnings().iter().map(ToString::to_string).collect()
    }

    /// What the model is, such as "a decoder".
    #[getter]
    fn kind(&self) -> &'static str {
        self.loaded.model().stack.kind()
    }

    /// Number of tokens that the model knows.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.loaded.model().stack.vocab_size()
    }

    /// Number of parameters.
    #[getter]
    fn num_parameters(&self) -> usize {
        self.loaded.model().params.count()
    }

    /// The tokenizer.
    #[getter]
    fn tokenizer(&self) -> Tokenizer {
        Tokenizer { loaded: Arc::clone(&self.loaded) }
    }

    /// The parameters by name, as read-only arrays that show the model's memory. Quantized ones,
    /// which are not numbers of 32 bits, are left out.
    fn parameters<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let (found, params) = (PyDict::new(slf.py()), &slf.get().loaded.model().params);
        for (id, spec) in params.iter().filter(|(id, _)| params.quantized(*id).is_none()) {
            let shape: Vec<usize> = spec.shape.dims().collect();
            // SAFETY: the model lies behind an `Arc` that the object holds and never exchanges
            // (`frozen`), and nothing here changes a parameter of a loaded model.
            let array = unsafe { arrays::borrowed(slf.clone().into_any(), &shape, params.get(id)) };
            found.set_item(&spec.name, array?)?;
        }
        Ok(found)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (class, own) = (slf.get_type().name()?, slf.get());
        let parameters = own.num_parameters();
        Ok(format!("<{class} {}: {}, {parameters} parameters>", own.folder().display(), own.kind()))
    }
}
