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
    AttentionShape, FeedForward, KvCache, LayerOptions, Norm, NormPlacement, PositionEncoding,
    SelfAttention, Stream,
};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::Causality;
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
    layers: Vec<Layer>,
    final_norm: Option<Norm>,
    output: ParamId,
}

#[derive(Clone, Debug)]
struct Layer {
    attention_norm: Norm,
    attention: SelfAttention,
    ffn_norm: Norm,
    ffn: FeedForward,
}

impl Decoder {
    /// Declares the parameters.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &DecoderConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (c, v, eps) = (config.hidden_size, config.vocab_size, config.layer_norm_eps);
        let init = Init::Normal(STD);
        let tokens = builder.add("token_embedding.weight", [v, c], init);
        let (kind, shape) = (config.options.positions, [config.max_position_embeddings, c]);
        let name = "position_embedding.weight";
        let positions = PositionEncoding::new(kind, builder, name, shape, STD);
        let layers =
            (0..config.num_hidden_layers).map(|l| Layer::new(config, builder, l)).collect();
        let final_norm = match config.norm {
            NormPlacement::Pre => {
                Some(Norm::new(config.options.normalization, builder, "final_norm", c, eps))
            }
            NormPlacement::Post => None,
        };
        let output = match config.tie_word_embeddings {
            Tie::Shared => tokens,
            Tie::Separate => builder.add("output.weight", [v, c], init),
        };
        Ok(Self { config: config.clone(), tokens, positions, layers, final_norm, output })
    }

    /// Its configuration.
    pub fn config(&self) -> &DecoderConfig {
        &self.config
    }

    /// Hidden states: (n) -> (n, c). With caches (one per layer), `input` continues their
    /// sequences.
    #[track_caller]
    pub fn hidden(&self, t: &mut Tape, input: &Packed, mut caches: Option<&mut [KvCache]>) -> Var {
        let x = t.embedding(&input.ids, self.tokens, 1.0);
        let x = self.positions.add(t, &x, &input.positions);
        let mut stream =
            Stream::with(t.dropout(&x, self.config.dropout), self.config.options.residual);
        for (l, layer) in self.layers.iter().enumerate() {
            let cache = caches.as_deref_mut().map(|caches| &mut caches[l]);
            stream = t.scope(format_args!("layers.{l}"), |t| {
                layer.forward(t, stream, input, &self.config, cache)
            });
        }
        stream.finish(t, self.final_norm.as_ref())
    }

    /// weight · Σ −ln p(next token), with optional label smoothing.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &LmBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input, None);
        t.output_loss(&hidden, self.output, None, &batch.targets, spec)
    }

    /// Logits over the vocabulary: (n, c) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        t.linear(hidden, self.output, None, Activation::None)
    }

    /// Empty caches for `sequences` sequences of up to `capacity` tokens.
    pub fn caches(&self, sequences: usize, capacity: usize) -> Vec<KvCache> {
        self.layers
            .iter()
            .map(|_| KvCache::new(sequences, capacity, self.config.hidden_size))
            .collect()
    }
}

impl Layer {
    fn new(config: &DecoderConfig, builder: &mut ParamsBuilder, l: usize) -> Self {
        let LayerOptions { normalization, scaling, .. } = config.options;
        let (c, f, eps) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let shape = AttentionShape { c, heads: config.num_attention_heads, scaling };
        let name = |part: &str| format!("layers.{l}.{part}");
        // The residual stream sums 2·layers branches: their projections start smaller, so that the
        // sum does not grow with depth.
        let into_stream = Init::Normal(STD / (2.0 * config.num_hidden_layers as f32).sqrt());
        let inits = [Init::Normal(STD), into_stream];
        let phi = config.activation_function;
        let causal = Causality::Causal;
        Self {
            attention_norm: Norm::new(normalization, builder, &name("attention_norm"), c, eps),
            attention: SelfAttention::new(builder, &name("self_attention"), shape, causal, inits),
            ffn_norm: Norm::new(normalization, builder, &name("ffn_norm"), c, eps),
            ffn: FeedForward::new(builder, &name("ffn"), [c, f], phi, inits),
        }
    }

    fn forward(
        &self,
        t: &mut Tape,
        stream: Stream,
        input: &Packed,
        config: &DecoderConfig,
        cache: Option<&mut KvCache>,
    ) -> Stream {
        let stream =
            stream.sublayer(t, config.norm, &self.attention_norm, config.dropout, |t, x| {
                t.scope("self_attention", |t| self.attention.forward(t, x, &input.spans, cache))
            });
        stream
            .sublayer(t, config.norm, &self.ffn_norm, config.dropout, |t, x| self.ffn.forward(t, x))
    }
}
