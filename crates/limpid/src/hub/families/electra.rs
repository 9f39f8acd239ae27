//! `electra`: BERT without a pooler, whose embeddings may be narrower than the model
//! (`ElectraModel`, `ElectraForMaskedLM`, `ElectraForSequenceClassification`,
//! `ElectraForTokenClassification`, `ElectraForQuestionAnswering`).
//!
//! Both of its models are here: the generator, which predicts masked tokens, and the discriminator
//! as an encoder and a classifier. The head that tells replaced tokens from original ones
//! (`ElectraForPreTraining`) is refused. Heads always have GELU.

use super::super::keys::Keys;
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::Family;
use super::encoder::{self, Classes};
use super::roberta;
use crate::error::{Result, Tying};
use crate::model::config::{EncoderConfig, EncoderHead, Labels, StackConfig};
use Stored::Same;
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct Electra;

const MODEL_TYPE: &str = "electra";

const CLASSES: Classes = &[
    ("ElectraModel", EncoderHead::Bare),
    ("ElectraForMaskedLM", EncoderHead::MaskedLm),
    ("ElectraForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
    ("ElectraForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
    ("ElectraForQuestionAnswering", EncoderHead::QuestionAnswering),
];

const HEADS: &[Row] = &[
    ("lm_head.bias", Same("generator_lm_head.bias")),
    ("lm_head.dense", Same("generator_predictions.dense")),
    ("lm_head.norm", Same("generator_predictions.LayerNorm")),
    ("classifier", Same("classifier")),
    ("qa_outputs", Same("qa_outputs")),
];

/// The output projection of the masked-LM head is the token embedding.
const COPIES: &[TiedCopy] = &[TiedCopy {
    suffix: "generator_lm_head.weight",
    of: &["token_embedding.weight"],
    tying: Tying::Always,
}];

impl Family for Electra {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("BertTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.rate("summary_last_dropout")?; // of multiple choice, which is not supported
        let embedding_size = keys.optional_size("embedding_size")?.unwrap_or(128);
        let config = encoder::read(keys, CLASSES, 0)?;
        Ok(StackConfig::Encoder(EncoderConfig {
            // Embeddings of the model's width are not projected.
            embedding_size: Some(embedding_size).filter(|size| *size != config.hidden_size),
            lm_head_act: Some(Activation::Gelu),
            pooler_act: Activation::Gelu,
            ..config
        }))
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Encoder(c) = config else { return Ok(None) };
        if c.type_vocab_size.is_none()
            || c.pooler_act != Activation::Gelu
            || c.lm_head_act != Some(Activation::Gelu)
            || c.position_offset != 0
            || c.relative.is_some()
            || c.modern.is_some()
        {
            return Ok(None);
        }
        let class = encoder::required_class(&c.head, CLASSES, MODEL_TYPE)?;
        let mut value = encoder::write(c, class);
        value["embedding_size"] = json!(c.embedding_width());
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        let heads = match config {
            StackConfig::Encoder(c) if matches!(c.head, EncoderHead::Classifier(_)) => {
                roberta::CLASSIFIER
            }
            _ => HEADS,
        };
        Layout {
            ignored: &["embeddings.position_ids", "generator_lm_head.weight"],
            ..encoder::layout(config, &["electra."], heads, COPIES)
        }
    }
}
