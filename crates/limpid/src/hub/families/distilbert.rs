//! `distilbert`: BERT without token types and pooler (`DistilBertModel`, `DistilBertForMaskedLM`,
//! `DistilBertForSequenceClassification`,
//! `DistilBertForTokenClassification`, `DistilBertForQuestionAnswering`).
//!
//! A classifier has a layer with ReLU of its own, on the first token. Its `config.json` has names
//! of its own, and ε of the norms is not in it.

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::Family;
use super::encoder::{self, Classes};
use crate::error::{Result, Tying};
use crate::model::config::{EncoderConfig, EncoderHead, Labels, StackConfig};
use crate::nn::Named;
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct DistilBert;

const MODEL_TYPE: &str = "distilbert";

const CLASSES: Classes = &[
    ("DistilBertModel", EncoderHead::Bare),
    ("DistilBertForMaskedLM", EncoderHead::MaskedLm),
    ("DistilBertForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
    ("DistilBertForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
    ("DistilBertForQuestionAnswering", EncoderHead::QuestionAnswering),
];

const LAYER_NORM_EPS: f32 = 1e-12;

const MODULES: &[Row] = &[
    ("token_embedding", Same("embeddings.word_embeddings")),
    ("position_embedding", Same("embeddings.position_embeddings")),
    ("embedding_norm", Same("embeddings.LayerNorm")),
    (
        "layers.*.self_attention.qkv",
        Stacked("transformer.layer.*.attention", &["q_lin", "k_lin", "v_lin"]),
    ),
    ("layers.*.self_attention.out", Same("transformer.layer.*.attention.out_lin")),
    ("layers.*.attention_norm", Same("transformer.layer.*.sa_layer_norm")),
    ("layers.*.ffn.up", Same("transformer.layer.*.ffn.lin1")),
    ("layers.*.ffn.down", Same("transformer.layer.*.ffn.lin2")),
    ("layers.*.ffn_norm", Same("transformer.layer.*.output_layer_norm")),
];

const HEADS: &[Row] = &[
    ("lm_head.bias", Same("vocab_projector.bias")),
    ("lm_head.dense", Same("vocab_transform")),
    ("lm_head.norm", Same("vocab_layer_norm")),
    ("pooler", Same("pre_classifier")),
    ("classifier", Same("classifier")),
    ("qa_outputs", Same("qa_outputs")),
];

/// The output projection of the masked-LM head is the token embedding.
const COPIES: &[TiedCopy] = &[TiedCopy {
    suffix: "vocab_projector.weight",
    of: &["token_embedding.weight"],
    tying: Tying::Always,
}];

impl Family for DistilBert {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn tokenizer_class(&self) -> Option<&'static str> {
        Some("BertTokenizer")
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.must_be("tie_word_embeddings", &json!(true))?;
        // Sinusoids are initial values: the weights of a file replace them.
        keys.flag("sinusoidal_pos_embds")?;
        keys.map.remove("chunk_size_feed_forward"); // the same result in less memory
        keys.map.remove("tie_weights_"); // read by nothing
        keys.map.remove("eos_token_id");
        let activation = keys.optional_named("activation")?;
        let dropout = keys.rate("dropout")?.unwrap_or(0.1);
        // They act in training only, where one rate serves all.
        for key in ["attention_dropout", "qa_dropout", "seq_classif_dropout"] {
            keys.rate(key)?;
        }
        Ok(StackConfig::Encoder(EncoderConfig {
            vocab_size: keys.size("vocab_size")?,
            hidden_size: keys.size("dim")?,
            num_hidden_layers: keys.size("n_layers")?,
            num_attention_heads: keys.size("n_heads")?,
            intermediate_size: keys.size("hidden_dim")?,
            hidden_act: activation.unwrap_or(Activation::Gelu),
            embedding_size: None,
            lm_head_act: None,
            pooler_act: Activation::Relu,
            layer_norm_eps: LAYER_NORM_EPS,
            max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(512),
            position_offset: 0,
            relative: None,
            modern: None,
            type_vocab_size: None,
            dropout,
            pad_token_id: keys.optional_size("pad_token_id")?.unwrap_or(0) as u32,
            head: encoder::read_head(keys, CLASSES)?,
        }))
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Encoder(c) = config else { return Ok(None) };
        if c.type_vocab_size.is_some()
            || c.pooler_act != Activation::Relu
            || c.embedding_size.is_some()
            || c.relative.is_some()
            || c.modern.is_some()
            || c.layer_norm_eps != LAYER_NORM_EPS
            || c.position_offset != 0
            || c.lm_head_act.is_some()
        {
            return Ok(None);
        }
        let mut value = json!({
            "architectures": [encoder::required_class(&c.head, CLASSES, MODEL_TYPE)?],
            "vocab_size": c.vocab_size,
            "dim": c.hidden_size,
            "n_layers": c.num_hidden_layers,
            "n_heads": c.num_attention_heads,
            "hidden_dim": c.intermediate_size,
            "activation": c.hidden_act.name(),
            "max_position_embeddings": c.max_position_embeddings,
            "dropout": short(c.dropout),
            "attention_dropout": 0.0,
            "seq_classif_dropout": short(c.dropout),
            "pad_token_id": c.pad_token_id,
            "sinusoidal_pos_embds": false,
            "tie_word_embeddings": true,
            "torch_dtype": "float32",
        });
        encoder::write_labels(&mut value, &c.head);
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        Layout {
            base: MODULES,
            ignored: &["embeddings.position_ids", "vocab_projector.weight"],
            ..encoder::layout(config, &["distilbert."], HEADS, COPIES)
        }
    }
}
