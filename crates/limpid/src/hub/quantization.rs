//! `quantization_config`: which parameters of a folder are stored packed, and how.
//!
//! ```text
//! "quantization_config": {
//!   "quant_method": "limpid",
//!   "version": 2,
//!   "group_size": 32,
//!   "parameters": {
//!     "layers.0.feed_forward.up.weight": {
//!       "dtype": "int8",
//!       "tensors": ["transformer.h.0.mlp.c_fc.weight"]
//!     }
//!   }
//! }
//! ```
//!
//! A parameter has the name it has in memory; `tensors` are those of the family's files that it
//! stands for. The weight file holds `NAME.packed` and, for int8 and int4, `NAME.scales`, in the
//! order of [`limpid_tensor::kernels::quantized::matrix`]; all other parameters are stored as in
//! any folder of the family.

use super::keys::Keys;
use super::layout::FileTensor;
use crate::error::{Error, KeyScope, ModelError, Result};
use limpid_tensor::kernels::quantized::{Format, GROUP};
use limpid_tensor::params::{ParamId, Params, ParamsBuilder, Use};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// The `quant_method` of our folders; others are refused.
const METHOD: &str = "limpid";
/// The version of the format.
const VERSION: u64 = 2;
/// Its key in `config.json`.
pub(super) const KEY: &str = "quantization_config";

/// Added to a parameter's name: its packed weights, and their scales.
pub(super) const PACKED: &str = ".packed";
pub(super) const SCALES: &str = ".scales";

/// A packed parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedParam {
    /// How it is stored.
    pub format: Format,
    /// The tensors of the family's files that it stands for.
    pub tensors: Vec<String>,
}

/// The packed parameters of a folder, by name; none in a folder without `quantization_config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantization {
    /// By the parameter's name.
    pub parameters: BTreeMap<String, PackedParam>,
}

impl Quantization {
    /// The quantized parameters of a model whose family has these tensors.
    pub(super) fn of(params: &Params, tensors: &[FileTensor]) -> Self {
        let packed = params.iter().filter_map(|(id, spec)| {
            let format = params.quantized(id)?.format();
            Some((spec.name.clone(), PackedParam { format, tensors: names_of(id, tensors) }))
        });
        Self { parameters: packed.collect() }
    }

    /// Checks that every packed parameter is a weight of the model, stored in place of its tensors.
    pub(super) fn check(
        &self,
        path: &Path,
        params: &ParamsBuilder,
        tensors: &[FileTensor],
    ) -> Result<()> {
        for (name, packed) in &self.parameters {
            let weight = params.iter().find(|(_, spec)| spec.name == *name);
            let weight = weight.filter(|(_, spec)| spec.used_for == Use::Weight);
            let Some((id, _)) = weight else {
                let error = ModelError::NotAWeight { parameter: name.clone() };
                return Err(Error::from(error).in_file(path));
            };
            let expected = names_of(id, tensors);
            if packed.tensors != expected {
                let key = format!("{KEY}.parameters.{name}.tensors");
                return Err(wrong(path, key, &json!(packed.tensors), &json!(expected).to_string()));
            }
        }
        Ok(())
    }

    /// How each packed parameter is stored, by name.
    pub(super) fn formats(&self) -> BTreeMap<String, Format> {
        self.parameters.iter().map(|(name, packed)| (name.clone(), packed.format)).collect()
    }

    /// Whether a tensor of the family's files is part of a packed parameter.
    pub(super) fn stands_for(&self, tensor: &str) -> bool {
        self.parameters.values().any(|packed| packed.tensors.iter().any(|name| name == tensor))
    }

    /// Whether a tensor of the weight file holds a packed parameter or its scales.
    pub(super) fn packs(&self, tensor: &str) -> bool {
        let ends = [PACKED, SCALES].iter();
        ends.filter_map(|end| tensor.strip_suffix(end)).any(|p| self.parameters.contains_key(p))
    }

