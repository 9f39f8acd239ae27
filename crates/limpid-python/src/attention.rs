//! Attention weights as arrays.

use crate::arrays;
use limpid::inspect;
use limpid::text::Tokenizer;
use numpy::{PyArray2, PyArray3};
use pyo3::prelude::*;

/// The attention of every layer over a text.
#[pyclass(frozen, get_all, module = "limpid")]
pub struct Attention {
    /// The tokens that the model read.
    tokens: Vec<String>,
    /// Its layers, first to last.
    layers: Vec<Py<LayerAttention>>,
}

/// The attention weights of one layer.
#[pyclass(frozen, get_all, module = "limpid")]
pub struct LayerAttention {
    /// Which, such as "self_attention".
    name: String,
    /// The layer, counted from 0.
    layer: usize,
    /// Weights (heads, queries, keys); those of a query add up to 1.
    weights: Py<PyArray3<f32>>,
}

/// A translation with the attention of its decoder to its source.
#[pyclass(frozen, get_all, module = "limpid")]
pub struct CrossAttention {
    /// The translation.
    translation: String,
    /// Tokens of the source, the end token last.
    source: Vec<String>,
    /// Tokens of the translation, the end token last.
    target: Vec<String>,
    /// The decoder layer, counted from 0: the one with the sharpest attention.
    layer: usize,
    /// Weights (target, source), the mean over the heads.
    weights: Py<PyArray2<f32>>,
}

impl Attention {
    pub fn new(
        py: Python<'_>,
        tokenizer: &Tokenizer,
        ids: &[u32],
        found: Vec<inspect::LayerAttention>,
    ) -> PyResult<Self> {
        let tokens = ids.iter().map(|id| tokenizer.token(*id)).collect();
        let layer = |found: inspect::LayerAttention| {
            let inspect::LayerAttention { name, layer, heads } = found;
            let weights = arrays::heads(py, &heads)?.unbind();
            Py::new(py, LayerAttention { name, layer, weights })
        };
        Ok(Self { tokens, layers: found.into_iter().map(layer).collect::<PyResult<_>>()? })
    }
}

impl CrossAttention {
    pub fn new(py: Python<'_>, found: inspect::TranslationAttention) -> PyResult<Self> {
        let inspect::TranslationAttention { translation, source, target, layer, weights } = found;
        let weights = arrays::matrix(py, &weights, source.len())?.unbind();
        Ok(Self { translation, source, target, layer, weights })
    }
}
