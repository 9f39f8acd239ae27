//! What the families of encoders share: the keys of the encoder, heads and labels, and the names of
//! the encoder's tensors.

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::heads;
use crate::error::{ModelError, Result};
use crate::model::config::{EncoderConfig, EncoderHead, StackConfig};
use crate::nn::Named;
use Stored::{Same, Stacked};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};
use std::mem::discriminant;

/// The modules of the encoder and its pooler.
const MODULES: &[Row] = &[
    ("token_embedding", Same("embeddings.word_embeddings")),
    ("position_embedding", Same("embeddings.position_embeddings")),
    ("token_type_embedding", Same("embeddings.token_type_embeddings")),
    ("embedding_norm", Same("embeddings.LayerNorm")),
    ("embedding_projection", Same("embeddings_project")),
    (
        "layers.*.self_attention.qkv",
        Stacked("encoder.layer.*.attention.self", &["query", "key", "value"]),
    ),
    ("layers.*.self_attention.out", Same("encoder.layer.*.attention.output.dense")),
    ("layers.*.attention_norm", Same("encoder.layer.*.attention.output.LayerNorm")),
    ("layers.*.ffn.up", Same("encoder.layer.*.intermediate.dense")),
    ("layers.*.ffn.down", Same("encoder.layer.*.output.dense")),
    ("layers.*.ffn_norm", Same("encoder.layer.*.output.LayerNorm")),
    ("pooler", Same("pooler.dense")),
];

/// The classes of `transformers` that a family has, each with its head: the base model first, with
/// a pooler if its weights may have one, and classifiers without their labels.
pub(super) type Classes = &'static [(&'static str, EncoderHead)];

/// The head that `architectures` names; the base model where it names none.
pub(super) fn read_head(keys: &mut Keys, classes: Classes) -> Result<EncoderHead> {
    let named = keys.map.get("architectures").and_then(|all| all.get(0)).cloned();
    let Some(class) = named.as_ref().and_then(Value::as_str) else {
        return Ok(classes[0].1.clone());
    };
    match classes.iter().find(|(name, _)| *name == class) {
        Some((_, EncoderHead::Classifier(_))) => {
            heads::read_labels(keys).map(EncoderHead::Classifier)
        }
        Some((_, EncoderHead::TokenClassifier(_))) => {
            heads::read_names(keys).map(EncoderHead::TokenClassifier)
        }
        Some((_, head)) => Ok(head.clone()),
        None => {
            let (found, supported) = (class.into(), classes.iter().map(|c| c.0).collect());
            Err(keys.error(ModelError::UnsupportedArchitecture { found, supported }))
        }
    }
}

/// Whether an encoder is BERT or RoBERTa but for its positions and its masked-LM head.
pub(super) fn is_like_bert(c: &EncoderConfig) -> bool {
    c.type_vocab_size.is_some()
        && c.embedding_size.is_none()
        && c.relative.is_none()
        && c.modern.is_none()
        && c.pooler_act == Activation::Tanh
}

/// The class of `transformers` for a head, if the family has one.
pub(super) fn class_of(head: &EncoderHead, classes: Classes) -> Option<&'static str> {
    let base = &classes[0].1;
    let head = if *head == EncoderHead::Bare { base } else { head };
    let same = |other: &EncoderHead| discriminant(other) == discriminant(head);
    classes.iter().find(|(_, other)| same(other)).map(|(name, _)| *name)
}

/// The class of `transformers` for a head.
/// # Errors
/// If the family has none: no encoder but BERT predicts next sentences, and some have no pooler.
pub(super) fn required_class(
    head: &EncoderHead,
    classes: Classes,
    model_type: &'static str,
) -> Result<&'static str> {
    let missing = match head {
        EncoderHead::PreTraining => "next-sentence prediction",
        _ => "pooler",
    };
    class_of(head, classes)
        .ok_or_else(|| ModelError::HeadNotInFamily { model_type, head: missing }.into())
}

