//! `mpnet`: RoBERTa without token types, with biases of relative positions that all layers share
//! (`MPNetModel`, `MPNetForMaskedLM`, `MPNetForSequenceClassification`,
//! `MPNetForTokenClassification`, `MPNetForQuestionAnswering`).
//!
//! Its positions begin at 2, behind token 1 of padding, whatever `pad_token_id` says.

use super::super::keys::Keys;
use super::super::layout::{Layout, Row, Stored};
use super::Family;
use super::encoder::{self, Classes};
use super::roberta;
use crate::error::Result;
use crate::model::config::{EncoderConfig, EncoderHead, Labels, StackConfig};
use crate::nn::RelativeOptions;
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct MpNet;

const MODEL_TYPE: &str = "mpnet";

const CLASSES: Classes = &[
    ("MPNetModel", EncoderHead::Pooler),
    ("MPNetForMaskedLM", EncoderHead::MaskedLm),
    ("MPNetForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
    ("MPNetForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
    ("MPNetForQuestionAnswering", EncoderHead::QuestionAnswering),
];

/// `transformers` has these numbers in its code.
const POSITION_OFFSET: usize = 2;
const BUCKETS: RelativeOptions = RelativeOptions { buckets: 32, max_distance: 128 };

const MODULES: &[Row] = &[
    ("token_embedding", Same("embeddings.word_embeddings")),
    ("position_embedding", Same("embeddings.position_embeddings")),
    ("embedding_norm", Same("embeddings.LayerNorm")),
    ("relative_bias", Same("encoder.relative_attention_bias")),
    ("layers.*.self_attention.qkv", Stacked("encoder.layer.*.attention.attn", &["q", "k", "v"])),
    ("layers.*.self_attention.out", Same("encoder.layer.*.attention.attn.o")),
    ("layers.*.attention_norm", Same("encoder.layer.*.attention.LayerNorm")),
    ("layers.*.ffn.up", Same("encoder.layer.*.intermediate.dense")),
    ("layers.*.ffn.down", Same("encoder.layer.*.output.dense")),
    ("layers.*.ffn_norm", Same("encoder.layer.*.output.LayerNorm")),
    ("pooler", Same("pooler.dense")),
];

impl Family for MpNet {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("MPNetTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.must_be("relative_attention_num_buckets", &json!(BUCKETS.buckets))?;
        let config = encoder::read(keys, CLASSES, 1)?;
        Ok(StackConfig::Encoder(EncoderConfig {
            relative: Some(BUCKETS),
            type_vocab_size: None,
            ..roberta::with_position_offset(keys, config, POSITION_OFFSET)?
        }))
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Encoder(c) = config else { return Ok(None) };
        if c.type_vocab_size.is_some()
            || c.relative != Some(BUCKETS)
            || c.modern.is_some()
            || c.position_offset != POSITION_OFFSET
            || c.embedding_size.is_some()
            || c.lm_head_act != Some(Activation::Gelu)
            || c.pooler_act != Activation::Tanh
        {
            return Ok(None);
        }
        let class = encoder::required_class(&c.head, CLASSES, MODEL_TYPE)?;
        let mut value = encoder::write(c, class);
        value["max_position_embeddings"] = json!(c.position_rows());
        value["relative_attention_num_buckets"] = json!(BUCKETS.buckets);
        if let Some(keys) = value.as_object_mut() {
            keys.remove("type_vocab_size");
            keys.remove("position_embedding_type");
        }
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        Layout {
            base: MODULES,
            ignored: roberta::IGNORED,
            ..encoder::layout(config, &["mpnet."], roberta::head_of(config), roberta::COPIES)
        }
    }

    /// A base model has a pooler if its weights have one.
    fn complete(&self, config: StackConfig, has: &dyn Fn(&str) -> bool) -> StackConfig {
        let names = ["pooler.dense.weight", "mpnet.pooler.dense.weight"];
        encoder::without_missing_pooler(config, has, &names)
    }
}
