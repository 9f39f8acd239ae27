//! `[model]`: the stack that a task trains. A pretrained model (`model.from`) gives the defaults:
//! a key may repeat what the model has, and is refused if it asks for something else.

use super::section::{Keys, Section, section};
use super::settings::Settings;
use super::{Entries, TaskKind};
use crate::error::{Error, ModelError, PretrainedError, Result};
use crate::hub::{self, StackConfig};
use crate::model::config::{
    Cell, DecoderConfig, Directions, EncoderDecoderConfig, RecurrentAttention, RecurrentConfig,
};
use crate::nn::{FeedForwardKind, LayerOptions, Named, NormPlacement, Positions, named};
use crate::pipeline::model_folder;
use limpid_tensor::kernels::activation::Activation;
use std::path::{Path, PathBuf};
use toml::Value;

/// The longest sequence unless set.
pub(in crate::train) const CONTEXT_LENGTH: usize = 128;

/// That of a question and its context, as in the examples of `transformers`.
const ANSWER_CONTEXT_LENGTH: usize = 384;

section! {
    /// The sizes of a Transformer, and all that a run chooses of an encoder: it is BERT's, with
    /// norms after the residuals and learned positions.
    pub struct TransformerSizes in "model" {
        /// Layers (of the encoder and of the decoder).
        layers: usize,
        /// Attention heads of each layer.
        heads: usize,
        /// c.
        hidden_size: usize,
        /// f; 4·c unless set.
        intermediate_size: usize,
        /// The longest sequence.
        context_length: usize,
        /// Dropout on embeddings, on each sub-layer's output and before a classification head.
        dropout: f32,
        /// Activation of the feed-forward layers.
        activation: Activation,
        /// Whether biases of layers and norms are trained; otherwise they stay 0.
        bias: bool,
    }
}

/// A decoder, or an encoder and a decoder of equal sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformerModel {
    /// Its sizes.
    pub sizes: TransformerSizes,
    /// Where the norms stand.
    pub norm: NormPlacement,
    /// The options of each layer.
    pub options: LayerOptions,
    /// Those that only a decoder has.
    pub decoder: Option<DecoderOptions>,
}

/// Options of a decoder's layers.
#[derive(Clone, Debug, PartialEq)]
pub struct DecoderOptions {
    /// Plain or gated.
    pub feed_forward: FeedForwardKind,
    /// Heads of keys and values; as many as query heads unless set.
    pub kv_heads: Option<usize>,
}

section! {
    /// A recurrent encoder-decoder.
    pub struct RecurrentModel in "model" {
        /// Layers of the encoder and of the decoder.
        layers: usize,
        /// Size of a state.
        hidden_size: usize,
        /// Size of the embeddings; `hidden_size` unless set.
        embedding_size: usize,
        /// The longest sequence.
        context_length: usize,
        /// Dropout on embeddings, between layers and before the output layer.
        dropout: f32,
        /// The recurrent cell.
        cell: Cell,
        /// What the decoder sees of the source.
        attention: RecurrentAttention,
        /// Whether the encoder also reads backwards.
        bidirectional: Directions,
    }
}

/// The model of a translation run.
#[derive(Clone, Debug, PartialEq)]
pub enum TranslatorModel {
    /// An encoder-decoder Transformer.
    Transformer(TransformerModel),
    /// A recurrent encoder-decoder.
    Recurrent(RecurrentModel),
}

/// `model.arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Architecture {
    /// [`TranslatorModel::Transformer`].
    Transformer,
    /// [`TranslatorModel::Recurrent`].
    Recurrent,
}

named!(Architecture, "architecture", "transformer" => Transformer, "rnn" => Recurrent);

/// The model in the folder that `model.from` names.
pub(in crate::train) struct Pretrained {
    pub(in crate::train) folder: PathBuf,
    pub(in crate::train) stack: StackConfig,
}

impl Pretrained {
    /// Reads the configuration of the model that a folder stands for: see [`model_folder`].
    pub(in crate::train) fn read(folder: &Path, task: TaskKind) -> Result<Self> {
        let folder = model_folder(folder);
        hub::check_no_adapter(&folder)?;
        let config = folder.join("config.json");
        if let Some(format) = hub::quantized_as(&config)? {
            let refused = "it cannot be trained";
            let error = ModelError::AlreadyQuantized { format, refused };
            return Err(Error::from(error).in_file(&config));
        }
        let stack = hub::read_config(&config)?.0;
        let expected = match (task, &stack) {
            (TaskKind::Gpt, StackConfig::Decoder(_))
            | (TaskKind::Translate, StackConfig::EncoderDecoder(_) | StackConfig::Recurrent(_))
            | (TaskKind::Bert | TaskKind::Tag | TaskKind::Answer, StackConfig::Encoder(_))
            | (TaskKind::Classify, StackConfig::Encoder(_) | StackConfig::Decoder(_)) => {
                return Ok(Self { folder, stack });
            }
            (TaskKind::Gpt, _) => "a decoder",
            (TaskKind::Translate, _) => "an encoder-decoder",
            (TaskKind::Bert | TaskKind::Tag | TaskKind::Answer, _) => "an encoder",
            (TaskKind::Classify, _) => "an encoder or a decoder",
        };
        Err(PretrainedError::WrongStack { folder, task: task.name(), expected }.into())
    }

