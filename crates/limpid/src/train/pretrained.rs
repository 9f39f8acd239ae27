//! Training that starts from a pretrained model: its labels, its heads, its generation config.

use super::config::{Pretrained, RunConfig, Task};
use super::warning::RunWarning;
use crate::data::template::EncoderTemplate;
use crate::error::{Error, PretrainedError, Result};
use crate::hub::{self, StackConfig};
use crate::model::config::{EncoderConfig, EncoderHead};
use crate::model::{Model, NewHead};
use crate::text::Tokenizer;
use limpid_tensor::params::ParamSpec;
use serde_json::{Value, json};
use std::path::Path;

/// The labels of the pretrained model, if it has a head for the same task and problem.
pub(super) fn pretrained_labels(config: &RunConfig) -> Result<Option<Vec<String>>> {
    let Some(folder) = &config.pretrained else { return Ok(None) };
    let stack = Pretrained::read(folder, config.kind())?.stack;
    Ok(match &config.task {
        Task::Classify(task) => {
            let labels = stack.labels().filter(|labels| labels.problem() == task.problem);
            labels.map(|labels| labels.names.clone())
        }
        Task::Tag(_) => match stack {
            StackConfig::Encoder(EncoderConfig {
                head: EncoderHead::TokenClassifier(labels),
                ..
            }) => Some(labels),
            _ => None,
        },
        _ => None,
    })
}

/// How the run's model reads texts, or pairs of texts.
///
/// # Errors
/// [`PretrainedError::OneTokenType`] if its tokenizer marks the second text of a pair and the
/// pretrained model has no such token type; an encoder's tokenizer has no token before a text.
pub(super) fn check_pairs(
    config: &RunConfig,
    tokenizer: &Tokenizer,
    texts: usize,
) -> Result<EncoderTemplate> {
    let Some(folder) = &config.pretrained else { return EncoderTemplate::new(tokenizer) };
    let StackConfig::Encoder(encoder) = Pretrained::read(folder, config.kind())?.stack else {
        return EncoderTemplate::any(tokenizer);
    };
    let template = EncoderTemplate::new(tokenizer)?;
    match template.fits_types(texts, encoder.type_vocab_size) {
        true => Ok(template),
        false => Err(PretrainedError::OneTokenType { folder: folder.clone() }.into()),
    }
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
