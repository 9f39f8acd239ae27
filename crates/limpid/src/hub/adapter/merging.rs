//! Merging: W' = W + scale·B·A, after which the adapter is not needed.

use super::super::sentence::copy_sentence_modules;
use super::super::{Warning, generation_of, save_with_generation};
use super::load_adapted;
use crate::error::Result;
use crate::model::Model;
use limpid_tensor::kernels::matmul::{Accumulate, Mat, MatMut, product};
use std::path::Path;

/// Adds the updates of all adapters to the weights they adapt, and removes the adapters.
pub fn merge_adapters(model: &mut Model) {
    let params = &mut model.params;
    let all: Vec<_> = params.all_adapters().map(|(w, adapter)| (w, adapter.clone())).collect();
    for (weight, adapter) in all {
        let (a, b) = (params.get(adapter.a).to_vec(), params.get(adapter.b).to_vec());
        let (rows, width) = (adapter.rows.len(), params.shape(weight).dim(1));
        let rank = a.len() / width.max(1);
        let first = adapter.rows.start * width;
        let w = &mut params.get_mut(weight)[first..first + rows * width];
        // W' (rows, in) = W + scale·B·A.
        product(
            MatMut::new(w, rows, width),
            Mat::new(&b, rows, rank),
            Mat::new(&a, rank, width),
            adapter.scale,
            Accumulate::Add,
        );
    }
    params.remove_adapters();
}

/// Merges the adapter in `adapter` into the model in `base`, and saves the model to `out`. Returns
/// what was ignored.
/// # Errors
/// Those of [`load_adapted`], and if the folder cannot be written.
pub fn merge(base: &Path, adapter: &Path, out: &Path) -> Result<Vec<Warning>> {
    let (mut model, warnings) = load_adapted(base, adapter)?;
    merge_adapters(&mut model);
    // Its own, where its training has changed what ends a text.
    let generation = match generation_of(adapter)? {
        Some(own) => Some(own),
        None => generation_of(base)?,
    };
    save_with_generation(&model, out, generation.as_ref())?;
    copy_sentence_modules(base, out)?;
    Ok(warnings)
}
