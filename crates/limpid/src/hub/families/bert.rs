//! `bert`: a post-norm encoder with learned positions and token types (`BertModel`,
//! `BertForMaskedLM`, `BertForPreTraining`, `BertForSequenceClassification`,
//! `BertForTokenClassification`, `BertForQuestionAnswering`).

use super::super::keys::Keys;
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::Family;
use super::encoder::{self, Classes};
use crate::error::{Result, Tying};
use crate::model::config::{EncoderHead, Labels, StackConfig};
use Stored::Same;
use serde_json::Value;

pub(super) struct Bert;

const CLASSES: Classes = &[
    ("BertModel", EncoderHead::Pooler),
    ("BertForMaskedLM", EncoderHead::MaskedLm),
    ("BertForPreTraining", EncoderHead::PreTraining),
    ("BertForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
    ("BertForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
    ("BertForQuestionAnswering", EncoderHead::QuestionAnswering),
];

const HEADS: &[Row] = &[
    ("lm_head.bias", Same("cls.predictions.bias")),
    ("lm_head.dense", Same("cls.predictions.transform.dense")),
    ("lm_head.norm", Same("cls.predictions.transform.LayerNorm")),
    ("next_sentence", Same("cls.seq_relationship")),
    ("classifier", Same("classifier")),
    ("qa_outputs", Same("qa_outputs")),
];

/// The output projection of the masked-LM head is the token embedding.
const COPIES: &[TiedCopy] = &[
    TiedCopy {
        suffix: "cls.predictions.decoder.weight",
        of: &["token_embedding.weight"],
        tying: Tying::Always,
    },
    TiedCopy {
        suffix: "cls.predictions.decoder.bias",
        of: &["lm_head.bias"],
        tying: Tying::Always,
    },
];

impl Family for Bert {
    fn model_type(&self) -> &'static str {
        "bert"
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("BertTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        encoder::read(keys, CLASSES, 0).map(StackConfig::from)
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Encoder(c) = config else { return Ok(None) };
        if !encoder::is_like_bert(c) || c.position_offset != 0 || c.lm_head_act.is_some() {
            return Ok(None);
        }
        Ok(encoder::class_of(&c.head, CLASSES).map(|class| encoder::write(c, class)))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        Layout {
            old_suffixes: &[
                ("LayerNorm.weight", "LayerNorm.gamma"),
                ("LayerNorm.bias", "LayerNorm.beta"),
            ],
            ignored: &[
                "embeddings.position_ids",
                "cls.predictions.decoder.weight",
                "cls.predictions.decoder.bias",
            ],
            ..encoder::layout(config, &["bert."], HEADS, COPIES)
        }
    }

    /// A base model has a pooler if its weights have one.
    fn complete(&self, config: StackConfig, has: &dyn Fn(&str) -> bool) -> StackConfig {
        encoder::without_missing_pooler(
            config,
            has,
            &["pooler.dense.weight", "bert.pooler.dense.weight"],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ModelError};
    use crate::hub::read_config;
    use crate::model::config::EncoderConfig;
    use serde_json::json;

    fn parsed(change: impl Fn(&mut Value)) -> Result<EncoderConfig> {
        let labels = vec!["neg".to_string(), "pos".to_string()];
        let head = EncoderHead::Classifier(labels.into());
        let config = EncoderConfig { head, ..EncoderConfig::new(9, 8, 1, 2, 8) };
        let mut value = Bert.write(&config.into()).unwrap().unwrap();
        value["model_type"] = json!("bert");
        change(&mut value);
        let name =
            format!("limpid-bert-config-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        let config = read_config(&path);
        std::fs::remove_file(&path).unwrap();
        match config?.0 {
            StackConfig::Encoder(config) => Ok(config),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_configuration_reads_back_as_it_was_written() {
        let config = parsed(|_| {}).unwrap();
        let labels = vec!["neg".to_string(), "pos".to_string()];
        assert_eq!(config.head, EncoderHead::Classifier(labels.into()));
        assert_eq!((config.layer_norm_eps, config.dropout), (1e-12, 0.0));
    }

    #[test]
    fn unsupported_values_are_refused_by_name() {
        let refused = |key: &str, value: Value| {
            parsed(|config| config[key] = value.clone()).unwrap_err().to_string()
        };
        for (key, value) in [
            ("position_embedding_type", json!("relative_key")),
            ("is_decoder", json!(true)),
            ("tie_word_embeddings", json!(false)),
            ("problem_type", json!("ranking")),
            ("hidden_act", json!("gelu_10")),
            ("id2label", json!({ "0": "a", "2": "b" })),
        ] {
            let error = refused(key, value);
            assert!(error.contains(key) || error.contains("gelu_10"), "{error}");
        }
        let error = parsed(|config| config["architectures"] = json!(["BertForMultipleChoice"]))
            .unwrap_err();
        assert!(error.to_string().contains("BertForMultipleChoice"), "{error}");
        let Error::InFile { source, .. } = error else { panic!("in a file") };
        assert!(matches!(
            *source,
            Error::Model(ModelError::UnsupportedArchitecture { supported, .. })
                if supported.contains(&"BertForMaskedLM")
        ));
        assert!(refused("id2label", json!({ "0": "a" })).contains("at least two labels"));
    }

    #[test]
    fn labels_default_to_two_and_all_activations_are_read() {
        let unnamed = parsed(|config| config["id2label"] = Value::Null).unwrap();
        let labels = ["LABEL_0", "LABEL_1"].map(String::from).to_vec();
        assert_eq!(unnamed.head, EncoderHead::Classifier(labels.into()));
        for name in ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu"] {
            assert!(parsed(|config| config["hidden_act"] = json!(name)).is_ok(), "{name}");
        }
    }
}
