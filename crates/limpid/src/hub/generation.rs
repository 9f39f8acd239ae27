//! `generation_config.json`: the default decoding settings of a model. Every key that changes the
//! result is honoured or refused by name; an unknown key is named in a warning.

use super::config::Warning;
use super::keys::{Keys, read_object};
use super::{CONFIG, GENERATION_CONFIG, own_or_base_file};
use crate::error::{KeyScope, ModelError, Result};
use serde_json::{Value, json};
use std::path::Path;

/// The decoding settings of a model folder, under the names of `transformers`; `None` where the
/// folder does not set a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationConfig {
    /// Whether to sample instead of taking the most likely token.
    pub do_sample: Option<bool>,
    /// Softmax temperature.
    pub temperature: Option<f32>,
    /// Number of most likely tokens to sample from; 0 means all.
    pub top_k: Option<usize>,
    /// Nucleus sampling: the probability mass to sample from.
    pub top_p: Option<f32>,
    /// Number of beams of a beam search.
    pub num_beams: Option<usize>,
    /// Exponent of the length in the score of a beam.
    pub length_penalty: Option<f32>,
    /// When a beam search stops.
    pub early_stopping: Option<EarlyStopping>,
    /// Number of outputs per input.
    pub num_return_sequences: Option<usize>,
    /// Penalty on tokens that occurred before.
    pub repetition_penalty: Option<f32>,
    /// Length of n-grams that may occur only once.
    pub no_repeat_ngram_size: Option<usize>,
    /// Token sequences that are never generated.
    pub bad_words_ids: Vec<Vec<u32>>,
    /// The tokens that end a text.
    pub eos_token_id: Vec<u32>,
    /// The token that starts a text.
    pub bos_token_id: Option<u32>,
    /// The token forced after the first one: of a translator, the language to translate into.
    pub forced_bos_token_id: Option<u32>,
    /// The token forced at the maximum length.
    pub forced_eos_token_id: Option<u32>,
    /// Whether scores are normalized again after the logits processors.
    pub renormalize_logits: Option<bool>,
    /// Maximum length, prompt included.
    pub max_length: Option<usize>,
    /// Maximum number of generated tokens.
    pub max_new_tokens: Option<usize>,
    /// Minimum length, prompt included.
    pub min_length: Option<usize>,
    /// Minimum number of generated tokens.
    pub min_new_tokens: Option<usize>,
    /// Generation ends after one of these.
    pub stop_strings: Vec<String>,
    /// Who saved the folder.
    pub saved_by: SavedBy,
}

/// Who saved a folder: its maximum length is a recommendation or a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SavedBy {
    /// Limpid: the maximum is the model's number of positions.
    #[default]
    Limpid,
    /// `transformers`, whose version stands in the files: the maximum is what generates there.
    Transformers,
}

/// When a beam search stops: the three values of `early_stopping` in `transformers` 5.22.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyStopping {
    /// `true`: as soon as there are as many finished hypotheses as beams.
    Immediate,
    /// `false`: when the best beam, were it to end now, is no better than the worst finished
    /// hypothesis.
    #[default]
    Heuristic,
    /// `"never"`: when no beam can become better than the worst finished hypothesis.
    Never,
}

/// Keys with their supported values: any other value would change the result.
fn refused() -> Vec<(&'static str, Vec<Value>)> {
    let none = || vec![Value::Null];
    let or = |value: Value| vec![Value::Null, value];
    vec![
        ("begin_suppress_tokens", none()),
        ("constraints", none()),
        ("diversity_penalty", or(json!(0))),
        ("dola_layers", none()),
        ("encoder_no_repeat_ngram_size", or(json!(0))),
        ("encoder_repetition_penalty", or(json!(1))),
        ("epsilon_cutoff", or(json!(0))),
        ("eta_cutoff", or(json!(0))),
        ("exponential_decay_length_penalty", none()),
        ("force_words_ids", none()),
        ("forced_decoder_ids", none()),
        ("guidance_scale", or(json!(1))),
        ("max_time", none()),
        ("min_p", or(json!(0))),
        ("num_beam_groups", or(json!(1))),
        ("penalty_alpha", or(json!(0))),
        ("sequence_bias", none()),
        ("suppress_tokens", vec![Value::Null, json!([])]),
        ("token_healing", or(json!(false))),
        ("top_h", none()),
        ("typical_p", or(json!(1))),
        ("watermarking_config", none()),
    ]
}

