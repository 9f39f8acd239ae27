//! The tokenizer of a model.

use crate::arrays::Ids;
use crate::error::exception;
use crate::model::Loaded;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::sync::Arc;

/// From text to token ids and back.
#[pyclass(frozen, module = "limpid")]
pub struct Tokenizer {
    pub loaded: Arc<dyn Loaded>,
}

#[pymethods]
impl Tokenizer {
    /// The token ids of a text, with the special tokens that its model reads if asked for.
    #[pyo3(signature = (text, *, add_special_tokens = false))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let tokenizer = self.loaded.tokenizer();
        let ids = match add_special_tokens {
            true => tokenizer.encode_with_special(text),
            false => tokenizer.encode(text),
        };
        Ok(ids.map_err(exception)?.into_pyarray(py))
    }

    /// The text of token ids.
    #[pyo3(signature = (ids, *, skip_special_tokens = true))]
    fn decode(&self, ids: Ids<'_>, skip_special_tokens: bool) -> PyResult<String> {
        let tokenizer = self.loaded.tokenizer();
        ids.with(|ids| match skip_special_tokens {
            true => tokenizer.decode(ids),
            false => tokenizer.decode_with_special(ids),
        })
        .map_err(exception)
    }

    /// The token of an id, as in the vocabulary.
    fn token(&self, id: u32) -> PyResult<String> {
        let tokenizer = self.loaded.tokenizer();
        match tokenizer.has_id(id) {
            true => Ok(tokenizer.token(id)),
            false => Err(PyIndexError::new_err(format!("no token has the id {id}"))),
        }
    }

    /// The id of a token, if it is in the vocabulary.
    fn id(&self, token: &str) -> Option<u32> {
        self.loaded.tokenizer().id(token)
    }

    /// Number of tokens.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.loaded.tokenizer().vocab_size()
    }
}
