//! One text or several: the answer has the same form.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// What a method is given where it takes a text or a sequence of texts.
pub enum Texts {
    One(String),
    Several(Vec<String>),
}

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.cast::<PyString>() {
            return Ok(Self::One(text.extract()?));
        }
        let texts: PyResult<Vec<String>> = given.try_iter()?.map(|text| text?.extract()).collect();
        let wrong = |_| PyTypeError::new_err("expected a str or an iterable of str");
        Ok(Self::Several(texts.map_err(wrong)?))
    }
}

impl Texts {
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        }
    }
}
