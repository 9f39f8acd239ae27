//! BERT's `config.json`.

use super::keys::Keys;
use crate::config::{BertConfig, BertHead, activation_from_name, activation_name};
use crate::error::{Error, Result};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The heads we have, as `transformers` calls the classes.
const CLASSES: [&str; 4] =
    ["BertModel", "BertForMaskedLM", "BertForPreTraining", "BertForSequenceClassification"];

/// Without names there is no reason for more.
const MOST_LABELS: usize = 1 << 16;

pub(super) fn read(keys: &mut Keys) -> Result<BertConfig> {
    keys.must_be("is_decoder", &json!(false))?;
    keys.must_be("add_cross_attention", &json!(false))?;
    keys.must_be("tie_word_embeddings", &json!(true))?;
    keys.must_be("position_embedding_type", &json!("absolute"))?;
    keys.map.remove("chunk_size_feed_forward"); // the same numbers in less memory
    let activation = keys.text("hidden_act")?.unwrap_or_else(|| "gelu".into());
    let dropout = keys.share("hidden_dropout_prob")?.unwrap_or(0.1);
    // They act in training only, and ours has one rate for all.
    keys.share("attention_probs_dropout_prob")?;
    keys.share("classifier_dropout")?;
    keys.map.remove("eos_token_id");
    Ok(BertConfig {
        vocab_size: keys.size("vocab_size")?,
        hidden_size: keys.size("hidden_size")?,
        num_hidden_layers: keys.size("num_hidden_layers")?,
        num_attention_heads: keys.size("num_attention_heads")?,
        intermediate_size: keys.size("intermediate_size")?,
        hidden_act: activation_from_name(&activation).map_err(|e| e.in_file(keys.path))?,
        layer_norm_eps: keys.share("layer_norm_eps")?.unwrap_or(1e-12),
        max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(512),
        type_vocab_size: keys.optional_size("type_vocab_size")?.unwrap_or(2),
        dropout,
        pad_token_id: keys.optional_size("pad_token_id")?.unwrap_or(0) as u32,
        head: head(keys)?,
    })
}

fn head(keys: &mut Keys) -> Result<BertHead> {
    let named = keys.map.get("architectures").and_then(|classes| classes.get(0)).cloned();
    match named.as_ref().and_then(Value::as_str) {
        // Whether there is a pooler, the weights say.
        None | Some("BertModel") => Ok(BertHead::Pooler),
        Some("BertForMaskedLM") => Ok(BertHead::MaskedLm),
        Some("BertForPreTraining") => Ok(BertHead::PreTraining),
        Some("BertForSequenceClassification") => {
            keys.must_be_one_of("problem_type", &[Value::Null, json!("single_label_classification")])?;
            Ok(BertHead::Classifier(labels(keys)?))
        }
        Some(other) => Err(Error::format(keys.path, format!("architectures: {other} is not supported"))
            .hint(format!("supported are {}", CLASSES.join(", ")))),
    }
}

/// `id2label`, or as many unnamed labels as `num_labels` says (without it two, as in `transformers`).
fn labels(keys: &mut Keys) -> Result<Vec<String>> {
    let unnamed = |count| (0..count).map(|i| format!("LABEL_{i}")).collect();
    let labels: Vec<String> = match keys.map.remove("id2label") {
        None | Some(Value::Null) => match keys.optional_size("num_labels")?.unwrap_or(2) {
            count if count <= MOST_LABELS => unnamed(count),
            count => return Err(keys.wrong("num_labels", &json!(count), "a number of labels up to 65,536")),
        },
        Some(found) => {
            let label =
                |map: &Map<String, Value>, i: usize| map.get(&i.to_string())?.as_str().map(String::from);
            let all = found.as_object().and_then(|map| (0..map.len()).map(|i| label(map, i)).collect());
            all.ok_or_else(|| keys.wrong("id2label", &found, "a label for each of \"0\", \"1\", …"))?
        }
    };
    let distinct: BTreeSet<&String> = labels.iter().collect();
    if distinct.len() < labels.len() {
        return Err(Error::format(keys.path, "two labels of id2label have one name")
            .hint("give each label a name of its own"));
    }
    if labels.len() == 1 {
        return Err(Error::format(keys.path, "one label is a regression, which is not supported")
            .hint("a classifier has two labels or more in id2label"));
    }
    Ok(labels)
}

