//! Models that depart from the usual Transformer: a `model_type` of our own, so that no other program takes them for what they are not.
//!
//! `config.json` has the keys of the family, and `norm_placement`, `positions`, `normalisation`, `residual` and `scaling` by their names.

use super::keys::Keys;
use crate::config::{NormPlacement, Normalisation, Positions, Residual, Scaling, Variant};
use crate::error::{Error, Result};
use serde_json::{Value, json};

/// The family's own name for departures from GPT.
pub(super) const GPT: &str = "limpid-gpt";
/// And from the encoder-decoder.
pub(super) const SEQ2SEQ: &str = "limpid-seq2seq";

/// Where the norms stand.
pub(super) fn placement(keys: &mut Keys) -> Result<NormPlacement> {
    match keys.text("norm_placement")?.as_deref() {
        Some("pre") => Ok(NormPlacement::Pre),
        Some("post") => Ok(NormPlacement::Post),
        other => {
            let what =
                other.map_or("norm_placement is missing".into(), |name| format!("norm_placement is {name}"));
            Err(Error::format(keys.path, what).hint("\"pre\" or \"post\""))
        }
    }
}

/// The departures.
pub(super) fn read(keys: &mut Keys, usual: Variant) -> Result<Variant> {
    let path = keys.path;
    let here = |e: Error| e.in_file(path);
    let mut variant = usual;
    if let Some(name) = keys.text("positions")? {
        variant.positions = Positions::from_name(&name).map_err(here)?;
    }
    if let Some(name) = keys.text("normalisation")? {
        variant.normalisation = Normalisation::from_name(&name).map_err(here)?;
    }
    if let Some(name) = keys.text("residual")? {
        variant.residual = Residual::from_name(&name).map_err(here)?;
    }
    if let Some(name) = keys.text("scaling")? {
        variant.scaling = Scaling::from_name(&name).map_err(here)?;
    }
    Ok(variant)
}

/// The usual families have no such keys: what they ask for would not be done.
pub(super) fn refuse(keys: &Keys) -> Result<()> {
    let departures = ["norm_placement", "positions", "normalisation", "residual", "scaling"];
    match departures.into_iter().find(|key| keys.map.contains_key(*key)) {
        None => Ok(()),
        Some(key) => Err(Error::format(
            keys.path,
            format!("{key} is no key of this model_type, and would change the result"),
        )
        .hint(format!("remove it, or say \"model_type\": \"{GPT}\" or \"{SEQ2SEQ}\""))),
    }
}

/// Turns the settings of a family into those of a departure from it.
pub(super) fn mark(config: &mut Value, family: &str, norm: NormPlacement, variant: Variant) {
    let Value::Object(map) = config else { unreachable!("settings are an object") };
    map.remove("architectures");
    let placement = if norm == NormPlacement::Pre { "pre" } else { "post" };
    for (key, value) in [
        ("model_type", family),
        ("norm_placement", placement),
        ("positions", variant.positions.name()),
        ("normalisation", variant.normalisation.name()),
        ("residual", variant.residual.name()),
        ("scaling", variant.scaling.name()),
    ] {
        map.insert(key.into(), json!(value));
    }
}