    /// Reads the keys of a model of which `own` are the sizes, those of each of its sides, and the
    /// longest sequence that its positions allow.
    fn read_keys<M: Section + Clone>(
        &self,
        s: &mut Settings,
        own: M,
        sides: &[M],
        positions: usize,
    ) -> Result<M> {
        let found = own.read(s)?;
        let entries = found.list();
        let context_length = entries.value("model.context_length").and_then(Value::as_integer);
        let context_length = context_length.map_or(0, |length| length as usize);
        if context_length > positions {
            let folder = self.folder.clone();
            return Err(PretrainedError::TooLong { context_length, positions, folder }.into());
        }
        self.check(&entries, &sides.iter().map(M::list).collect::<Vec<_>>())?;
        Ok(found)
    }

    /// Refuses a key that asks for something other than the model has, on each of its sides.
    fn check(&self, found: &Entries, sides: &[Entries]) -> Result<()> {
        // What a run may choose for itself.
        const FREE: [&str; 3] = ["model.context_length", "model.dropout", "model.bias"];
        let of_run = found.iter().filter(|(key, _)| !FREE.contains(key));
        for (key, value) in of_run {
            let own: Vec<&Value> = sides.iter().filter_map(|side| side.value(key)).collect();
            if own.is_empty() || own.contains(&value) {
                continue;
            }
            let words = |value: &Value| match value {
                Value::String(name) => name.clone(),
                other => other.to_string(),
            };
            let mut names: Vec<String> = own.into_iter().map(words).collect();
            names.dedup();
            let (key, found, own) = (key.to_string(), words(value), names.join(" and "));
            let folder = self.folder.clone();
            return Err(PretrainedError::Differs { key, found, own, folder }.into());
        }
        Ok(())
    }
}

impl TransformerSizes {
    /// Of a small model: with four times the hidden size between the feed-forward layers.
    const fn small(layers: usize, heads: usize, hidden_size: usize) -> Self {
        Self {
            layers,
            heads,
            hidden_size,
            intermediate_size: 4 * hidden_size,
            context_length: CONTEXT_LENGTH,
            dropout: 0.1,
            activation: Activation::Gelu,
            bias: true,
        }
    }

    /// From scratch, sizes that are not set follow the hidden size.
    fn following_hidden_size(self, s: &mut Settings) -> Result<Self> {
        let hidden_size: usize = s.get("model.hidden_size")?.unwrap_or(self.hidden_size);
        Ok(Self { intermediate_size: hidden_size.saturating_mul(4), ..self })
    }

    /// An encoder: from scratch, or of the sizes of the pretrained model, which may be a decoder
    /// for classification.
    pub(super) fn read_encoder(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        let context_length = match s.task() {
            TaskKind::Answer => ANSWER_CONTEXT_LENGTH,
            _ => CONTEXT_LENGTH,
        };
        let small = Self { context_length, ..Self::small(4, 4, 128) };
        let Some(from) = from else { return small.following_hidden_size(s)?.read(s) };
        let (own, positions) = match &from.stack {
            StackConfig::Encoder(c) => {
                let own = Self {
                    layers: c.num_hidden_layers,
                    heads: c.num_attention_heads,
                    hidden_size: c.hidden_size,
                    intermediate_size: c.intermediate_size,
                    context_length: context_length.min(c.max_position_embeddings),
                    activation: c.hidden_act,
                    ..small
                };
                (own, c.max_position_embeddings)
            }
            StackConfig::Decoder(c) => (Self::of_decoder(c), c.max_position_embeddings),
            _ => unreachable!("checked when it was read"),
        };
        from.read_keys(s, own.clone(), &[own], positions)
    }

    fn of_decoder(c: &DecoderConfig) -> Self {
        Self {
            layers: c.num_hidden_layers,
            heads: c.num_attention_heads,
            hidden_size: c.hidden_size,
            intermediate_size: c.intermediate_size,
            context_length: CONTEXT_LENGTH.min(c.max_position_embeddings),
            activation: c.activation_function,
            ..TransformerModel::DECODER.sizes
        }
    }
}

impl TransformerModel {
    /// A GPT-2 of a small size.
    const DECODER: Self = Self {
        sizes: TransformerSizes {
            dropout: 0.0,
            activation: Activation::GeluTanh,
            ..TransformerSizes::small(4, 4, 128)
        },
        norm: NormPlacement::Pre,
        options: LayerOptions::standard(Positions::Learned),
        decoder: Some(DecoderOptions { feed_forward: FeedForwardKind::Plain, kv_heads: None }),
    };

    /// The Transformer of 2017, of a small size.
    const ENCODER_DECODER: Self = Self {
        sizes: TransformerSizes {
            activation: Activation::Relu,
            ..TransformerSizes::small(3, 8, 256)
        },
        norm: NormPlacement::Post,
        options: LayerOptions::standard(Positions::Sinusoidal),
        decoder: None,
    };

