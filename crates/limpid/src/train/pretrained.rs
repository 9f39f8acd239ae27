//! Training that starts from a pretrained model: its labels, its heads, its generation config.

use super::config::{Pretrained, RunConfig, TaskKind};
use super::warning::RunWarning;
use crate::error::{Error, PretrainedError, Result};
use crate::hub::{self, StackConfig};
use crate::model::config::{EncoderHead, ProblemType};
use crate::model::{Model, NewHead};
use limpid_tensor::params::ParamSpec;
use serde_json::{Value, json};
use std::path::Path;

/// The labels of the pretrained model, if it is a classifier.
pub(super) fn pretrained_labels(config: &RunConfig) -> Result<Option<Vec<String>>> {
    let Some(folder) = &config.pretrained else { return Ok(None) };
    Ok(match Pretrained::read(folder, TaskKind::Classify)?.stack {
        StackConfig::Encoder(encoder) => match encoder.head {
            EncoderHead::Classifier(labels) if labels.problem() == ProblemType::SingleLabel => {
                Some(labels.names)
            }
            _ => None,
        },
        _ => None,
    })
}

/// Warnings about heads that are not loaded.
pub(super) fn new_heads(model: &Model, pretrained: &Model) -> impl Iterator<Item = RunWarning> {
    let warning = |head| match head {
        NewHead::Classifier => PretrainedError::NewClassificationHead,
        NewHead::MaskedLm => PretrainedError::NewMaskedLmHead,
    };
    let heads = model.new_heads(pretrained).into_iter();
    heads
        .map(move |head| RunWarning::Pretrained { message: Error::from(warning(head)).to_string() })
}

/// The generation config of the model in a folder, as JSON; older folders have its start and end
/// tokens in `config.json`.
pub(super) fn generation_config_of(folder: &Path) -> Result<Option<Value>> {
    let path = folder.join("generation_config.json");
    if path.is_file() {
        return hub::read_object(&path).map(|keys| Some(Value::Object(keys)));
    }
    let (config, _) = hub::load_generation_config(folder)?;
    Ok((!config.eos_token_id.is_empty()).then(
        || json!({ "bos_token_id": config.bos_token_id, "eos_token_id": config.eos_token_id }),
    ))
}

/// Refuses to leave biases untrained that the pretrained model has.
pub(super) fn check_no_bias(model: &Model, pretrained: Option<&Path>) -> Result<()> {
    let is_bias = |spec: &ParamSpec| spec.name.ends_with(".bias");
    let is_used = |id| model.params.get(id).iter().any(|number| *number != 0.0);
    let bias = model.params.iter().find(|(id, spec)| is_bias(spec) && is_used(*id));
    match (pretrained, bias) {
        (Some(folder), Some((_, bias))) => {
            let (folder, name) = (folder.to_path_buf(), bias.name.clone());
            Err(PretrainedError::HasBiases { folder, name }.into())
        }
        _ => Ok(()),
    }
}
