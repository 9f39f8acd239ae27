//! `config.json` as `transformers` 5.22 reads it: which of two keys counts, and what a missing one
//! means. Found by `reference/fuzz_configs.py`, which compares logits.

use limpid::error::Result;
use limpid::hub::{StackConfig, read_config};
use limpid::nn::RopeScaling;
use serde_json::{Value, json};
use std::path::Path;

/// The configuration of a fixture with some keys changed, or removed by null.
fn read(fixture: &str, changes: Value) -> Result<StackConfig> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures");
    let text = std::fs::read_to_string(fixtures.join(fixture).join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
            value => config[key] = value.clone(),
        }
    }
    let thread = std::thread::current().id();
    let path =
        std::env::temp_dir().join(format!("limpid-configs-{}-{thread:?}", std::process::id()));
    std::fs::write(&path, config.to_string()).unwrap();
    let read = read_config(&path);
    std::fs::remove_file(&path).unwrap();
    read.map(|(config, _)| config)
}

#[test]
fn gemma_has_the_activation_of_hidden_act_and_another_beside_it_is_refused() {
    let with = |act: &str, older: &str| {
        read("gemma-tiny", json!({ "hidden_act": act, "hidden_activation": older }))
    };
    let tanh = with("gelu_pytorch_tanh", "gelu_pytorch_tanh").unwrap();
    // "gelu" of the released files is the approximation.
    assert_eq!(with("gelu", "gelu_pytorch_tanh").unwrap(), tanh);
    // Another name of the exact function means that one.
    let exact = read("gemma-tiny", json!({ "hidden_act": "gelu_python" })).unwrap();
    assert_ne!(exact, tanh);
    assert_eq!(read("gemma-tiny", json!({ "hidden_act": null })).unwrap(), tanh);
    let error = with("silu", "gelu_pytorch_tanh").unwrap_err().to_string();
    assert!(error.contains("hidden_activation"), "{error}");
}

#[test]
fn gpt_neox_has_keys_of_its_own_for_rotary_positions() {
    let rotary = |changes: Value| match read("neox-tiny", changes) {
        Ok(StackConfig::Decoder(c)) => {
            let rotary = c.variant.attention.rotary;
            Ok((rotary.rope_theta, rotary.partial_rotary_factor))
        }
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    };
    let own = json!({ "rope_parameters": null, "rotary_emb_base": 500.0, "rotary_pct": 0.5 });
    assert_eq!(rotary(own.clone()).unwrap(), (500.0, 0.5));
    assert_eq!(rotary(json!({ "rope_parameters": null })).unwrap(), (10_000.0, 0.25));
    // Files of some versions repeat them under the names of others.
    let mut repeated = own;
    (repeated["rope_theta"], repeated["partial_rotary_factor"]) = (json!(500.0), json!(0.5));
    assert_eq!(rotary(repeated.clone()).unwrap(), (500.0, 0.5));
    repeated["rope_theta"] = json!(600.0);
    assert!(rotary(repeated).unwrap_err().contains("rope_theta"));
}

#[test]
fn of_two_descriptions_of_rotary_positions_the_older_counts() {
    let linear = json!({ "rope_type": "linear", "factor": 2.0, "rope_theta": 300.0 });
    let StackConfig::Decoder(c) = read("llama-tiny", json!({ "rope_scaling": linear })).unwrap()
    else {
        panic!("a decoder")
    };
    assert_eq!(c.variant.attention.rotary.scaling, RopeScaling::Linear { factor: 2.0 });
}

#[test]
fn missing_token_ids_are_those_of_the_released_models() {
    let without =
        json!({ "pad_token_id": null, "eos_token_id": null, "decoder_start_token_id": null });
    for (fixture, ids) in [
        ("bart-tiny", Some((1, 2, 2))),
        ("m2m-tiny", Some((1, 2, 2))),
        ("prenorm-seq2seq", Some((0, 1, 0))),
        // Its padding token is beyond this small vocabulary.
        ("marian-tiny", None),
    ] {
        match (read(fixture, without.clone()), ids) {
            (Ok(StackConfig::EncoderDecoder(c)), Some(ids)) => {
                let found = (c.pad_token_id, c.eos_token_id, c.decoder_start_token_id);
                assert_eq!(found, ids, "{fixture}");
            }
            (Err(error), None) => assert!(error.to_string().contains("58100"), "{error}"),
            (found, _) => panic!("{fixture}: {found:?}"),
        }
    }
    let error = read("mbart-tiny", without).unwrap_err().to_string();
    assert!(error.contains("decoder_start_token_id"), "{error}");
}