    /// A decoder: from scratch, or of the pretrained model's sizes.
    pub(super) fn read_decoder(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        let Some(from) = from else { return Self::DECODER.read_scratch(s) };
        let StackConfig::Decoder(c) = &from.stack else { unreachable!("checked when it was read") };
        let sizes = TransformerSizes::of_decoder(c);
        let decoder = Some(DecoderOptions {
            feed_forward: c.variant.feed_forward,
            kv_heads: c.variant.attention.kv_heads,
        });
        let own = Self { sizes, norm: c.norm, options: c.options, decoder };
        from.read_keys(s, own.clone(), &[own], c.max_position_embeddings)
    }

    /// Encoder and decoder of a model: their sizes may differ.
    fn of_encoder_decoder(c: &EncoderDecoderConfig) -> [Self; 2] {
        let side = |layers, heads, intermediate_size| Self {
            sizes: TransformerSizes {
                layers,
                heads,
                hidden_size: c.d_model,
                intermediate_size,
                context_length: CONTEXT_LENGTH.min(c.max_position_embeddings),
                activation: c.activation_function,
                ..Self::ENCODER_DECODER.sizes
            },
            norm: c.norm,
            options: c.options,
            decoder: None,
        };
        [
            side(c.encoder_layers, c.encoder_attention_heads, c.encoder_ffn_dim),
            side(c.decoder_layers, c.decoder_attention_heads, c.decoder_ffn_dim),
        ]
    }

    fn read_scratch(self, s: &mut Settings) -> Result<Self> {
        Self { sizes: self.sizes.following_hidden_size(s)?, ..self }.read(s)
    }
}

impl Section for TransformerModel {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.sizes.keys(keys)?;
        keys.key("model.norm", &mut self.norm)?;
        keys.key("model.positions", &mut self.options.positions)?;
        keys.key("model.normalization", &mut self.options.normalization)?;
        keys.key("model.residual", &mut self.options.residual)?;
        keys.key("model.scaling", &mut self.options.scaling)?;
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        keys.key("model.feed_forward", &mut decoder.feed_forward)?;
        keys.key("model.kv_heads", &mut decoder.kv_heads)
    }
}

impl RecurrentModel {
    const DEFAULT: Self = Self {
        layers: 3,
        hidden_size: 256,
        embedding_size: 256,
        context_length: CONTEXT_LENGTH,
        dropout: 0.1,
        cell: Cell::Gru,
        attention: RecurrentAttention::Additive,
        bidirectional: Directions::Bidirectional,
    };

    fn of(c: &RecurrentConfig) -> Self {
        Self {
            layers: c.num_layers,
            hidden_size: c.hidden_size,
            embedding_size: c.embedding_size,
            cell: c.cell,
            attention: c.attention,
            bidirectional: c.directions,
            ..Self::DEFAULT
        }
    }
}

impl TranslatorModel {
    /// An encoder-decoder: from scratch, or of the pretrained model's sizes.
    pub(super) fn read_keys(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        let set: Option<Architecture> = s.get("model.arch")?;
        let Some(from) = from else {
            return Ok(match set.unwrap_or(Architecture::Transformer) {
                Architecture::Transformer => {
                    Self::Transformer(TransformerModel::ENCODER_DECODER.read_scratch(s)?)
                }
                Architecture::Recurrent => {
                    let default = RecurrentModel::DEFAULT;
                    let hidden_size = s.get("model.hidden_size")?.unwrap_or(default.hidden_size);
                    let model = RecurrentModel { embedding_size: hidden_size, ..default };
                    Self::Recurrent(model.read(s)?)
                }
            });
        };
        let check = |own: Architecture| {
            let entries = |of: Architecture| Entries::of("model.arch", &of);
            from.check(&entries(set.unwrap_or(own)), &[entries(own)])
        };
        match &from.stack {
            StackConfig::EncoderDecoder(c) => {
                check(Architecture::Transformer)?;
                let sides = TransformerModel::of_encoder_decoder(c);
                // The larger of both stands for them.
                let [mut own, other] = sides.clone();
                let (sizes, other) = (&mut own.sizes, other.sizes);
                sizes.layers = sizes.layers.max(other.layers);
                sizes.heads = sizes.heads.max(other.heads);
                sizes.intermediate_size = sizes.intermediate_size.max(other.intermediate_size);
                let found = from.read_keys(s, own, &sides, c.max_position_embeddings)?;
                Ok(Self::Transformer(found))
            }
            StackConfig::Recurrent(c) => {
                check(Architecture::Recurrent)?;
                let own = RecurrentModel::of(c);
                // It has no positions, so its context may also be longer than before.
                Ok(Self::Recurrent(from.read_keys(s, own.clone(), &[own], usize::MAX)?))
            }
            _ => unreachable!("checked when it was read"),
        }
    }
}

impl Section for TranslatorModel {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        match self {
            Self::Transformer(model) => {
                keys.key("model.arch", &mut Architecture::Transformer)?;
                model.keys(keys)
            }
            Self::Recurrent(model) => {
                keys.key("model.arch", &mut Architecture::Recurrent)?;
                model.keys(keys)
            }
        }
    }
}
