//! Ablations of the standard Transformer, under a `model_type` of our own, so that no other program
//! takes such a model for a standard one.
//!
//! `config.json` has the keys of the family it ablates, and those of [`KEYS`].

use super::super::keys::Keys;
use crate::error::Result;
use crate::nn::{LayerOptions, Named, NormPlacement};
use serde_json::{Value, json};

/// The keys of ablations.
pub(super) const KEYS: [&str; 5] =
    ["norm_placement", "positions", "normalization", "residual", "scaling"];

/// The families that have them.
pub(super) const FAMILIES: [&str; 2] =
    [super::limpid_gpt::MODEL_TYPE, super::limpid_seq2seq::MODEL_TYPE];

/// Reads the options, with those of the standard Transformer where a key is missing.
pub(super) fn read(
    keys: &mut Keys,
    standard: LayerOptions,
) -> Result<(NormPlacement, LayerOptions)> {
    let norm = keys.named("norm_placement")?;
    let options = LayerOptions {
        positions: keys.optional_named("positions")?.unwrap_or(standard.positions),
        normalization: keys.optional_named("normalization")?.unwrap_or(standard.normalization),
        residual: keys.optional_named("residual")?.unwrap_or(standard.residual),
        scaling: keys.optional_named("scaling")?.unwrap_or(standard.scaling),
    };
    Ok((norm, options))
}

/// Writes the options.
pub(super) fn write(config: &mut Value, norm: NormPlacement, options: LayerOptions) {
    let LayerOptions { positions, normalization, residual, scaling } = options;
    let names =
        [norm.name(), positions.name(), normalization.name(), residual.name(), scaling.name()];
    for (key, name) in KEYS.into_iter().zip(names) {
        config[key] = json!(name);
    }
}
