//! `modernbert`: a pre-norm encoder with rotary positions of two wavelengths, windows between
//! layers that see all, and gated feed-forward networks (`ModernBertModel`,
//! `ModernBertForMaskedLM`, `ModernBertForSequenceClassification`,
//! `ModernBertForTokenClassification`, `ModernBertForQuestionAnswering`).
//!
//! Keys of older versions are written, which every version reads.

use super::super::keys::{Keys, short};
use super::super::layout::{Layout, Row, Stored, TiedCopy};
use super::Family;
use super::encoder::{self, Classes};
use crate::error::{Result, Tying};
use crate::model::config::{
    ClassifierPooling, EncoderConfig, EncoderHead, Labels, ModernLayers, StackConfig,
};
use crate::nn::{Bias, Named, RopeScaling, RotaryOptions, Windows};
use Stored::Same;
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct ModernBert;

const MODEL_TYPE: &str = "modernbert";

const CLASSES: Classes = &[
    ("ModernBertModel", EncoderHead::Bare),
    ("ModernBertForMaskedLM", EncoderHead::MaskedLm),
    ("ModernBertForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
    ("ModernBertForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
    ("ModernBertForQuestionAnswering", EncoderHead::QuestionAnswering),
];

const MODULES: &[Row] = &[
    ("token_embedding", Same("embeddings.tok_embeddings")),
    ("embedding_norm", Same("embeddings.norm")),
    ("layers.*.attention_norm", Same("layers.*.attn_norm")),
    ("layers.*.self_attention.qkv", Same("layers.*.attn.Wqkv")),
    ("layers.*.self_attention.out", Same("layers.*.attn.Wo")),
    ("layers.*.ffn_norm", Same("layers.*.mlp_norm")),
    ("layers.*.ffn.up", Same("layers.*.mlp.Wi")),
    ("layers.*.ffn.down", Same("layers.*.mlp.Wo")),
    ("final_norm", Same("final_norm")),
];

const HEADS: &[Row] = &[
    ("lm_head.bias", Same("decoder.bias")),
    ("lm_head.dense", Same("head.dense")),
    ("lm_head.norm", Same("head.norm")),
    ("pooler", Same("head.dense")),
    ("pooler_norm", Same("head.norm")),
    ("classifier", Same("classifier")),
    ("qa_outputs", Same("classifier")),
];

/// The output projection of the masked-LM head is the token embedding.
const COPIES: &[TiedCopy] =
    &[TiedCopy { suffix: "decoder.weight", of: &["token_embedding.weight"], tying: Tying::Always }];

/// Keys of heads, of training or of other programs, which change no logits.
const WITHOUT_EFFECT: &[&str] = &[
    "cls_token_id",
    "deterministic_flash_attn",
    "eos_token_id",
    "initializer_cutoff_factor",
    "layer_norm_eps",
    "position_embedding_type",
    "reference_compile",
    "repad_logits_with_grad",
    "sep_token_id",
    "sparse_pred_ignore_index",
    "sparse_prediction",
];

/// Defaults of `global_attn_every_n_layers` and `local_attention`.
const LAYERS_APART: usize = 3;
const LOCAL_ATTENTION: usize = 128;

/// A model with more layers is refused when its sizes are checked.
const MAX_LAYERS: usize = 1_001;

/// Kinds of layers: the name in `layer_types`, the older key of their θ and its default.
const KINDS: [(&str, &str, f64); 2] = [
    ("full_attention", "global_rope_theta", 160_000.0),
    ("sliding_attention", "local_rope_theta", 10_000.0),
];

/// The frequencies of layers that see all tokens, and of the others.
fn read_rotary(keys: &mut Keys) -> Result<[RotaryOptions; 2]> {
    keys.must_be("rope_scaling", &Value::Null)?;
    let mut all = keys.map.remove("rope_parameters").unwrap_or_default();
    let mut options = [RotaryOptions::STANDARD; 2];
    for (options, (kind, older, default)) in options.iter_mut().zip(KINDS) {
        let older = keys.number(older)?.map(f64::from);
        let mut own = all.get_mut(kind).map(Value::take).unwrap_or_default();
        let theta = own.get_mut("rope_theta").map(Value::take).unwrap_or_default();
        options.rope_theta = match theta.as_f64() {
            None if theta.is_null() => older.unwrap_or(default),
            theta => theta.unwrap_or(f64::NAN),
        };
        if !(options.rope_theta > 0.0 && options.rope_theta.is_finite()) {
            let key = format!("rope_parameters.{kind}.rope_theta");
            return Err(keys.wrong(&key, &theta, "above 0"));
        }
        for (key, value) in own.as_object().into_iter().flatten() {
            let is_default = key == "rope_type" && value == "default";
            if !is_default && key != "rope_theta" {
                let key = format!("rope_parameters.{kind}.{key}");
                return Err(keys.wrong(&key, value, "rope_type \"default\" and rope_theta"));
            }
        }
    }
    Ok(options)
}

/// Which layers see only the nearest tokens: `layer_types`, or all but every n-th.
fn read_windows(keys: &mut Keys, layers: usize) -> Result<Windows> {
    let local = keys.optional_size("local_attention")?.unwrap_or(LOCAL_ATTENTION);
    let apart = keys.optional_size("global_attn_every_n_layers")?.unwrap_or(LAYERS_APART);
    let types = keys.texts("layer_types")?;
    let layers = layers.min(MAX_LAYERS);
    let sees_all = |l: usize| match types.get(l).map(String::as_str) {
        None => l.is_multiple_of(apart),
        Some(kind) => kind == KINDS[0].0,
    };
    let is_known = |kind: &String| KINDS.iter().any(|(known, ..)| kind == known);
    // The second layer that sees all says how far apart they are.
    let every = (1..layers).find(|l| sees_all(*l)).unwrap_or(layers);
    let fits = (0..layers).all(|l| sees_all(l) == l.is_multiple_of(every));
    if !fits || !(types.is_empty() || types.len() == layers) || !types.iter().all(is_known) {
        let expected = "full_attention for the first and every n-th layer, sliding_attention for \
                        those between";
        return Err(keys.wrong("layer_types", &json!(types), expected));
    }
    Ok(match every {
        // Half of the window is on each side.
        2.. => Windows::Between { every, tokens: local / 2 + 1 },
        _ => Windows::None,
    })
}

fn read_bias(keys: &mut Keys, key: &str, default: Bias) -> Result<Bias> {
    Ok(match keys.flag(key)? {
        Some(true) => Bias::Added,
        Some(false) => Bias::None,
        None => default,
    })
}

impl Family for ModernBert {
    fn model_type(&self) -> &'static str {
        MODEL_TYPE
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        keys.must_be("tie_word_embeddings", &json!(true))?;
        for key in WITHOUT_EFFECT {
            keys.map.remove(*key);
        }
        let dropout = keys.rate("mlp_dropout")?.unwrap_or(0.0);
        // They act in training only, where one rate serves all.
        for key in ["attention_dropout", "embedding_dropout", "classifier_dropout"] {
            keys.rate(key)?;
        }
        let head = encoder::read_head(keys, CLASSES)?;
        let pooling = keys.optional_named("classifier_pooling")?;
        let [activation, head_act] = [
            keys.optional_named("hidden_activation")?.unwrap_or(Activation::Gelu),
            keys.optional_named("classifier_activation")?.unwrap_or(Activation::Gelu),
        ];
        let num_hidden_layers = keys.size("num_hidden_layers")?;
        let [rotary, window_rotary] = read_rotary(keys)?;
        let modern = ModernLayers {
            rotary,
            window_rotary,
            windows: read_windows(keys, num_hidden_layers)?,
            norm_bias: read_bias(keys, "norm_bias", Bias::None)?,
            attention_bias: read_bias(keys, "attention_bias", Bias::None)?,
            ffn_bias: read_bias(keys, "mlp_bias", Bias::None)?,
            head_bias: read_bias(keys, "classifier_bias", Bias::None)?,
            lm_bias: read_bias(keys, "decoder_bias", Bias::Added)?,
            classifier_pooling: pooling.unwrap_or(ClassifierPooling::Cls),
        };
        let positions = keys.optional_size("max_position_embeddings")?.unwrap_or(8192);
        Ok(StackConfig::Encoder(EncoderConfig {
            intermediate_size: keys.size("intermediate_size")?,
            hidden_act: activation,
            lm_head_act: Some(head_act),
            pooler_act: head_act,
            layer_norm_eps: keys.rate("norm_eps")?.unwrap_or(1e-5),
            modern: Some(modern),
            type_vocab_size: None,
            dropout,
            pad_token_id: keys.optional_size("pad_token_id")?.unwrap_or(50_283) as u32,
            head,
            ..EncoderConfig::new(
                keys.size("vocab_size")?,
                positions,
                num_hidden_layers,
                keys.size("num_attention_heads")?,
                keys.size("hidden_size")?,
            )
        }))
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Encoder(c) = config else { return Ok(None) };
        let Some(modern) = c.modern else { return Ok(None) };
        let is_plain = |rotary: RotaryOptions| {
            rotary.scaling == RopeScaling::None && rotary.partial_rotary_factor == 1.0
        };
        let (every, local) = match modern.windows {
            Windows::None => (1, LOCAL_ATTENTION),
            Windows::Between { every, tokens } => (every, 2 * tokens.saturating_sub(1)),
            Windows::From { .. } => return Ok(None),
        };
        if c.type_vocab_size.is_some()
            || c.relative.is_some()
            || c.embedding_size.is_some()
            || c.position_offset != 0
            || c.lm_head_act != Some(c.pooler_act)
            || ![modern.rotary, modern.window_rotary].into_iter().all(is_plain)
        {
            return Ok(None);
        }
        let is_added = |bias: Bias| bias == Bias::Added;
        let mut value = json!({
            "architectures": [encoder::required_class(&c.head, CLASSES, MODEL_TYPE)?],
            "vocab_size": c.vocab_size,
            "hidden_size": c.hidden_size,
            "intermediate_size": c.intermediate_size,
            "num_hidden_layers": c.num_hidden_layers,
            "num_attention_heads": c.num_attention_heads,
            "hidden_activation": c.hidden_act.name(),
            "classifier_activation": c.pooler_act.name(),
            "classifier_pooling": modern.classifier_pooling.name(),
            "max_position_embeddings": c.max_position_embeddings,
            "norm_eps": short(c.layer_norm_eps),
            "norm_bias": is_added(modern.norm_bias),
            "attention_bias": is_added(modern.attention_bias),
            "mlp_bias": is_added(modern.ffn_bias),
            "classifier_bias": is_added(modern.head_bias),
            "decoder_bias": is_added(modern.lm_bias),
            "global_attn_every_n_layers": every,
            "local_attention": local,
            "global_rope_theta": modern.rotary.rope_theta,
            "local_rope_theta": modern.window_rotary.rope_theta,
            "mlp_dropout": short(c.dropout),
            "embedding_dropout": short(c.dropout),
            "attention_dropout": 0.0,
            "classifier_dropout": short(c.dropout),
            "pad_token_id": c.pad_token_id,
            "tie_word_embeddings": true,
            "torch_dtype": "float32",
        });
        encoder::write_labels(&mut value, &c.head);
        Ok(Some(value))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        Layout {
            base: MODULES,
            ignored: &["decoder.weight"],
            ..encoder::layout(config, &["model."], HEADS, COPIES)
        }
    }
}
