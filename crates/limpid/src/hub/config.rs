//! `config.json`, read and written. Every key that changes the result is honoured or refused by name; one that we do not
//! know is named in a warning.

use super::{AnyConfig, bert, rnn, variant};
use crate::config::{
    GptConfig, NormPlacement, ScaleEmbedding, Seq2SeqConfig, Tie, activation_from_name, activation_name,
};
use crate::error::{Error, Result};
use crate::model::Architecture;
use serde_json::{Map, Value, json};
use std::fs;
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

/// The object that a JSON file holds.
pub(super) fn read_object(path: &Path) -> Result<Map<String, Value>> {
    let text = fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|e| Error::format(path, format!("not JSON: {e}")).hint("is it complete? copy it again"))?;
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Error::format(path, "a JSON object with the model's settings was expected")
            .hint("{\"model_type\": \"marian\", …}")),
    }
}

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
    let config = match family.as_str() {
        "gpt2" => AnyConfig::Gpt(gpt2(&mut keys)?),
        "openai-gpt" => AnyConfig::Gpt(gpt1(&mut keys)?),
        "bert" => AnyConfig::Bert(bert::read(&mut keys)?),
        "marian" => AnyConfig::Seq2Seq(seq2seq(&mut keys, NormPlacement::Post)?),
        "pegasus" => AnyConfig::Seq2Seq(seq2seq(&mut keys, NormPlacement::Pre)?),
        rnn::FAMILY => AnyConfig::Rnn(rnn::read(&mut keys)?),
        variant::GPT => {
            let norm = variant::placement(&mut keys)?;
            let key = if norm == NormPlacement::Pre { "activation_function" } else { "afn" };
            let activation = keys.text(key)?.unwrap_or_else(|| "gelu_new".into());
            // GPT-1's "gelu" is the tanh approximation.
            let activation =
                if key == "afn" && activation == "gelu" { "gelu_new".into() } else { activation };
            let config = gpt(&mut keys, norm, &activation)?;
            let variant = variant::read(&mut keys, config.variant)?;
            AnyConfig::Gpt(GptConfig { variant, ..config })
        }
        variant::SEQ2SEQ => {
            let norm = variant::placement(&mut keys)?;
            let config = seq2seq(&mut keys, norm)?;
            let variant = variant::read(&mut keys, config.variant)?;
            AnyConfig::Seq2Seq(Seq2SeqConfig { variant, ..config })
        }
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

fn gpt2(keys: &mut Keys) -> Result<GptConfig> {
    keys.must_be("scale_attn_weights", &json!(true))?;
    keys.must_be("scale_attn_by_inverse_layer_idx", &json!(false))?;
    keys.must_be("add_cross_attention", &json!(false))?;
    let activation = keys.text("activation_function")?.unwrap_or_else(|| "gelu_new".into());
    gpt(keys, NormPlacement::Pre, &activation)
}

fn gpt1(keys: &mut Keys) -> Result<GptConfig> {
    // This family's "gelu" is the tanh approximation.
    let activation = match keys.text("afn")?.as_deref() {
        None | Some("gelu") => "gelu_new".to_string(),
        Some(other) => other.to_string(),
    };
    gpt(keys, NormPlacement::Post, &activation)
}

fn gpt(keys: &mut Keys, norm: NormPlacement, activation: &str) -> Result<GptConfig> {
    let n_embd = keys.size("n_embd")?;
    let residual = keys.share("resid_pdrop")?.unwrap_or(0.1);
    // Two more dropouts of this family; they act in training only, and ours has one rate for all.
    keys.share("embd_pdrop")?;
    keys.share("attn_pdrop")?;
    keys.map.remove("eos_token_id");
    keys.map.remove("pad_token_id");
    Ok(GptConfig {
        vocab_size: keys.size("vocab_size")?,
        n_positions: keys.size("n_positions")?,
        n_embd,
        n_layer: keys.size("n_layer")?,
        n_head: keys.size("n_head")?,
        n_inner: keys.optional_size("n_inner")?.unwrap_or(4 * n_embd),
        activation_function: activation_from_name(activation).map_err(|e| e.in_file(keys.path))?,
        layer_norm_epsilon: keys.share("layer_norm_epsilon")?.unwrap_or(1e-5),
        norm,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout: residual,
        variant: GptConfig::USUAL,
    })
}

fn seq2seq(keys: &mut Keys, norm: NormPlacement) -> Result<Seq2SeqConfig> {
    let vocab_size = keys.size("vocab_size")?;
    keys.must_be("normalize_embedding", &json!(false))?;
    keys.must_be("add_final_layer_norm", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("normalize_before", &json!(norm == NormPlacement::Pre))?;
    keys.must_be("add_bias_logits", &json!(false))?;
    keys.must_be("is_decoder", &json!(false))?;
    keys.must_be("forced_bos_token_id", &Value::Null)?;
    let activation = keys.text("activation_function")?.unwrap_or_else(|| "gelu".into());
    let dropout = keys.share("dropout")?.unwrap_or(0.1);
    keys.share("attention_dropout")?;
    keys.share("activation_dropout")?;
    let scale = match keys.flag("scale_embedding")? {
        Some(true) => ScaleEmbedding::SqrtWidth,
        _ => ScaleEmbedding::One,
    };
    Ok(Seq2SeqConfig {
        vocab_size,
        decoder_vocab_size: keys.optional_size("decoder_vocab_size")?.unwrap_or(vocab_size),
        d_model: keys.size("d_model")?,
        encoder_layers: keys.size("encoder_layers")?,
        decoder_layers: keys.size("decoder_layers")?,
        encoder_attention_heads: keys.size("encoder_attention_heads")?,
        decoder_attention_heads: keys.size("decoder_attention_heads")?,
        encoder_ffn_dim: keys.size("encoder_ffn_dim")?,
        decoder_ffn_dim: keys.size("decoder_ffn_dim")?,
        max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(1024),
        activation_function: activation_from_name(&activation).map_err(|e| e.in_file(keys.path))?,
        scale_embedding: scale,
        norm,
        share_encoder_decoder_embeddings: keys.tie("share_encoder_decoder_embeddings")?,
        tie_word_embeddings: keys.tie("tie_word_embeddings")?,
        dropout,
        pad_token_id: keys.size("pad_token_id")? as u32,
        eos_token_id: keys.size("eos_token_id")? as u32,
        decoder_start_token_id: keys.size("decoder_start_token_id")? as u32,
        variant: Seq2SeqConfig::USUAL,
    })
}

/// The keys of a file; those that were read are taken out.
pub(super) struct Keys<'a> {
    pub(super) path: &'a Path,
    pub(super) map: Map<String, Value>,
}

impl Keys<'_> {
    pub(super) fn wrong(&self, key: &str, found: &Value, expected: &str) -> Error {
        Error::format(self.path, format!("{key} is {found}, {expected} was expected"))
            .hint("correct the file")
    }

    pub(super) fn size(&mut self, key: &str) -> Result<usize> {
        self.optional_size(key)?.ok_or_else(|| {
            Error::format(self.path, format!("{key} is missing"))
                .hint("every size of the model must be given")
        })
    }

    pub(super) fn optional_size(&mut self, key: &str) -> Result<Option<usize>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            // 2³¹: larger than any model, small enough that no product of sizes overflows unnoticed.
            Some(value) => match value.as_u64().filter(|n| *n < 1 << 31) {
                Some(n) => Ok(Some(n as usize)),
                None => Err(self.wrong(key, &value, "a whole number below 2^31")),
            },
        }
    }

    pub(super) fn share(&mut self, key: &str) -> Result<Option<f32>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64().filter(|x| (0.0..1.0).contains(x)) {
                Some(x) => Ok(Some(x as f32)),
                None => Err(self.wrong(key, &value, "a number in [0, 1)")),
            },
        }
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(value) => Err(self.wrong(key, &value, "a name")),
        }
    }

    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(value) => Err(self.wrong(key, &value, "true or false")),
        }
    }

    pub(super) fn number(&mut self, key: &str) -> Result<Option<f32>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_f64() {
                Some(x) => Ok(Some(x as f32)),
                None => Err(self.wrong(key, &value, "a number")),
            },
        }
    }

    /// One id, or a list of them.
    pub(super) fn ids(&mut self, key: &str) -> Result<Vec<u32>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(value) => {
                let ids = match &value {
                    Value::Array(ids) => ids.iter().map(token_id).collect(),
                    id => token_id(id).map(|id| vec![id]),
                };
                ids.ok_or_else(|| self.wrong(key, &value, "a token id or a list of them"))
            }
        }
    }

    /// One id at most.
    pub(super) fn one_id(&mut self, key: &str) -> Result<Option<u32>> {
        let value = self.map.get(key).cloned();
        match self.ids(key)?[..] {
            [] => Ok(None),
            [id] => Ok(Some(id)),
            _ => Err(self.wrong(key, &value.unwrap_or_default(), "one token id")),
        }
    }

    /// A list of lists of ids.
    pub(super) fn id_lists(&mut self, key: &str) -> Result<Vec<Vec<u32>>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(value) => {
                let list = |ids: &Value| ids.as_array()?.iter().map(token_id).collect::<Option<Vec<u32>>>();
                let lists = value.as_array().and_then(|lists| lists.iter().map(list).collect());
                lists.ok_or_else(|| self.wrong(key, &value, "a list of lists of token ids"))
            }
        }
    }

    /// One text, or a list of them.
    pub(super) fn texts(&mut self, key: &str) -> Result<Vec<String>> {
        match self.map.remove(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(value) => {
                let text = |text: &Value| text.as_str().map(String::from);
                let texts = value.as_array().and_then(|texts| texts.iter().map(text).collect());
                texts.ok_or_else(|| self.wrong(key, &value, "a text or a list of them"))
            }
        }
    }

    /// A setting of which we have these values only; numbers are compared as numbers.
    pub(super) fn must_be_one_of(&mut self, key: &str, supported: &[Value]) -> Result<()> {
        let Some(value) = self.map.remove(key) else { return Ok(()) };
        let same = |other: &Value| match (value.as_f64(), other.as_f64()) {
            (Some(a), Some(b)) => a == b,
            _ => value == *other,
        };
        if supported.iter().any(same) {
            return Ok(());
        }
        let listed: Vec<String> = supported.iter().map(Value::to_string).collect();
        Err(Error::format(
            self.path,
            format!(
                "{key} = {value} is not supported: it would change the result (only {} is)",
                listed.join(" or ")
            ),
        )
        .hint(format!("remove {key} from the file to go without it")))
    }

    /// Missing means shared, as in `transformers`.
    pub(super) fn tie(&mut self, key: &str) -> Result<Tie> {
        Ok(if self.flag(key)? == Some(false) { Tie::Separate } else { Tie::Shared })
    }

    /// A setting of which we have one value only.
    pub(super) fn must_be(&mut self, key: &str, supported: &Value) -> Result<()> {
        match self.map.remove(key) {
            None => Ok(()),
            Some(value) if value == *supported => Ok(()),
            Some(value) => Err(Error::format(
                self.path,
                format!("{key} = {value} is not supported: it would change the result (only {supported} is)"),
            )),
        }
    }
}

