//! What sentence-transformers' `CrossEncoder` leaves in a folder: the function that makes scores of
//! logits.

use super::keys::{Keys, read_object};
use super::sentence::transformer_folder;
use crate::error::{KeyScope, ModelError, Result};
use crate::model::config::LabelActivation;
use serde_json::Value;
use std::path::Path;

/// Classes of PyTorch, by their last name.
const FUNCTIONS: &[(&str, LabelActivation)] =
    &[("Sigmoid", LabelActivation::Sigmoid), ("Identity", LabelActivation::Identity)];

/// The function that a folder names for the logits of a cross-encoder; `None` where it names none.
///
/// It is in `config_sentence_transformers.json`, or in `config.json` under `sentence_transformers`,
/// or in files of older versions under `sbert_ce_default_activation_function`.
/// # Errors
/// If a file is not JSON, or names a function that is not supported.
pub fn load_score_activation(folder: &Path) -> Result<Option<LabelActivation>> {
    let own = folder.join("config_sentence_transformers.json");
    if own.is_file() {
        let keys = Keys { path: &own, map: read_object(&own)?, scope: KeyScope::Model };
        if let Some(found) = keys.map.get("activation_fn").filter(|found| !found.is_null()) {
            return function(&keys, "activation_fn", found).map(Some);
        }
    }
    let path = transformer_folder(folder).join(super::CONFIG);
    let keys = Keys { path: &path, map: read_object(&path)?, scope: KeyScope::Model };
    let nested = keys.map.get("sentence_transformers").and_then(|keys| keys.get("activation_fn"));
    let named = [("sentence_transformers.activation_fn", nested), (OLD_KEY, keys.map.get(OLD_KEY))];
    let named = named.into_iter().find_map(|(key, found)| Some((key, found?)));
    match named.filter(|(_, found)| !found.is_null()) {
        Some((key, found)) => function(&keys, key, found).map(Some),
        None => Ok(None),
    }
}

/// The key of versions before 4.
const OLD_KEY: &str = "sbert_ce_default_activation_function";

fn function(keys: &Keys, key: &str, found: &Value) -> Result<LabelActivation> {
    let name = found.as_str().unwrap_or_default();
    let class = name.strip_prefix("torch.").and_then(|name| name.rsplit('.').next());
    let known = FUNCTIONS.iter().find(|(known, _)| Some(*known) == class);
    known.map(|(_, function)| *function).ok_or_else(|| {
        keys.error(ModelError::UnsupportedValue {
            key: key.into(),
            found: found.to_string(),
            supported: "torch.nn.modules.activation.Sigmoid, torch.nn.modules.linear.Identity"
                .into(),
            scope: KeyScope::Model,
        })
    })
}