/// Keys that do not change which tokens are generated: records, caches, speed.
const HARMLESS: &[&str] = &[
    "_from_model_config",
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "cache_config",
    "cache_implementation",
    "compile_config",
    "continuous_batching_config",
    "decoder_start_token_id",
    "disable_compile",
    "is_assistant",
    "low_memory",
    "max_cache_len",
    "max_matching_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "remove_invalid_values",
    "return_dict_in_generate",
    "return_legacy_cache",
    "speculation_type",
    "target_lookbehind",
    "transformers_version",
    "use_cache",
    "use_mtp",
];

/// Reads `generation_config.json` of a folder; older folders have its keys in `config.json`, and
/// an adapter may leave both to its base.
/// # Errors
/// If a file cannot be read, or if a key has a wrong or an unsupported value.
pub fn load_generation_config(folder: &Path) -> Result<(GenerationConfig, Vec<Warning>)> {
    let [own, model] = [GENERATION_CONFIG, CONFIG].map(|name| own_or_base_file(folder, name));
    let scope = KeyScope::Generation;
    let mut model_keys = Keys { path: &model, map: read_object(&model)?, scope };
    let version = |keys: &Keys| keys.map.contains_key("transformers_version");
    let has_own = own.exists();
    let mut is_theirs = version(&model_keys);
    let (mut generation, warnings) = if has_own {
        let mut keys = Keys { path: &own, map: read_object(&own)?, scope };
        is_theirs |= version(&keys);
        let generation = read(&mut keys)?;
        check_start(&mut keys, &model_keys)?;
        let unknown = keys
            .map
            .into_iter()
            .map(|(key, _)| key)
            .filter(|key| !HARMLESS.contains(&key.as_str()));
        (generation, unknown.map(Warning::UnknownGenerationKey).collect())
    } else {
        // The other keys of config.json are those of the model.
        (read(&mut model_keys)?, Vec::new())
    };
    if has_own && generation.eos_token_id.is_empty() {
        generation.eos_token_id = model_keys.ids("eos_token_id")?;
        let tokens = ["decoder_vocab_size", "vocab_size"]
            .iter()
            .find_map(|key| model_keys.map.get(*key)?.as_u64());
        if let (Some(end), Some(tokens)) = (generation.eos_token_id.iter().max(), tokens)
            && u64::from(*end) >= tokens
        {
            let (id, vocab_size) = (*end, tokens);
            return Err(model_keys.error(ModelError::EndTokenOutOfRange { id, vocab_size }));
        }
    }
    if is_theirs {
        generation.saved_by = SavedBy::Transformers;
    }
    Ok((generation, warnings))
}

fn read(keys: &mut Keys) -> Result<GenerationConfig> {
    for (key, supported) in refused() {
        keys.must_be_one_of(key, &supported)?;
    }
    let early_stopping = match keys.map.remove("early_stopping") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(true)) => Some(EarlyStopping::Immediate),
        Some(Value::Bool(false)) => Some(EarlyStopping::Heuristic),
        Some(value) if value == "never" => Some(EarlyStopping::Never),
        Some(value) => {
            return Err(keys.wrong("early_stopping", &value, "true, false or \"never\""));
        }
    };
    Ok(GenerationConfig {
        do_sample: keys.flag("do_sample")?,
        temperature: keys.number("temperature")?,
        top_k: keys.optional_size("top_k")?,
        top_p: keys.number("top_p")?,
        num_beams: keys.optional_size("num_beams")?,
        length_penalty: keys.number("length_penalty")?,
        early_stopping,
        num_return_sequences: keys.optional_size("num_return_sequences")?,
        repetition_penalty: keys.number("repetition_penalty")?,
        no_repeat_ngram_size: keys.optional_size("no_repeat_ngram_size")?.filter(|n| *n > 0),
        bad_words_ids: keys.id_lists("bad_words_ids")?,
        eos_token_id: keys.ids("eos_token_id")?,
        bos_token_id: keys.optional_size("bos_token_id")?.map(|id| id as u32),
        forced_bos_token_id: keys.one_id("forced_bos_token_id")?,
        forced_eos_token_id: keys.one_id("forced_eos_token_id")?,
        renormalize_logits: keys.flag("renormalize_logits")?,
        max_length: keys.optional_size("max_length")?,
        max_new_tokens: keys.optional_size("max_new_tokens")?,
        min_length: keys.optional_size("min_length")?,
        min_new_tokens: keys.optional_size("min_new_tokens")?,
        stop_strings: keys.texts("stop_strings")?,
        saved_by: SavedBy::Limpid,
    })
}

