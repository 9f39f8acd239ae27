//! The Python module `limpid`: the facade of the library, with numpy arrays and exceptions.
//!
//! Every class wraps the type of the same name of the library behind an `Arc`, so that a call can
//! give up the GIL and other Python threads run meanwhile. What Python sees is described by
//! `python/limpid/__init__.pyi`, which a test compares with the module.

mod arrays;
mod attention;
mod classifier;
mod embedder;
mod error;
mod fill_mask;
mod generated;
mod generator;
mod interrupt;
mod model;
mod options;
mod stream;
mod texts;
mod tokenizer;
mod train;
mod translator;

use limpid::tensor::{simd, team};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Sets the number of threads of all computations; results do not depend on it.
#[pyfunction]
fn set_threads(threads: usize) -> PyResult<()> {
    if !(1..=256).contains(&threads) {
        return Err(PyValueError::new_err(format!("{threads} threads: expected 1 to 256")));
    }
    team::set_threads(threads);
    Ok(())
}

/// The number of threads of all computations.
#[pyfunction]
fn threads() -> usize {
    team::threads()
}

/// The instruction set in use: "avx512", "avx2", "neon" or "scalar".
#[pyfunction]
fn instruction_set() -> &'static str {
    simd::level().name()
}

#[pymodule]
fn _limpid(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add_to(module)?;
    module.add_class::<model::Model>()?;
    module.add_class::<tokenizer::Tokenizer>()?;
    module.add_class::<generator::Generator>()?;
    module.add_class::<generated::Generated>()?;
    module.add_class::<stream::TextStream>()?;
    module.add_class::<translator::Translator>()?;
    module.add_class::<embedder::Embedder>()?;
    module.add_class::<classifier::Classifier>()?;
    module.add_class::<fill_mask::FillMask>()?;
    module.add_class::<fill_mask::FilledMask>()?;
    module.add_class::<attention::Attention>()?;
    module.add_class::<attention::LayerAttention>()?;
    module.add_class::<attention::CrossAttention>()?;
    module.add_class::<train::TrainResult>()?;
    module.add_function(wrap_pyfunction!(train::train, module)?)?;
    module.add_function(wrap_pyfunction!(set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads, module)?)?;
    module.add_function(wrap_pyfunction!(instruction_set, module)?)?;
    Ok(())
}
