//! `[model]`: the stack that a task trains. A pretrained model (`model.from`) gives the defaults:
//! a key may repeat what the model has, and is refused if it asks for something else.

use super::section::section;
use super::settings::Settings;
use super::{Entries, TaskKind};
use crate::error::{Error, PretrainedError, Result};
use crate::hub::{self, StackConfig};
use crate::model::config::{
    Cell, DecoderConfig, Directions, EncoderConfig, EncoderDecoderConfig, RecurrentAttention,
    RecurrentConfig,
};
use crate::nn::{LayerOptions, NormPlacement, Normalization, Positions, Residual, Scaling};
use limpid_tensor::kernels::activation::Activation;
use std::path::{Path, PathBuf};

/// The longest sequence unless set.
pub(in crate::train) const CONTEXT_LENGTH: usize = 128;

section! {
    /// A decoder, or an encoder and a decoder of equal sizes.
    pub struct TransformerModel in "model" {
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
        /// Dropout on embeddings and on each sub-layer's output.
        dropout: f32,
        /// Where the norms stand.
        norm: NormPlacement,
        /// How positions are represented.
        positions: Positions,
        /// Over what a norm takes mean and variance.
        normalization: Normalization,
        /// Whether a sub-layer's output is added to its input.
        residual: Residual,
        /// What attention scores are divided by.
        scaling: Scaling,
        /// Activation of the feed-forward layers.
        activation: Activation,
        /// Whether biases of layers and norms are trained; otherwise they stay 0.
        bias: bool,
    }
}