fn token_id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

/// The texts of `config.json` and `generation_config.json`.
pub fn write_config(architecture: &Architecture) -> Result<(String, String)> {
    let (config, generation) = match architecture {
        Architecture::Gpt(gpt) => (gpt_json(gpt.config()), json!({})),
        Architecture::Seq2Seq(model) => {
            let c = model.config();
            let generation = json!({
                "bad_words_ids": [[c.pad_token_id]],
                "decoder_start_token_id": c.decoder_start_token_id,
                "eos_token_id": c.eos_token_id,
                "pad_token_id": c.pad_token_id,
                "max_length": c.max_position_embeddings,
            });
            (seq2seq_json(c)?, generation)
        }
        Architecture::Bert(model) => (bert::write(model.config()), json!({})),
        Architecture::Rnn(model) => rnn::write(model.config()),
    };
    let pretty = |value: &Value| serde_json::to_string_pretty(value).expect("JSON of our own making") + "\n";
    Ok((pretty(&config), pretty(&generation)))
}

fn gpt_json(c: &GptConfig) -> Value {
    let mut value = json!({
        "vocab_size": c.vocab_size,
        "n_positions": c.n_positions,
        "n_embd": c.n_embd,
        "n_layer": c.n_layer,
        "n_head": c.n_head,
        "n_inner": c.n_inner,
        "layer_norm_epsilon": c.layer_norm_epsilon,
        "resid_pdrop": c.dropout,
        "embd_pdrop": c.dropout,
        "attn_pdrop": 0.0,
        "bos_token_id": null,
        "eos_token_id": null,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "torch_dtype": "float32",
    });
    let (family, class, key) = match c.norm {
        NormPlacement::Pre => ("gpt2", "GPT2LMHeadModel", "activation_function"),
        NormPlacement::Post => ("openai-gpt", "OpenAIGPTLMHeadModel", "afn"),
    };
    value["model_type"] = json!(family);
    value["architectures"] = json!([class]);
    value[key] = match (c.norm, activation_name(c.activation_function)) {
        (NormPlacement::Post, "gelu_new") => json!("gelu"),
        (_, name) => json!(name),
    };
    if c.variant != GptConfig::USUAL {
        variant::mark(&mut value, variant::GPT, c.norm, c.variant);
    }
    value
}

