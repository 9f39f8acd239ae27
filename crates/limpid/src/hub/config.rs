//! `config.json`, read and written. Every key that changes the result is honoured or refused by
//! name; an unknown key is named in a warning.

use super::keys::{Keys, read_object};
use super::quantization::{KEY, Quantization};
use super::{families, own_params};
use crate::error::{KeyScope, ModelError, Result};
use crate::model::Model;
use crate::model::config::StackConfig;
use crate::nn::Positions;
use limpid_tensor::kernels::quantized::Format;
use serde_json::{Value, json};
use std::path::Path;

/// Something in a model folder that was ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// An unknown key of `config.json`.
    #[error("config.json: unknown key {0} is ignored")]
    UnknownKey(String),
    /// An unknown key of `generation_config.json`.
    #[error("generation_config.json: unknown key {0} is ignored")]
    UnknownGenerationKey(String),
    /// A tensor of the weight file that no part of the model uses.
    #[error("model.safetensors: no part of the model uses tensor {0}")]
    UnusedTensor(String),
    /// A tokenizer whose vocabulary does not fit the model's.
    #[error(
        "tokenizer.json has {tokenizer} tokens, the model's vocabulary {model}: do they belong \
         together?"
    )]
    OtherVocabulary {
        /// Number of tokens of the tokenizer.
        tokenizer: usize,
        /// Size of the model's vocabulary.
        model: usize,
    },
}

/// Embedding tables are often padded to a multiple of 64 or 128.
const MAX_PADDING: usize = 128;

impl Warning {
    /// A warning if the vocabulary sizes of tokenizer and model do not fit.
    pub fn of_vocabulary(tokenizer: usize, model: usize) -> Option<Self> {
        let fits = (tokenizer..tokenizer + MAX_PADDING).contains(&model);
        (!fits).then_some(Warning::OtherVocabulary { tokenizer, model })
    }
}

/// Keys that do not change what the supported models compute: records, training, other heads,
/// decoding (read elsewhere), speed.
const HARMLESS: &[&str] = &[
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "_num_labels",
    "architectures",
    "attn_implementation",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classif_dropout",
    "classifier_dropout",
    "decoder_layerdrop",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_layerdrop",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "extra_pos_embeddings",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "init_std",
    "initializer_range",
    "is_encoder_decoder",
    "label2id",
    "length_penalty",
    "mask_token_id",
    "max_length",
    "max_new_tokens",
    "min_length",
    "min_new_tokens",
    "model_type",
    "n_ctx",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_hidden_layers",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "predict_special_tokens",
    "prefix",
    "problem_type",
    "remove_invalid_values",
    "renormalize_logits",
    "reorder_and_upcast_attn",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sbert_ce_default_activation_function",
    "sentence_transformers",
    "sep_token_id",
    "static_position_embeddings",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_cache",
];

/// Reads a `config.json`. Returns the configuration, and a warning for each unknown key.
/// # Errors
/// If the file cannot be read, if its `model_type` or a value is not supported, or if no such model
/// can be built.
pub fn read_config(path: &Path) -> Result<(StackConfig, Vec<Warning>)> {
    let ConfigFile { config, warnings, .. } = read_family(path)?;
    Ok((config, warnings))
}

/// The format of the first quantized parameter that a `config.json` lists; `None` if there is
/// none.
/// # Errors
/// Those of [`read_config`].
pub fn quantized_as(path: &Path) -> Result<Option<Format>> {
    let parameters = read_family(path)?.quantization.parameters;
    Ok(parameters.into_values().next().map(|packed| packed.format))
}

/// What a `config.json` says.
pub(super) struct ConfigFile {
    pub(super) family: &'static dyn families::Family,
    pub(super) config: StackConfig,
    pub(super) quantization: Quantization,
    pub(super) warnings: Vec<Warning>,
}

/// The same, with the family and what is quantized.
pub(super) fn read_family(path: &Path) -> Result<ConfigFile> {
    let mut keys = Keys { path, map: read_object(path)?, scope: KeyScope::Model };
    let quantization = Quantization::read(path, keys.map.remove("quantization_config"))?;
    let supported = families::model_types;
    let found = match keys.map.get("model_type") {
        Some(Value::String(found)) => found.clone(),
        _ => return Err(keys.error(ModelError::MissingModelType { supported: supported() })),
    };
    let family = families::find(&found).ok_or_else(|| {
        keys.error(ModelError::UnsupportedModelType { found, supported: supported() })
    })?;
    let config = family.read(&mut keys)?;
    families::check_foreign_keys(family.model_type(), &keys)?;
    config.validate().map_err(|e| e.in_file(path))?;
    let unknown = keys.map.into_iter().map(|(key, _)| key);
    let unknown = unknown.filter(|key| !HARMLESS.contains(&key.as_str()));
    let warnings = unknown.map(Warning::UnknownKey).collect();
    Ok(ConfigFile { family, config, quantization, warnings })
}

/// Checks that a model of this configuration can be saved.
/// # Errors
/// [`ModelError`], if no family of files can hold it.
pub fn check_can_save(config: impl Into<StackConfig>) -> Result<()> {
    families::of(None, &config.into()).map(drop)
}

/// The texts of `config.json` and of the default `generation_config.json`, which an encoder has
/// none of.
/// # Errors
/// [`ModelError`], if no family of files can hold the model.
pub fn write_config(model: &Model) -> Result<(String, Option<String>)> {
    let config = model.stack.config();
    let (family, mut value) = families::of(model.model_type, &config)?;
    let tensors = family.layout(&config).tensors(own_params(model));
    if let Some(quantization) = Quantization::of(&model.params, &tensors).write() {
        value[KEY] = quantization;
    }
    Ok((pretty(&value), default_generation(&config).as_ref().map(pretty)))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("keys are strings") + "\n"
}

/// How a model generates by default; an encoder does not generate.
fn default_generation(config: &StackConfig) -> Option<Value> {
    let (pad, eos, start, max_length) = match config {
        StackConfig::Decoder(_) => return Some(json!({})),
        StackConfig::Encoder(_) => return None,
        StackConfig::EncoderDecoder(c) => {
            // Relative positions have no end; a text should.
            let longest = match c.options.positions {
                Positions::Relative => c.max_position_embeddings.min(512),
                _ => c.max_position_embeddings,
            };
            (c.pad_token_id, c.eos_token_id, c.decoder_start_token_id, longest)
        }
        StackConfig::Recurrent(c) => {
            (c.pad_token_id, c.eos_token_id, c.decoder_start_token_id, c.max_length)
        }
    };
    Some(json!({
        "bad_words_ids": [[pad]],
        "decoder_start_token_id": start,
        "eos_token_id": eos,
        "pad_token_id": pad,
        "max_length": max_length,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tokenizer_of_another_model_is_noticed_and_a_padded_table_is_not() {
        for (tokenizer, model) in [(64, 600), (600, 64), (601, 600), (600, 728)] {
            let warning = Warning::of_vocabulary(tokenizer, model).unwrap().to_string();
            let sizes = format!("has {tokenizer} tokens, the model's vocabulary {model}");
            assert!(warning.contains(&sizes), "{warning}");
        }
        let fits = |(tokenizer, model)| Warning::of_vocabulary(tokenizer, model).is_none();
        assert!([(600, 600), (50_257, 50_304)].into_iter().all(fits));
    }
}
