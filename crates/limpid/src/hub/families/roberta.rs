//! `roberta`: an encoder whose positions begin at `pad_token_id` + 1 and whose heads differ from
//! BERT's (`RobertaModel`, `RobertaForMaskedLM`, `RobertaForSequenceClassification`,
//! `RobertaForTokenClassification`, `RobertaForQuestionAnswering`).
//!
//! `max_position_embeddings` of its `config.json` counts the rows of the position table, those
//! before the first position included. The masked-LM head always has GELU; the classifier is a
//! pooler of its own with an output layer.

use super::super::keys::Keys;
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::Family;
use super::encoder::{self, Classes};
use crate::error::{Result, Tying};
use crate::model::config::{EncoderConfig, EncoderHead, Labels, StackConfig};
use Stored::Same;
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

/// RoBERTa, or a family that differs from it in names only.
pub(super) struct Roberta {
    pub(super) model_type: &'static str,
    pub(super) classes: Classes,
    pub(super) tokenizer_class: &'static str,
}

pub(super) const ROBERTA: Roberta = Roberta {
    model_type: "roberta",
    tokenizer_class: "RobertaTokenizer",
    classes: &[
        ("RobertaModel", EncoderHead::Pooler),
        ("RobertaForMaskedLM", EncoderHead::MaskedLm),
        ("RobertaForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
        ("RobertaForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
        ("RobertaForQuestionAnswering", EncoderHead::QuestionAnswering),
    ],
};

const HEADS: &[Row] = &[
    ("lm_head.bias", Same("lm_head.bias")),
    ("lm_head.dense", Same("lm_head.dense")),
    ("lm_head.norm", Same("lm_head.layer_norm")),
    ("classifier", Same("classifier")),
    ("qa_outputs", Same("qa_outputs")),
];

/// A classifier with a layer of its own before the logits.
pub(super) const CLASSIFIER: &[Row] =
    &[("pooler", Same("classifier.dense")), ("classifier", Same("classifier.out_proj"))];

/// The output projection of the masked-LM head is the token embedding.
pub(super) const COPIES: &[TiedCopy] = &[
    TiedCopy {
        suffix: "lm_head.decoder.weight",
        of: &["token_embedding.weight"],
        tying: Tying::Always,
    },
    TiedCopy { suffix: "lm_head.decoder.bias", of: &["lm_head.bias"], tying: Tying::Always },
];

/// Tensors that files of other versions hold and the model does not need.
pub(super) const IGNORED: &[&str] =
    &["embeddings.position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias"];

/// The modules of the head.
pub(super) fn head_of(config: &StackConfig) -> &'static [Row] {
    match config {
        StackConfig::Encoder(c) if matches!(c.head, EncoderHead::Classifier(_)) => CLASSIFIER,
        _ => HEADS,
    }
}

/// The configuration with positions that begin at a row of their table, whose size was read as
/// `max_position_embeddings`, and with the masked-LM head of RoBERTa.
pub(super) fn with_position_offset(
    keys: &Keys,
    config: EncoderConfig,
    position_offset: usize,
) -> Result<EncoderConfig> {
    let rows = config.max_position_embeddings;
    if rows <= position_offset {
        let expected = format!("more than the {position_offset} rows before the first position");
        return Err(keys.wrong("max_position_embeddings", &json!(rows), &expected));
    }
    Ok(EncoderConfig {
        max_position_embeddings: rows - position_offset,
        position_offset,
        lm_head_act: Some(Activation::Gelu),
        ..config
    })
}

impl Family for Roberta {
    fn model_type(&self) -> &'static str {
        self.model_type
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some(self.tokenizer_class)
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let config = encoder::read(keys, self.classes, 1)?;
        let position_offset = config.pad_token_id as usize + 1;
        with_position_offset(keys, config, position_offset).map(StackConfig::Encoder)
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Encoder(c) = config else { return Ok(None) };
        if !encoder::is_like_bert(c)
            || c.position_offset != c.pad_token_id as usize + 1
            || c.lm_head_act != Some(Activation::Gelu)
        {
            return Ok(None);
        }
        let mut value =
            encoder::write(c, encoder::required_class(&c.head, self.classes, self.model_type)?);
        value["max_position_embeddings"] = json!(c.position_rows());
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        let layout = encoder::layout(config, &["roberta."], head_of(config), COPIES);
        Layout { ignored: IGNORED, ..layout }
    }

    /// A base model has a pooler if its weights have one.
    fn complete(&self, config: StackConfig, has: &dyn Fn(&str) -> bool) -> StackConfig {
        let names = ["pooler.dense.weight", "roberta.pooler.dense.weight"];
        encoder::without_missing_pooler(config, has, &names)
    }
}
