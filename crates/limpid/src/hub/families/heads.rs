//! Heads with labels: the keys of labels, and sequence classification on decoders.

use super::super::keys::Keys;
use super::super::layout::{Layout, Stored};
use crate::error::{ModelError, Result};
use crate::model::config::{DecoderConfig, DecoderHead, Labels, StackConfig};
use crate::nn::Named;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// More labels than this need names.
const MAX_UNNAMED_LABELS: usize = 1 << 16;

/// The labels of a sequence classifier, and `problem_type`.
pub(super) fn read_labels(keys: &mut Keys) -> Result<Labels> {
    let problem_type = keys.optional_named("problem_type")?;
    Ok(Labels { names: read_names(keys)?, problem_type })
}

/// `id2label`, or as many unnamed labels as `num_labels` says: two where it is missing, as in
/// `transformers`.
pub(super) fn read_names(keys: &mut Keys) -> Result<Vec<String>> {
    let labels: Vec<String> = match keys.map.remove("id2label") {
        None | Some(Value::Null) => {
            let count = keys.optional_size("num_labels")?.unwrap_or(2);
            if count > MAX_UNNAMED_LABELS {
                let expected = "at most 65536 labels";
                return Err(keys.wrong("num_labels", &json!(count), expected));
            }
            (0..count).map(|i| format!("LABEL_{i}")).collect()
        }
        Some(found) => {
            let label = |map: &Map<String, Value>, i: usize| {
                map.get(&i.to_string())?.as_str().map(String::from)
            };
            let all =
                found.as_object().and_then(|map| (0..map.len()).map(|i| label(map, i)).collect());
            let expected = "a label for each of \"0\", \"1\", …";
            all.ok_or_else(|| keys.wrong("id2label", &found, expected))?
        }
    };
    let mut seen = BTreeSet::new();
    if let Some(label) = labels.iter().find(|label| !seen.insert(*label)) {
        return Err(keys.error(ModelError::DuplicateLabel { label: label.clone() }));
    }
    Ok(labels)
}

/// Writes the keys of [`read_labels`].
pub(super) fn write_labels(value: &mut Value, labels: &Labels) {
    write_names(value, &labels.names);
    value["problem_type"] = json!(labels.problem_type.map(Named::name));
}

/// Writes the keys of [`read_names`].
pub(super) fn write_names(value: &mut Value, labels: &[String]) {
    let ids = labels.iter().enumerate();
    let id2label: Map<_, _> = ids.map(|(i, label)| (i.to_string(), json!(label))).collect();
    let ids = labels.iter().enumerate();
    let label2id: Map<_, _> = ids.map(|(i, label)| (label.clone(), json!(i))).collect();
    value["id2label"] = id2label.into();
    value["label2id"] = label2id.into();
}

/// The classes of `transformers` that a family of decoders has.
pub(super) struct DecoderClasses {
    /// With a language-model head, the class without a head, and with a sequence classifier.
    pub(super) all: [&'static str; 3],
    /// The padding token of a classifier whose `config.json` does not say.
    pub(super) pad_token_id: Option<u32>,
}

impl DecoderClasses {
    /// The head that `architectures` names; a language model where it names none.
    pub(super) fn read(&self, keys: &mut Keys) -> Result<DecoderHead> {
        keys.check_class(&self.all)?;
        let named = keys.map.get("architectures").and_then(|all| all.get(0)?.as_str());
        if named != Some(self.all[2]) {
            return Ok(DecoderHead::LanguageModel);
        }
        let pad_token_id = match keys.map.remove("pad_token_id") {
            None => self.pad_token_id,
            // A negative one is no token.
            Some(value) if value.as_i64().is_some_and(|id| id < 0) => None,
            Some(value) => {
                keys.map.insert("pad_token_id".into(), value);
                keys.optional_size("pad_token_id")?.map(|id| id as u32)
            }
        };
        Ok(DecoderHead::Classifier { labels: read_labels(keys)?, pad_token_id })
    }

    /// Writes the class of a decoder, and the keys of its labels.
    pub(super) fn write(&self, value: &mut Value, c: &DecoderConfig) {
        value["architectures"] = json!([self.all[0]]);
        if let DecoderHead::Classifier { labels, pad_token_id } = &c.head {
            value["architectures"] = json!([self.all[2]]);
            value["pad_token_id"] = json!(pad_token_id);
            write_labels(value, labels);
        }
    }
}

/// The layout of a decoder with its head: a classifier has `score` instead of an output projection,
/// which files may hold all the same.
pub(super) fn with_decoder_head(layout: Layout, config: &StackConfig) -> Layout {
    match config {
        StackConfig::Decoder(c) if c.labels().is_some() => {
            Layout { head: &[("score", Stored::Same("score"))], copies: &[], ..layout }
        }
        _ => layout,
    }
}
