//! `config.json`, read and written. Every key that changes the result is honoured or refused by name; one that we do not
//! know is named in a warning.

use super::keys::{Keys, read_object};
use super::{AnyConfig, bert, gpt, rnn, seq2seq, variant};
use crate::config::NormPlacement;
use crate::error::{Error, Result};
use crate::model::Architecture;
use serde_json::{Value, json};
use std::path::Path;

/// Something in a model folder that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A key of `config.json` that we do not know.
    UnknownKey(String),
    /// A key of `generation_config.json` that we do not know.
    UnknownGenerationKey(String),
    /// A tensor of the weight file that no part of the model uses.
    UnusedTensor(String),
    /// A tokenizer whose tokens are not those of the model.
    OtherVocabulary {
        /// How many the tokenizer has.
        tokenizer: usize,
        /// How many the model has.
        model: usize,
    },
}

/// Tables of embeddings are often filled up to a multiple of 64 or 128, which costs nothing and means nothing.
const FILLED_UP: usize = 128;

impl Warning {
    /// Whether tokenizer and model of a folder can belong together.
    pub fn of_vocabulary(tokenizer: usize, model: usize) -> Option<Self> {
        let fits = (tokenizer..tokenizer + FILLED_UP).contains(&model);
        (!fits).then_some(Warning::OtherVocabulary { tokenizer, model })
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::UnknownKey(key) => write!(f, "config.json has a key this program does not know: {key}"),
            Warning::UnknownGenerationKey(key) => {
                write!(f, "generation_config.json has a key this program does not know: {key}")
            }
            Warning::UnusedTensor(name) => {
                write!(f, "model.safetensors has a tensor that no part of this model uses: {name}")
            }
            Warning::OtherVocabulary { tokenizer, model } => write!(
                f,
                "tokenizer.json has {tokenizer} tokens, the model {model}: do they belong together?"
            ),
        }
    }
}

/// Keys that do not change what these models compute: records, training settings, other heads.
const HARMLESS: &[&str] = &[
    "_name_or_path",
    "_num_labels",
    "architectures",
    "bad_words_ids",
    "bos_token_id",
    "classif_dropout",
    "classifier_dropout",
    "decoder_layerdrop",
    "dtype",
    "encoder_layerdrop",
    "extra_pos_embeddings",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "init_std",
    "initializer_range",
    "is_encoder_decoder",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "model_type",
    "n_ctx",
    "num_beams",
    "num_hidden_layers",
    "num_labels",
    "output_past",
    "predict_special_tokens",
    "problem_type",
    "reorder_and_upcast_attn",
    "return_dict",
    "static_position_embeddings",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "task_specific_params",
    "torch_dtype",
    "transformers_version",
    "use_cache",
];

/// Reads a `config.json`.
pub fn read_config(path: &Path) -> Result<(AnyConfig, Vec<Warning>)> {
    let map = read_object(path)?;
    let mut keys = Keys { path, map };
    let family = match keys.map.get("model_type") {
        Some(Value::String(family)) => family.clone(),
        _ => {
            return Err(Error::format(path, "model_type is missing").hint(
                "add \"model_type\": \"gpt2\", \"openai-gpt\", \"bert\", \"marian\", \"pegasus\" or \"limpid-rnn\"",
            ));
        }
    };
    if !matches!(family.as_str(), variant::GPT | variant::SEQ2SEQ) {
        variant::refuse(&keys)?;
    }
    let config = match family.as_str() {
        "gpt2" => AnyConfig::Gpt(gpt::read_gpt2(&mut keys)?),
        "openai-gpt" => AnyConfig::Gpt(gpt::read_gpt1(&mut keys)?),
        "bert" => AnyConfig::Bert(bert::read(&mut keys)?),
        "marian" => AnyConfig::Seq2Seq(seq2seq::read(&mut keys, NormPlacement::Post)?),
        "pegasus" => AnyConfig::Seq2Seq(seq2seq::read(&mut keys, NormPlacement::Pre)?),
        rnn::FAMILY => AnyConfig::Rnn(rnn::read(&mut keys)?),
        variant::GPT => AnyConfig::Gpt(gpt::read_variant(&mut keys)?),
        variant::SEQ2SEQ => AnyConfig::Seq2Seq(seq2seq::read_variant(&mut keys)?),
        other => {
            return Err(Error::format(path, format!("model_type '{other}' is not supported"))
                .hint("supported are gpt2, openai-gpt, bert, marian, pegasus, limpid-rnn, limpid-gpt and limpid-seq2seq"));
        }
    };
    let checked = match &config {
        AnyConfig::Gpt(config) => config.validate(),
        AnyConfig::Seq2Seq(config) => config.validate(),
        AnyConfig::Bert(config) => config.validate(),
        AnyConfig::Rnn(config) => config.validate(),
    };
    checked.map_err(|e| e.in_file(path))?;
    let unknown = keys.map.into_iter().map(|(key, _)| key).filter(|key| !HARMLESS.contains(&key.as_str()));
    Ok((config, unknown.map(Warning::UnknownKey).collect()))
}

/// The texts of `config.json` and `generation_config.json`.
pub fn write_config(architecture: &Architecture) -> Result<(String, String)> {
    let (config, generation) = match architecture {
        Architecture::Gpt(model) => {
            gpt::check_file(model.config())?;
            (gpt::write(model.config()), json!({}))
        }
        Architecture::Seq2Seq(model) => seq2seq::write(model.config())?,
        Architecture::Bert(model) => (bert::write(model.config()), json!({})),
        Architecture::Rnn(model) => rnn::write(model.config()),
    };
    let pretty = |value: &Value| serde_json::to_string_pretty(value).expect("JSON of our own making") + "\n";
    Ok((pretty(&config), pretty(&generation)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tokenizer_of_another_model_is_noticed_and_a_table_that_was_filled_up_is_not() {
        for (tokenizer, model) in [(64, 600), (600, 64), (601, 600), (600, 728)] {
            let warning = Warning::of_vocabulary(tokenizer, model).unwrap().to_string();
            assert!(warning.contains(&format!("has {tokenizer} tokens, the model {model}")), "{warning}");
        }
        assert!([(600, 600), (50_257, 50_304)].iter().all(|(t, m)| Warning::of_vocabulary(*t, *m).is_none()));
    }
}