/// Where files store an encoder and the modules of its head. Below a head the base model has the
/// prefix of its family, which some files of base models have too.
pub(super) fn layout(
    config: &StackConfig,
    prefix: &'static [&'static str; 1],
    head_modules: &'static [Row],
    copies: &'static [TiedCopy],
) -> Layout {
    let StackConfig::Encoder(EncoderConfig { head, .. }) = config else {
        unreachable!("read and write know encoders only")
    };
    let is_bare = matches!(head, EncoderHead::Bare | EncoderHead::Pooler);
    Layout {
        heads: [1, 1],
        prefix: if is_bare { "" } else { prefix[0] },
        other_prefixes: if is_bare { prefix } else { &[""] },
        base: MODULES,
        head: head_modules,
        old_suffixes: &[],
        copies: if head.fills_masks() { copies } else { &[] },
        ignored: &["embeddings.position_ids"],
    }
}

/// A base model has a pooler if its weights have one, under one of these names.
pub(super) fn without_missing_pooler(
    config: StackConfig,
    has: &dyn Fn(&str) -> bool,
    names: &[&str],
) -> StackConfig {
    match config {
        StackConfig::Encoder(config)
            if config.head == EncoderHead::Pooler && !names.iter().any(|name| has(name)) =>
        {
            EncoderConfig { head: EncoderHead::Bare, ..config }.into()
        }
        config => config,
    }
}

/// Reads the keys of the encoder, with the positions and the masked-LM head of BERT;
/// `pad_token_id` is the default of the family.
pub(super) fn read(
    keys: &mut Keys,
    classes: Classes,
    pad_token_id: usize,
) -> Result<EncoderConfig> {
    keys.must_be("is_decoder", &json!(false))?;
    keys.must_be("add_cross_attention", &json!(false))?;
    keys.must_be("tie_word_embeddings", &json!(true))?;
    keys.must_be("position_embedding_type", &json!("absolute"))?;
    keys.map.remove("chunk_size_feed_forward"); // the same result in less memory
    let activation = keys.optional_named("hidden_act")?;
    let dropout = keys.rate("hidden_dropout_prob")?.unwrap_or(0.1);
    // They act in training only, where one rate serves all.
    keys.rate("attention_probs_dropout_prob")?;
    keys.rate("classifier_dropout")?;
    keys.map.remove("eos_token_id");
    Ok(EncoderConfig {
        vocab_size: keys.size("vocab_size")?,
        hidden_size: keys.size("hidden_size")?,
        num_hidden_layers: keys.size("num_hidden_layers")?,
        num_attention_heads: keys.size("num_attention_heads")?,
        intermediate_size: keys.size("intermediate_size")?,
        hidden_act: activation.unwrap_or(Activation::Gelu),
        embedding_size: None,
        lm_head_act: None,
        pooler_act: Activation::Tanh,
        layer_norm_eps: keys.rate("layer_norm_eps")?.unwrap_or(1e-12),
        max_position_embeddings: keys.optional_size("max_position_embeddings")?.unwrap_or(512),
        position_offset: 0,
        relative: None,
        modern: None,
        type_vocab_size: Some(keys.optional_size("type_vocab_size")?.unwrap_or(2)),
        dropout,
        pad_token_id: keys.optional_size("pad_token_id")?.unwrap_or(pad_token_id) as u32,
        head: read_head(keys, classes)?,
    })
}

/// Writes the keys of the encoder and of its labels.
pub(super) fn write(c: &EncoderConfig, class: &str) -> Value {
    let mut value = json!({
        "architectures": [class],
        "vocab_size": c.vocab_size,
        "hidden_size": c.hidden_size,
        "num_hidden_layers": c.num_hidden_layers,
        "num_attention_heads": c.num_attention_heads,
        "intermediate_size": c.intermediate_size,
        "hidden_act": c.hidden_act.name(),
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
    write_labels(&mut value, &c.head);
    value
}

/// Writes the keys of the labels of a head.
pub(super) fn write_labels(value: &mut Value, head: &EncoderHead) {
    match head {
        EncoderHead::Classifier(labels) => heads::write_labels(value, labels),
        EncoderHead::TokenClassifier(labels) => heads::write_names(value, labels),
        _ => {}
    }
}
