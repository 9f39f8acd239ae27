//! `gemma`: Llama with GELU, scaled embeddings and norms of 1 + γ (`GemmaForCausalLM`,
//! `GemmaForSequenceClassification`).

use super::super::keys::Keys;
use super::super::layout::Layout;
use super::heads::DecoderClasses;
use super::{Family, llama_like};
use crate::error::Result;
use crate::model::config::{EmbeddingScale, StackConfig, Tie};
use crate::nn::{Bias, HeadNorm, Named, Normalization, Windows};
use limpid_tensor::kernels::activation::Activation;
use serde_json::{Value, json};

pub(super) struct Gemma;

const CLASSES: DecoderClasses = DecoderClasses {
    all: ["GemmaForCausalLM", "GemmaModel", "GemmaForSequenceClassification"],
    pad_token_id: Some(0),
};

impl Family for Gemma {
    fn model_type(&self) -> &'static str {
        "gemma"
    }

    fn read(&self, keys: &mut Keys) -> Result<StackConfig> {
        let head = CLASSES.read(keys)?;
        let defaults = llama_like::Defaults {
            tie: Tie::Shared,
            activation: Activation::GeluTanh,
            positions: 8192,
            head_dim: Some(256),
            ..llama_like::DEFAULTS
        };
        // The released models say "gelu", by this name, and were trained with the approximation.
        let is_legacy = keys.map.get("hidden_act").is_some_and(|name| name == "gelu");
        let meant = |activation, is_legacy| match activation {
            Activation::Gelu if is_legacy => Activation::GeluTanh,
            other => other,
        };
        let older: Option<Activation> = keys.optional_named("hidden_activation")?;
        keys.must_be_one_of("use_bidirectional_attention", &[json!(null), json!(false)])?;
        let mut config = llama_like::read(keys, defaults)?;
        llama_like::read_biases(keys, &mut config)?;
        config.activation_function = meant(config.activation_function, is_legacy);
        // Some versions of `transformers` follow this key and some the other one.
        if let Some(older) =
            older.filter(|older| meant(*older, is_legacy) != config.activation_function)
        {
            let found = json!(older.name());
            return Err(keys.wrong("hidden_activation", &found, "the activation of hidden_act"));
        }
        config.options.normalization = Normalization::RmsOnePlus;
        config.scale_embedding = EmbeddingScale::SqrtWidth;
        config.head = head;
        Ok(config.into())
    }

    fn write(&self, config: &StackConfig) -> Result<Option<Value>> {
        let StackConfig::Decoder(c) = config else { return Ok(None) };
        let attention = c.variant.attention.qkv_bias;
        let fits = llama_like::Expressible {
            normalization: Normalization::RmsOnePlus,
            biases: [attention, attention, Bias::None],
            head_norm: HeadNorm::None,
            windows: Windows::None,
        };
        if c.scale_embedding != EmbeddingScale::SqrtWidth {
            return Ok(None);
        }
        Ok(llama_like::write(c, fits).map(|mut value| {
            CLASSES.write(&mut value, c);
            value["hidden_activation"] = value["hidden_act"].clone();
            value["attention_bias"] = json!(attention == Bias::Added);
            value
        }))
    }

    fn layout(&self, config: &StackConfig) -> Layout {
        llama_like::layout(config)
    }
}
