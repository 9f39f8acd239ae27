//! GPT: a stack of decoders with nothing to look at but the past.
//!
//! ```text
//! x = embedding[ids] + positions                                   (n, c)
//! per layer:  x += attention(norm(x));  x += ffn(norm(x))          pre-norm (GPT-2); post-norm (GPT-1) norms the sums
//! logits = norm(x) · outputᵀ                                       (n, v); GPT-1 has no norm here
//! ```

use crate::config::{GptConfig, NormPlacement, Tie};
use crate::data::batch::{LmBatch, Packed};
use crate::error::Result;
use crate::nn::{Builder, FeedForward, KvCache, Linear, Norm, PositionEncoding, SelfAttention, Stream};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::Causality;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, ParamId};
use limpid_tensor::tape::{Tape, Var};

/// The size of initial weights.
const SIZE: f32 = 0.02;

/// Which parameters a GPT has, and how it computes with them.
#[derive(Clone, Debug)]
pub struct Gpt {
    config: GptConfig,
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

impl Gpt {
    /// Declares the parameters, under the names `transformers` gives them.
    pub fn new(config: &GptConfig, builder: &mut Builder) -> Result<Self> {
        config.validate()?;
        let (c, v, eps) = (config.n_embd, config.vocab_size, config.layer_norm_epsilon);
        let init = Init::Normal(SIZE);
        let (tokens, positions) = match config.norm {
            NormPlacement::Pre => ("transformer.wte.weight", "transformer.wpe.weight"),
            NormPlacement::Post => ("transformer.tokens_embed.weight", "transformer.positions_embed.weight"),
        };
        let tokens = builder.add(tokens, &[v, c], init);
        let (kind, shape) = (config.variant.positions, [config.n_positions, c]);
        let positions = PositionEncoding::new(kind, builder, positions, shape, SIZE);
        let layers = (0..config.n_layer).map(|l| Layer::new(config, builder, l)).collect();
        let final_norm = match config.norm {
            NormPlacement::Pre => {
                Some(Norm::of(config.variant.normalisation, builder, "transformer.ln_f", c, eps))
            }
            NormPlacement::Post => None,
        };
        let output = match config.tie_word_embeddings {
            Tie::Shared => tokens,
            Tie::Separate => builder.add("lm_head.weight", &[v, c], init),
        };
        Ok(Self { config: config.clone(), tokens, positions, layers, final_norm, output })
    }

    /// What it was made from.
    pub fn config(&self) -> &GptConfig {
        &self.config
    }

    /// The representation of every token: (n) -> (n, c). With caches (one a layer), `input` continues what they hold.
    #[track_caller]
    pub fn hidden(&self, t: &mut Tape, input: &Packed, mut caches: Option<&mut [KvCache]>) -> Var {
        let x = t.embedding(&input.ids, self.tokens, 1.0);
        let x = self.positions.add(t, &x, &input.positions);
        let mut stream = Stream::with(t.dropout(&x, self.config.dropout), self.config.variant.residual);
        for (l, layer) in self.layers.iter().enumerate() {
            let cache = caches.as_deref_mut().map(|caches| &mut caches[l]);
            stream =
                t.scope(format_args!("layers.{l}"), |t| layer.forward(t, stream, input, &self.config, cache));
        }
        stream.finish(t, self.final_norm.as_ref())
    }

    /// weight · Σ −ln p(next token), with label smoothing by option.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &LmBatch, spec: LossSpec) -> Var {
        let hidden = self.hidden(t, &batch.input, None);
        t.output_loss(&hidden, self.output, None, &batch.targets, spec)
    }

    /// Scores over the vocabulary for rows of the hidden states: (n, c) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        t.linear(hidden, self.output, None, Activation::None)
    }

    /// Empty caches for `sequences` sequences of up to `capacity` tokens.
    pub fn caches(&self, sequences: usize, capacity: usize) -> Vec<KvCache> {
        self.layers.iter().map(|_| KvCache::new(sequences, capacity, self.config.n_embd)).collect()
    }
}

impl Layer {
    fn new(config: &GptConfig, builder: &mut Builder, l: usize) -> Self {
        let (c, f, kind) = (config.n_embd, config.n_inner, config.variant.normalisation);
        let name = |part: &str| format!("transformer.h.{l}.{part}");
        let init = Init::Normal(SIZE);
        // What is added to the residual stream 2·layers times starts smaller: the sum does not grow with depth.
        let into_stream = Init::Normal(SIZE / (2.0 * config.n_layer as f32).sqrt());
        Self {
            attention_norm: Norm::of(kind, builder, &name("ln_1"), c, config.layer_norm_epsilon),
            attention: SelfAttention {
                qkv: Linear::conv1d(builder, &name("attn.c_attn"), 3 * c, c, init),
                out: Linear::conv1d(builder, &name("attn.c_proj"), c, c, into_stream),
                heads: config.n_head,
                causality: Causality::Causal,
                scaling: config.variant.scaling,
            },
            ffn_norm: Norm::of(kind, builder, &name("ln_2"), c, config.layer_norm_epsilon),
            ffn: FeedForward {
                up: Linear::conv1d(builder, &name("mlp.c_fc"), f, c, init),
                down: Linear::conv1d(builder, &name("mlp.c_proj"), c, f, into_stream),
                phi: config.activation_function,
            },
        }
    }

    fn forward(
        &self,
        t: &mut Tape,
        stream: Stream,
        input: &Packed,
        config: &GptConfig,
        cache: Option<&mut KvCache>,
    ) -> Stream {
        let stream = stream.sublayer(t, config.norm, &self.attention_norm, config.dropout, |t, x| {
            t.scope("self_attention", |t| self.attention.forward(t, x, &input.spans, cache))
        });
        stream.sublayer(t, config.norm, &self.ffn_norm, config.dropout, |t, x| self.ffn.forward(t, x))
    }
}
