//! Rotary positions in a `config.json`: `rope_parameters`, or `rope_theta` and `rope_scaling` in
//! files of older versions of `transformers`.

use super::super::keys::Keys;
use crate::error::{ModelError, Result};
use crate::nn::{RopeScaling, RotaryOptions};
use serde_json::{Map, Value, json};

/// Reads the frequencies of a model for `positions` positions; `partial` is the share of columns
/// that are turned where no key says it.
pub(super) fn read(keys: &mut Keys, positions: usize, partial: f64) -> Result<RotaryOptions> {
    let mut map = match keys.map.remove("rope_parameters") {
        Some(Value::Object(map)) => map,
        None | Some(Value::Null) => Map::new(),
        Some(found) => return Err(keys.wrong("rope_parameters", &found, "an object")),
    };
    match keys.map.remove("rope_scaling") {
        // `transformers` follows this one of both, too.
        Some(Value::Object(older)) if !older.is_empty() => map = older,
        None | Some(Value::Null | Value::Object(_)) => {}
        Some(found) => return Err(keys.wrong("rope_scaling", &found, "an object or null")),
    }
    for key in ["rope_theta", "partial_rotary_factor"] {
        if let Some(value) = keys.map.remove(key).filter(|value| !value.is_null()) {
            map.entry(key).or_insert(value);
        }
    }
    let mut number = |key: &str| -> Result<Option<f64>> {
        match map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|x| x.is_finite() && *x > 0.0) {
                Some(number) => Ok(Some(number)),
                None => Err(keys.wrong(&format!("rope_parameters.{key}"), &value, "above 0")),
            },
        }
    };
    let rope_theta = number("rope_theta")?.unwrap_or(10_000.0);
    let partial_rotary_factor = number("partial_rotary_factor")?.unwrap_or(partial);
    let original = number("original_max_position_embeddings")?.unwrap_or(positions as f64);
    let factor = number("factor")?;
    let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
    let (fast, slow) = (number("beta_fast")?, number("beta_slow")?);
    let attention = number("attention_factor")?;
    let (mscale, mscale_all) = (number("mscale")?, number("mscale_all_dim")?);
    let truncate = map.remove("truncate").and_then(|value| value.as_bool()).unwrap_or(true);
    let kind = map.remove("rope_type").or_else(|| map.remove("type"));
    map.remove("type");
    let missing =
        |key: &str| keys.error(ModelError::MissingKey { key: format!("rope_parameters.{key}") });
    let factor_of = || factor.ok_or_else(|| missing("factor"));
    let scaling = match kind.as_ref().and_then(Value::as_str) {
        None | Some("default") => RopeScaling::None,
        // Changes frequencies only beyond the model's positions, which are refused.
        Some("dynamic") => RopeScaling::None,
        Some("linear") => RopeScaling::Linear { factor: factor_of()? },
        Some("llama3") => RopeScaling::Llama3 {
            factor: factor_of()?,
            low_freq_factor: low.ok_or_else(|| missing("low_freq_factor"))?,
            high_freq_factor: high.ok_or_else(|| missing("high_freq_factor"))?,
            original_max_position_embeddings: original,
        },
        Some("yarn") => {
            let factor = factor_of()?;
            let scale = |weight: f64| match factor > 1.0 {
                true => 0.1 * weight * factor.ln() + 1.0,
                false => 1.0,
            };
            let inferred = match (mscale, mscale_all) {
                (Some(a), Some(b)) => scale(a) / scale(b),
                _ => scale(1.0),
            };
            RopeScaling::Yarn {
                factor,
                beta_fast: fast.unwrap_or(32.0),
                beta_slow: slow.unwrap_or(1.0),
                original_max_position_embeddings: original,
                attention_factor: attention.unwrap_or(inferred),
                truncate,
            }
        }
        Some(found) => {
            return Err(keys.error(ModelError::UnsupportedValue {
                key: "rope_parameters.rope_type".into(),
                found: json!(found).to_string(),
                supported: "default, linear, dynamic, llama3 or yarn".into(),
                scope: keys.scope,
            }));
        }
    };
    if let Some((key, value)) = map.iter().next() {
        let key = format!("rope_parameters.{key}");
        return Err(keys.wrong(&key, value, "a key that is known"));
    }
    Ok(RotaryOptions { rope_theta, partial_rotary_factor, scaling })
}

/// Writes `rope_theta` and `rope_scaling`, which every version reads.
pub(super) fn write(value: &mut Value, options: &RotaryOptions) {
    value["rope_theta"] = json!(options.rope_theta);
    value["rope_scaling"] = match options.scaling {
        RopeScaling::None => Value::Null,
        RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
        RopeScaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_max_position_embeddings: original,
        } => json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": low_freq_factor,
            "high_freq_factor": high_freq_factor,
            "original_max_position_embeddings": original as u64,
        }),
        RopeScaling::Yarn {
            factor,
            beta_fast,
            beta_slow,
            original_max_position_embeddings: original,
            attention_factor,
            truncate,
        } => json!({
            "rope_type": "yarn",
            "factor": factor,
            "beta_fast": beta_fast,
            "beta_slow": beta_slow,
            "original_max_position_embeddings": original as u64,
            "attention_factor": attention_factor,
            "truncate": truncate,
        }),
    };
}