pub(super) fn write(c: &BertConfig) -> Value {
    let class = match &c.head {
        BertHead::Bare | BertHead::Pooler => CLASSES[0],
        BertHead::MaskedLm => CLASSES[1],
        BertHead::PreTraining => CLASSES[2],
        BertHead::Classifier(_) => CLASSES[3],
    };
    // As one writes it: an f32 of 1e-12 has more digits as an f64.
    let short = |x: f32| json!(x.to_string().parse::<f64>().expect("a number"));
    let mut value = json!({
        "model_type": "bert",
        "architectures": [class],
        "vocab_size": c.vocab_size,
        "hidden_size": c.hidden_size,
        "num_hidden_layers": c.num_hidden_layers,
        "num_attention_heads": c.num_attention_heads,
        "intermediate_size": c.intermediate_size,
        "hidden_act": activation_name(c.hidden_act),
        "layer_norm_eps": short(c.layer_norm_eps),
        "max_position_embeddings": c.max_position_embeddings,
        "type_vocab_size": c.type_vocab_size,
        "hidden_dropout_prob": short(c.dropout),
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": c.pad_token_id,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": true,
        "torch_dtype": "float32",
    });
    if let BertHead::Classifier(labels) = &c.head {
        let numbered = || labels.iter().enumerate();
        value["id2label"] =
            numbered().map(|(i, label)| (i.to_string(), json!(label))).collect::<Map<_, _>>().into();
        value["label2id"] =
            numbered().map(|(i, label)| (label.clone(), json!(i))).collect::<Map<_, _>>().into();
        value["problem_type"] = json!("single_label_classification");
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::read_config;
    use super::*;
    use crate::hub::AnyConfig;

    fn parsed(change: impl Fn(&mut Value)) -> Result<BertConfig> {
        let labels = vec!["neg".to_string(), "pos".to_string()];
        let mut value =
            write(&BertConfig { head: BertHead::Classifier(labels), ..BertConfig::new(9, 8, 1, 2, 8) });
        change(&mut value);
        let name = format!("limpid-bert-config-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        let config = read_config(&path);
        std::fs::remove_file(&path).unwrap();
        match config?.0 {
            AnyConfig::Bert(config) => Ok(config),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_configuration_is_the_same_after_it_was_written() {
        let config = parsed(|_| {}).unwrap();
        assert_eq!(config.head, BertHead::Classifier(vec!["neg".into(), "pos".into()]));
        assert_eq!((config.layer_norm_eps, config.dropout), (1e-12, 0.0));
    }

    #[test]
    fn what_would_change_the_result_is_refused_by_name() {
        let refused =
            |key: &str, value: Value| parsed(|config| config[key] = value.clone()).unwrap_err().to_string();
        for (key, value) in [
            ("position_embedding_type", json!("relative_key")),
            ("is_decoder", json!(true)),
            ("tie_word_embeddings", json!(false)),
            ("problem_type", json!("multi_label_classification")),
            ("hidden_act", json!("quick_gelu")),
            ("id2label", json!({ "0": "a", "2": "b" })),
        ] {
            let error = refused(key, value);
            assert!(error.contains(key) || error.contains("quick_gelu"), "{error}");
        }
        let error =
            parsed(|config| config["architectures"] = json!(["BertForTokenClassification"])).unwrap_err();
        assert!(error.to_string().contains("BertForTokenClassification"), "{error}");
        assert!(error.hint_text().unwrap().contains("BertForMaskedLM"));
        assert!(refused("id2label", json!({ "0": "a" })).contains("regression"));
    }

    #[test]
    fn missing_labels_are_two_and_other_activations_are_known() {
        let unnamed = parsed(|config| config["id2label"] = Value::Null).unwrap();
        assert_eq!(unnamed.head, BertHead::Classifier(vec!["LABEL_0".into(), "LABEL_1".into()]));
        for name in ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu"] {
            assert!(parsed(|config| config["hidden_act"] = json!(name)).is_ok(), "{name}");
        }
    }
}