section! {
    /// An encoder, which is BERT's: post-norm, learned positions.
    pub struct EncoderModel in "model" {
        /// Layers.
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

/// The model in the folder that `model.from` names.
pub(in crate::train) struct Pretrained {
    pub(in crate::train) folder: PathBuf,
    pub(in crate::train) stack: StackConfig,
}

impl Pretrained {
    /// Reads the configuration of the model in a folder. The folder of a run stands for the model
    /// in it.
    pub(in crate::train) fn read(folder: &Path, task: TaskKind) -> Result<Self> {
        let inner = folder.join("model");
        let is_run = |folder: &Path| !folder.join("config.json").exists();
        let folder = match is_run(folder) && !is_run(&inner) {
            true => inner,
            false => folder.to_path_buf(),
        };
        let stack = hub::read_config(&folder.join("config.json"))?.0;
        let (fits, expected) = match task {
            TaskKind::Gpt => (matches!(stack, StackConfig::Decoder(_)), "a decoder"),
            TaskKind::Translate => (
                matches!(stack, StackConfig::EncoderDecoder(_) | StackConfig::Recurrent(_)),
                "an encoder-decoder",
            ),
            TaskKind::Bert | TaskKind::Classify => {
                (matches!(stack, StackConfig::Encoder(_)), "an encoder")
            }
        };
        match fits {
            true => Ok(Self { folder, stack }),
            false => {
                Err(PretrainedError::WrongStack { folder, task: task.name(), expected }.into())
            }
        }
    }

    /// A context that the model's positions allow.
    fn context_length(&self, positions: usize, found: usize) -> Result<()> {
        if found <= positions {
            return Ok(());
        }
        let (context_length, folder) = (found, self.folder.clone());
        Err(PretrainedError::TooLong { context_length, positions, folder }.into())
    }

    /// Refuses a key that asks for something other than the model has, on each of its sides.
    fn check(&self, found: &Entries, sides: &[Entries]) -> Result<()> {
        // What a run may choose for itself.
        const FREE: [&str; 3] = ["model.context_length", "model.dropout", "model.bias"];
        let of_run = found.iter().filter(|(key, _)| !FREE.contains(key));
        for (key, value) in of_run {
            let own: Vec<&toml::Value> = sides.iter().filter_map(|side| side.value(key)).collect();
            if own.is_empty() || own.contains(&value) {
                continue;
            }
            let words = |value: &toml::Value| match value {
                toml::Value::String(name) => name.clone(),
                other => other.to_string(),
            };
            let mut names: Vec<String> = own.into_iter().map(words).collect();
            names.dedup();
            return Err(Error::from(PretrainedError::Differs {
                key: key.to_string(),
                found: words(value),
                own: names.join(" and "),
                folder: self.folder.clone(),
            }));
        }
        Ok(())
    }
}

/// The keys of a model.
fn entries(add: impl FnOnce(&mut Entries)) -> Entries {
    let mut entries = Entries::default();
    add(&mut entries);
    entries
}

impl TransformerModel {
    /// A GPT-2 of a small size.
    const DECODER: Self = Self {
        layers: 4,
        heads: 4,
        hidden_size: 128,
        intermediate_size: 4 * 128,
        context_length: CONTEXT_LENGTH,
        dropout: 0.0,
        norm: NormPlacement::Pre,
        positions: Positions::Learned,
        normalization: Normalization::Layer,
        residual: Residual::Added,
        scaling: Scaling::SqrtWidth,
        activation: Activation::GeluTanh,
        bias: true,
    };

    /// The Transformer of 2017, of a small size.
    const ENCODER_DECODER: Self = Self {
        layers: 3,
        heads: 8,
        hidden_size: 256,
        intermediate_size: 4 * 256,
        dropout: 0.1,
        norm: NormPlacement::Post,
        positions: Positions::Sinusoidal,
        activation: Activation::Relu,
        ..Self::DECODER
    };

    /// A decoder: from scratch, or of the pretrained model's sizes.
    pub(super) fn read_decoder(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        let Some(from) = from else { return Self::read_scratch(s, Self::DECODER) };
        let StackConfig::Decoder(c) = &from.stack else { unreachable!("checked when it was read") };
        let own = Self::of_decoder(c);
        let found = Self::read_keys(s, own.clone())?;
        from.context_length(c.max_position_embeddings, found.context_length)?;
        from.check(&entries(|e| found.add_keys(e)), &[entries(|e| own.add_keys(e))])?;
        Ok(found)
    }

    fn of_decoder(c: &DecoderConfig) -> Self {
        Self {
            layers: c.num_hidden_layers,
            heads: c.num_attention_heads,
            hidden_size: c.hidden_size,
            intermediate_size: c.intermediate_size,
            context_length: CONTEXT_LENGTH.min(c.max_position_embeddings),
            norm: c.norm,
            activation: c.activation_function,
            ..Self::DECODER.with_options(&c.options)
        }
    }

    /// Encoder and decoder of a model: their sizes may differ.
    fn of_encoder_decoder(c: &EncoderDecoderConfig) -> [Self; 2] {
        let side = |layers, heads, intermediate_size| Self {
            layers,
            heads,
            hidden_size: c.d_model,
            intermediate_size,
            context_length: CONTEXT_LENGTH.min(c.max_position_embeddings),
            norm: c.norm,
            activation: c.activation_function,
            ..Self::ENCODER_DECODER.with_options(&c.options)
        };
        [
            side(c.encoder_layers, c.encoder_attention_heads, c.encoder_ffn_dim),
            side(c.decoder_layers, c.decoder_attention_heads, c.decoder_ffn_dim),
        ]
    }

    fn read_encoder_decoder(
        s: &mut Settings,
        from: &Pretrained,
        c: &EncoderDecoderConfig,
    ) -> Result<Self> {
        let sides = Self::of_encoder_decoder(c);
        // The larger of both stands for them.
        let [encoder, decoder] = &sides;
        let own = Self {
            layers: encoder.layers.max(decoder.layers),
            heads: encoder.heads.max(decoder.heads),
            intermediate_size: encoder.intermediate_size.max(decoder.intermediate_size),
            ..encoder.clone()
        };
        let found = Self::read_keys(s, own)?;
        from.context_length(c.max_position_embeddings, found.context_length)?;
        let sides = sides.each_ref().map(|side| entries(|e| side.add_keys(e)));
        from.check(&entries(|e| found.add_keys(e)), &sides)?;
        Ok(found)
    }

    fn read_scratch(s: &mut Settings, defaults: Self) -> Result<Self> {
        let hidden_size: usize = s.get("model.hidden_size")?.unwrap_or(defaults.hidden_size);
        let intermediate_size = hidden_size.saturating_mul(4);
        Self::read_keys(s, Self { intermediate_size, ..defaults })
    }

    fn with_options(self, options: &LayerOptions) -> Self {
        Self {
            positions: options.positions,
            normalization: options.normalization,
            residual: options.residual,
            scaling: options.scaling,
            ..self
        }
    }

    /// The options of each layer.
    pub(super) fn options(&self) -> LayerOptions {
        LayerOptions {
            positions: self.positions,
            normalization: self.normalization,
            residual: self.residual,
            scaling: self.scaling,
        }
    }
}

impl EncoderModel {
    /// A BERT of a small size.
    const DEFAULT: Self = Self {
        layers: 4,
        heads: 4,
        hidden_size: 128,
        intermediate_size: 4 * 128,
        context_length: CONTEXT_LENGTH,
        dropout: 0.1,
        activation: Activation::Gelu,
        bias: true,
    };

    /// An encoder: from scratch, or of the pretrained model's sizes. `pairs` says whether it is
    /// given pairs of texts.
    pub(super) fn read(s: &mut Settings, from: Option<&Pretrained>, pairs: bool) -> Result<Self> {
        let Some(from) = from else {
            let hidden_size: usize =
                s.get("model.hidden_size")?.unwrap_or(Self::DEFAULT.hidden_size);
            let intermediate_size = hidden_size.saturating_mul(4);
            return Self::read_keys(s, Self { intermediate_size, ..Self::DEFAULT });
        };
        let StackConfig::Encoder(c) = &from.stack else { unreachable!("checked when it was read") };
        let own = Self::of(c);
        let found = Self::read_keys(s, own.clone())?;
        if pairs && c.type_vocab_size < 2 {
            return Err(PretrainedError::OneTokenType { folder: from.folder.clone() }.into());
        }
        from.context_length(c.max_position_embeddings, found.context_length)?;
        from.check(&entries(|e| found.add_keys(e)), &[entries(|e| own.add_keys(e))])?;
        Ok(found)
    }

    fn of(c: &EncoderConfig) -> Self {
        Self {
            layers: c.num_hidden_layers,
            heads: c.num_attention_heads,
            hidden_size: c.hidden_size,
            intermediate_size: c.intermediate_size,
            context_length: CONTEXT_LENGTH.min(c.max_position_embeddings),
            activation: c.hidden_act,
            ..Self::DEFAULT
        }
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

    fn read_scratch(s: &mut Settings) -> Result<Self> {
        let hidden_size = s.get("model.hidden_size")?.unwrap_or(Self::DEFAULT.hidden_size);
        Self::read_keys(s, Self { embedding_size: hidden_size, ..Self::DEFAULT })
    }

    /// It has no positions, so its context may also be longer than before.
    fn read_pretrained(s: &mut Settings, from: &Pretrained, c: &RecurrentConfig) -> Result<Self> {
        let own = Self {
            layers: c.num_layers,
            hidden_size: c.hidden_size,
            embedding_size: c.embedding_size,
            cell: c.cell,
            attention: c.attention,
            bidirectional: c.directions,
            ..Self::DEFAULT
        };
        let found = Self::read_keys(s, own.clone())?;
        from.check(&entries(|e| found.add_keys(e)), &[entries(|e| own.add_keys(e))])?;
        Ok(found)
    }
}

impl TranslatorModel {
    /// An encoder-decoder: from scratch, or of the pretrained model's sizes.
    pub(super) fn read(s: &mut Settings, from: Option<&Pretrained>) -> Result<Self> {
        let set: Option<Architecture> = s.get("model.arch")?;
        let own = from.map(|from| match from.stack {
            StackConfig::Recurrent(_) => Architecture::Recurrent,
            _ => Architecture::Transformer,
        });
        if let (Some(from), Some(set), Some(own)) = (from, set, own) {
            let arch = |of: Architecture| entries(|e| e.add("model.arch", &of));
            from.check(&arch(set), &[arch(own)])?;
        }
        Ok(match (from, own.or(set).unwrap_or(Architecture::Transformer)) {
            (None, Architecture::Transformer) => Self::Transformer(TransformerModel::read_scratch(
                s,
                TransformerModel::ENCODER_DECODER,
            )?),
            (None, Architecture::Recurrent) => Self::Recurrent(RecurrentModel::read_scratch(s)?),
            (Some(from), _) => match &from.stack {
                StackConfig::EncoderDecoder(c) => {
                    Self::Transformer(TransformerModel::read_encoder_decoder(s, from, c)?)
                }
                StackConfig::Recurrent(c) => {
                    Self::Recurrent(RecurrentModel::read_pretrained(s, from, c)?)
                }
                _ => unreachable!("checked when it was read"),
            },
        })
    }

    pub(super) fn entries(&self, e: &mut Entries) {
        match self {
            Self::Transformer(model) => {
                e.add("model.arch", &Architecture::Transformer);
                model.add_keys(e);
            }
            Self::Recurrent(model) => {
                e.add("model.arch", &Architecture::Recurrent);
                model.add_keys(e);
            }
        }
    }

    /// The longest sequence.
    pub fn context_length(&self) -> usize {
        match self {
            Self::Transformer(model) => model.context_length,
            Self::Recurrent(model) => model.context_length,
        }
    }
}