/// The decoder's start token is part of the model's configuration: both files must agree.
fn check_start(keys: &mut Keys, model: &Keys) -> Result<()> {
    let start = keys.map.remove("decoder_start_token_id").filter(|value| !value.is_null());
    let theirs = model.map.get("decoder_start_token_id").filter(|value| !value.is_null());
    match (start, theirs) {
        (Some(start), Some(theirs)) if start != *theirs => {
            let (found, expected) = (start.to_string(), theirs.to_string());
            Err(keys.error(ModelError::DecoderStartMismatch { found, expected }))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(own: Option<&str>, model: &str) -> Result<(GenerationConfig, Vec<Warning>)> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "limpid-generation-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.json"), model).unwrap();
        if let Some(own) = own {
            std::fs::write(folder.join("generation_config.json"), own).unwrap();
        }
        let loaded = load_generation_config(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        loaded
    }

    #[test]
    fn every_key_is_read() {
        let own = r#"{"num_beams": 6, "early_stopping": "never", "length_penalty": 0.6,
            "bad_words_ids": [[5], [1, 2]], "eos_token_id": [3, 4], "forced_eos_token_id": 3,
            "forced_bos_token_id": 7,
            "max_length": 512, "do_sample": true, "top_k": 0, "top_p": 0.9,
            "no_repeat_ngram_size": 0, "stop_strings": "x", "typical_p": 1.0, "use_cache": true,
            "temperature": 0.7, "renormalize_logits": true}"#;
        let (generation, warnings) = load(Some(own), "{}").unwrap();
        assert_eq!(warnings, []);
        let want = GenerationConfig {
            do_sample: Some(true),
            temperature: Some(0.7),
            top_k: Some(0),
            top_p: Some(0.9),
            num_beams: Some(6),
            length_penalty: Some(0.6),
            early_stopping: Some(EarlyStopping::Never),
            bad_words_ids: vec![vec![5], vec![1, 2]],
            eos_token_id: vec![3, 4],
            forced_bos_token_id: Some(7),
            forced_eos_token_id: Some(3),
            renormalize_logits: Some(true),
            max_length: Some(512),
            stop_strings: vec!["x".into()],
            ..GenerationConfig::default()
        };
        assert_eq!(generation, want);
    }

    #[test]
    fn without_a_file_of_its_own_the_keys_are_those_of_config_json() {
        let (generation, warnings) =
            load(None, r#"{"eos_token_id": 2, "num_beams": 4, "n_embd": 8}"#).unwrap();
        assert_eq!(
            (generation.eos_token_id, generation.num_beams, warnings),
            (vec![2], Some(4), vec![])
        );
        let (generation, _) = load(Some("{}"), r#"{"eos_token_id": 2, "num_beams": 4}"#).unwrap();
        assert_eq!(
            (generation.eos_token_id, generation.num_beams),
            (vec![2], None),
            "only the end token is asked for again"
        );
    }

    #[test]
    fn unsupported_values_are_refused_by_name_and_unknown_keys_are_named() {
        for (key, value) in
            [("typical_p", "0.5"), ("diversity_penalty", "0.3"), ("suppress_tokens", "[1]")]
        {
            let error =
                load(Some(&format!("{{\"{key}\": {value}}}")), "{}").unwrap_err().to_string();
            assert!(error.contains(&format!("{key} = {value} is not supported")), "{error}");
        }
        let (_, warnings) = load(Some(r#"{"flux": 1}"#), "{}").unwrap();
        assert_eq!(warnings, [Warning::UnknownGenerationKey("flux".into())]);
    }

    #[test]
    fn values_of_the_wrong_type_are_refused() {
        for own in [
            "[]",
            "{",
            r#"{"num_beams": "four"}"#,
            r#"{"temperature": "hot"}"#,
            r#"{"bad_words_ids": [5]}"#,
            r#"{"eos_token_id": "</s>"}"#,
            r#"{"early_stopping": 3}"#,
            r#"{"stop_strings": [1]}"#,
            r#"{"do_sample": 1}"#,
        ] {
            let error = load(Some(own), "{}").unwrap_err();
            assert!(error.to_string().contains("generation_config.json"), "{error}");
        }
        assert!(
            load(Some(r#"{"decoder_start_token_id": 1}"#), r#"{"decoder_start_token_id": 0}"#)
                .is_err()
        );
    }
}
