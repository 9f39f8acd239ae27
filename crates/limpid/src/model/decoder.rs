//! The decoder: causal self-attention, a language model.
//!
//! ```text
//! x = embedding[ids] + positions                                   (n, c)
//! per layer:  x += attention(norm(x));  x += ffn(norm(x))          pre-norm
//!             x = norm(x + attention(x));  x = norm(x + ffn(x))    post-norm
//! logits = norm(x) · outputᵀ                                       (n, v); no norm in post-norm
//! ```

use crate::data::batch::{LmBatch, Packed};
use crate::error::Result;
use crate::model::config::{DecoderConfig, Tie};
use crate::nn::{
    Bias, CachedPast, KvCache, LayerConfig, LayerInit, LayerKind, Layers, Linear, PositionEncoding,
};
use limpid_tensor::kernels::activation::Activation;
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
    output: Linear,
}

impl Decoder {
    /// Declares the parameters.
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &DecoderConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (c, v, init) = (config.hidden_size, config.vocab_size, Init::Normal(STD));
        let tokens = builder.add("token_embedding.weight", [v, c], init);
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
        let output = match config.tie_word_embeddings {
            Tie::Shared => tokens,
            Tie::Separate => builder.add("output.weight", [v, c], init),
        };
        let output_bias = (config.output_bias == Bias::Added)
            .then(|| builder.add("output.bias", [v], Init::Zeros));
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
        let scale = self.config.scale_embedding.factor(self.config.hidden_size);
        let x = t.embedding(&input.ids, self.tokens, scale);
        let x = self.positions.add_from(t, &x, &input.positions, self.config.position_offset);
        let x = t.dropout(&x, self.config.dropout);
        self.layers.forward(t, x, input, None, past, |_, _, _| {})
    }

    /// weight · Σ −ln p(next token), with optional label smoothing.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &LmBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input, None);
        t.output_loss(&hidden, self.output.w, self.output.b, &batch.targets, spec)
    }

    /// Logits over the vocabulary: (n, c) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        self.output.forward(t, hidden, Activation::None)
    }

    /// An empty cache.
    pub fn cache(&self) -> KvCache {
        self.layers.cache()
    }
}
