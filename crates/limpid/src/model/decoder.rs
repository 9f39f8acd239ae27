//! The decoder: causal self-attention, a language model.
//!
//! ```text
//! x = embedding[ids] + positions                                   (n, c)
//! per layer:  x += attention(norm(x));  x += ffn(norm(x))          pre-norm
//!             x = norm(x + attention(x));  x = norm(x + ffn(x))    post-norm
//! logits = norm(x) · outputᵀ                                       (n, v); no norm in post-norm
//! classifier: logits = norm(x)[last] · scoreᵀ                      (sequences, labels)
//! ```

use super::heads::label_loss;
use crate::data::batch::{LabelledBatch, LmBatch, Packed};
use crate::error::Result;
use crate::model::config::{DecoderConfig, DecoderHead, Labels, Tie};
use crate::nn::{
    Bias, CachedPast, KvCache, LayerConfig, LayerInit, LayerKind, Layers, Linear, PositionEncoding,
};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};

/// Standard deviation of the initial weights.
const STD: f32 = 0.02;

/// The parameters of a decoder, and its forward pass.
#[derive(Clone, Debug)]
pub struct Decoder {
    config: DecoderConfig,
    tokens: ParamId,
    positions: PositionEncoding,
    layers: Layers,
    /// Over the vocabulary, or over the labels of a classifier.
    output: Linear,
}

impl Decoder {
    /// Declares the parameters.
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &DecoderConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (c, v, init) = (config.hidden_size, config.vocab_size, Init::Normal(STD));
        let tokens = builder.add_weight("token_embedding.weight", [v, c], init);
        let (kind, shape) = (config.options.positions, [config.position_rows(), c]);
        let name = "position_embedding.weight";
        let positions = PositionEncoding::new(kind, builder, name, shape, STD);
        let layers = LayerConfig {
            kind: LayerKind::Decoder,
            layers: config.num_hidden_layers,
            c,
            heads: config.num_attention_heads,
            f: config.intermediate_size,
            activation: config.activation_function,
            eps: config.layer_norm_eps,
            norm: config.norm,
            dropout: config.dropout,
            options: config.options,
            variant: config.variant,
            init: LayerInit::ScaledNormal(STD),
        };
        let layers = Layers::new(builder, None, layers);
        let output = match (&config.head, config.tie_word_embeddings) {
            (DecoderHead::Classifier { labels, .. }, _) => {
                builder.add_weight("score.weight", [labels.names.len(), c], init)
            }
            (DecoderHead::LanguageModel, Tie::Shared) => tokens,
            (DecoderHead::LanguageModel, Tie::Separate) => {
                builder.add_weight("output.weight", [v, c], init)
            }
        };
        let has_bias = config.output_bias == Bias::Added && config.labels().is_none();
        let output_bias = has_bias.then(|| builder.add("output.bias", [v], Init::Zeros));
        let output = Linear { w: output, b: output_bias };
        Ok(Self { config: config.clone(), tokens, positions, layers, output })
    }

    /// Its configuration.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Hidden states: (n) -> (n, c). With a past, `input` continues its sequences.
    #[track_caller]
    pub fn hidden(&self, t: &mut Tape, input: &Packed, past: Option<&mut CachedPast>) -> Var {
        let x = self.embedded(t, input);
        self.layers.forward(t, x, input, None, past, |_, _, _| {})
    }

    /// Hidden states of the embeddings and after each layer, each through the final norm, for
    /// [`Decoder::logits`]: the logit lens.
    #[track_caller]
    pub fn hidden_by_layer(&self, t: &mut Tape, input: &Packed) -> Vec<Var> {
        let x = self.embedded(t, input);
        self.layers.by_layer(t, x, input)
    }

    /// Its layers.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Embeddings of tokens and positions: (n) -> (n, c).
    fn embedded(&self, t: &mut Tape, input: &Packed) -> Var {
        let scale = self.config.scale_embedding.factor(self.config.hidden_size);
        let x = t.embedding(&input.ids, self.tokens, scale);
        let x = self.positions.add_from(t, &x, &input.positions, self.config.position_offset);
        t.dropout(&x, self.config.dropout)
    }

    /// The labels of a sequence classifier; `None` for a language model.
    pub fn labels(&self) -> Option<&Labels> {
        self.config.labels()
    }

    /// weight · Σ −ln p(next token), with optional label smoothing.
    /// # Panics
    /// If it is a classifier.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &LmBatch, spec: LossSpec) -> Var {
        assert!(self.labels().is_none(), "the loss of a language model, of a classifier");
        let hidden = self.hidden(t, &batch.input, None);
        t.output_loss(&hidden, self.output.w, self.output.b, &batch.targets, spec)
    }

    /// Logits over the vocabulary: (n, c) -> (n, v).
    /// # Panics
    /// If it is a classifier.
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        assert!(self.labels().is_none(), "logits over the vocabulary, of a classifier");
        self.output.forward(t, hidden, Activation::None)
    }

    /// The last token of each sequence that is not padding: (n, c) -> (sequences, c).
    #[track_caller]
    fn last(&self, t: &mut Tape, hidden: &Var, input: &Packed) -> Var {
        let pad = match self.config.head {
            DecoderHead::Classifier { pad_token_id, .. } => pad_token_id,
            DecoderHead::LanguageModel => panic!("a head with labels was expected"),
        };
        let rows = input.spans.iter().map(|span| {
            let ids = &input.ids[span.start..span.start + span.len];
            // A sequence of nothing but padding is read at its first token, as in `transformers`.
            let last = match pad {
                Some(pad) => ids.iter().rposition(|id| *id != pad).unwrap_or(0),
                None => span.len.saturating_sub(1),
            };
            (span.start + last) as u32
        });
        let rows = rows.collect();
        t.rows(hidden, &rows)
    }

    /// Classification logits: (n, c) -> (sequences, labels).
    /// # Panics
    /// If it is a language model.
    #[track_caller]
    pub fn class_logits(&self, t: &mut Tape, hidden: &Var, input: &Packed) -> Var {
        let last = self.last(t, hidden, input);
        self.output.forward(t, &last, Activation::None)
    }

    /// Classification loss: see [`Encoder::class_loss`](super::Encoder::class_loss).
    /// # Panics
    /// If it is a language model, or the targets are of another problem.
    #[track_caller]
    pub fn class_loss(&self, t: &mut Tape, batch: &LabelledBatch, spec: LossSpec) -> Var {
        let labels = self.labels().expect("a head with labels");
        let hidden = self.hidden(t, &batch.input.tokens, None);
        let last = self.last(t, &hidden, &batch.input.tokens);
        label_loss(t, &last, &self.output, labels, &batch.labels, spec)
    }

    /// An empty cache with keys and values in this format.
    pub fn cache(&self, format: KvFormat) -> KvCache {
        self.layers.cache(format)
    }
}