    /// Reads the value of `quantization_config`, if there is one.
    pub(super) fn read(path: &Path, value: Option<Value>) -> Result<Self> {
        let map = match value {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(map)) => map,
            Some(other) => return Err(wrong(path, KEY.into(), &other, "an object")),
        };
        match map.get("quant_method") {
            Some(Value::String(method)) if method == METHOD => {}
            Some(Value::String(method)) => {
                let error = ModelError::Quantized { method: method.clone() };
                return Err(Error::from(error).in_file(path));
            }
            _ => {
                let error = ModelError::Quantized { method: "an unnamed method".into() };
                return Err(Error::from(error).in_file(path));
            }
        }
        let mut keys = Keys { path, map, scope: KeyScope::Model };
        keys.map.remove("quant_method");
        for (key, expected) in [("version", VERSION), ("group_size", GROUP as u64)] {
            let found = keys.map.remove(key).unwrap_or(Value::Null);
            if found.as_u64() != Some(expected) {
                return Err(wrong(path, format!("{KEY}.{key}"), &found, &expected.to_string()));
            }
        }
        let parameters = match keys.map.remove("parameters") {
            Some(Value::Object(parameters)) => parameters,
            other => {
                let found = other.unwrap_or(Value::Null);
                let key = format!("{KEY}.parameters");
                return Err(wrong(path, key, &found, "an object of parameters"));
            }
        };
        if let Some((key, found)) = keys.map.iter().next() {
            return Err(wrong(path, format!("{KEY}.{key}"), found, "no such key"));
        }
        let parameters = parameters.into_iter().map(|(name, value)| packed(path, name, value));
        Ok(Self { parameters: parameters.collect::<Result<_>>()? })
    }

    /// The value of `quantization_config`; `None` if nothing is packed.
    pub(super) fn write(&self) -> Option<Value> {
        let one = |(name, packed): (&String, &PackedParam)| {
            let value = json!({ "dtype": packed.format.name(), "tensors": packed.tensors });
            (name.clone(), value)
        };
        let parameters: Map<String, Value> = self.parameters.iter().map(one).collect();
        (!parameters.is_empty()).then(|| {
            json!({ "quant_method": METHOD, "version": VERSION, "group_size": GROUP,
                "parameters": parameters })
        })
    }
}

fn names_of(id: ParamId, tensors: &[FileTensor]) -> Vec<String> {
    tensors.iter().filter(|tensor| tensor.param == id).map(|t| t.name.clone()).collect()
}

fn wrong(path: &Path, key: String, found: &Value, expected: &str) -> Error {
    let (found, expected) = (found.to_string(), expected.into());
    Error::from(ModelError::WrongValue { key, found, expected }).in_file(path)
}

fn packed(path: &Path, name: String, value: Value) -> Result<(String, PackedParam)> {
    let key = |part: &str| format!("{KEY}.parameters.{name}{part}");
    let format = value["dtype"].as_str().and_then(Format::from_name).ok_or_else(|| {
        wrong(path, key(".dtype"), &value["dtype"], "\"int8\", \"int4\" or \"bf16\"")
    })?;
    let tensors = value["tensors"].as_array().and_then(|names| {
        names.iter().map(|name| name.as_str().map(String::from)).collect::<Option<Vec<_>>>()
    });
    let expected = "the names of tensors";
    let tensors =
        tensors.ok_or_else(|| wrong(path, key(".tensors"), &value["tensors"], expected))?;
    Ok((name, PackedParam { format, tensors }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Quantization> {
        Quantization::read(Path::new("config.json"), Some(value))
    }

    fn config(name: &str, dtype: &str) -> Value {
        json!({ "quant_method": "limpid", "version": 2, "group_size": 32,
            "parameters": { name: { "dtype": dtype, "tensors": ["a.b", "c"] } } })
    }

    #[test]
    fn what_is_written_is_read_back() {
        let read = read(config("x.weight", "int4")).unwrap();
        assert_eq!(read.parameters["x.weight"].format, Format::Int4);
        assert!(read.stands_for("c") && !read.stands_for("d"));
        assert_eq!(read.write(), Some(config("x.weight", "int4")));
        assert_eq!(Quantization::default().write(), None);
    }

    #[test]
    fn other_methods_versions_group_sizes_and_keys_are_refused_by_name() {
        let refused = |change: &dyn Fn(&mut Value)| {
            let mut value = config("x", "int8");
            change(&mut value);
            read(value).unwrap_err().to_string()
        };
        let error = refused(&|c| c["quant_method"] = json!("gptq"));
        assert!(error.contains("quantized with gptq"), "{error}");
        let error = refused(&|c| c["version"] = json!(1));
        assert!(error.contains("quantization_config.version is 1, expected 2"), "{error}");
        let error = refused(&|c| c["group_size"] = json!(128));
        assert!(error.contains("group_size is 128, expected 32"), "{error}");
        let error = refused(&|c| c["bits"] = json!(4));
        assert!(error.contains("quantization_config.bits is 4"), "{error}");
        let error = refused(&|c| c["parameters"]["x"]["dtype"] = json!("int3"));
        assert!(error.contains("parameters.x.dtype is \"int3\", expected \"int8\""), "{error}");
        let error = refused(&|c| c["parameters"] = json!([1]));
        assert!(error.contains("parameters is [1]"), "{error}");
    }
}