fn seq2seq_json(c: &Seq2SeqConfig) -> Result<Value> {
    let (family, class) = match c.norm {
        NormPlacement::Post => ("marian", "MarianMTModel"),
        NormPlacement::Pre => ("pegasus", "PegasusForConditionalGeneration"),
    };
    let usual = c.variant == Seq2SeqConfig::USUAL;
    if usual && c.norm == NormPlacement::Pre && c.share_encoder_decoder_embeddings == Tie::Separate {
        return Err(Error::config(
            "no file format of this family holds a pre-norm model with separate embeddings",
        )
        .hint("share the embeddings, or use post-norm"));
    }
    let mut value = json!({
        "model_type": family,
        "architectures": [class],
        "vocab_size": c.vocab_size,
        "decoder_vocab_size": c.decoder_vocab_size,
        "d_model": c.d_model,
        "encoder_layers": c.encoder_layers,
        "decoder_layers": c.decoder_layers,
        "num_hidden_layers": c.encoder_layers,
        "encoder_attention_heads": c.encoder_attention_heads,
        "decoder_attention_heads": c.decoder_attention_heads,
        "encoder_ffn_dim": c.encoder_ffn_dim,
        "decoder_ffn_dim": c.decoder_ffn_dim,
        "max_position_embeddings": c.max_position_embeddings,
        "activation_function": activation_name(c.activation_function),
        "scale_embedding": c.scale_embedding == ScaleEmbedding::SqrtWidth,
        "share_encoder_decoder_embeddings": c.share_encoder_decoder_embeddings == Tie::Shared,
        "tie_word_embeddings": c.tie_word_embeddings == Tie::Shared,
        "dropout": c.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "is_encoder_decoder": true,
        "pad_token_id": c.pad_token_id,
        "eos_token_id": c.eos_token_id,
        "decoder_start_token_id": c.decoder_start_token_id,
        "forced_eos_token_id": null,
        "bos_token_id": null,
        "torch_dtype": "float32",
    });
    if !usual {
        variant::mark(&mut value, variant::SEQ2SEQ, c.norm, c.variant);
    }
    Ok(value)
}
