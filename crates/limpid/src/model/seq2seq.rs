//! The encoder-decoder Transformer: read a sentence, then say another one word by word.
//!
//! ```text
//! encoder:  x = √c·embedding[source] + PE;   per layer: x = norm(x + self_attention(x)),  x = norm(x + ffn(x))
//! decoder:  y = √c·embedding[target] + PE;   per layer: y = norm(y + causal_self_attention(y)),
//!                                                       y = norm(y + cross_attention(y, encoder's x)),
//!                                                       y = norm(y + ffn(y))
//! logits = y · outputᵀ + fixed bias
//! ```
//!
//! Post-norm as in the paper, pre-norm by option (then with a norm at the end of each stack).
//! Reference: Vaswani et al. 2017.

use crate::config::{NormPlacement, ScaleEmbedding, Seq2SeqConfig, Tie, Variant};
use crate::data::batch::{Packed, PairBatch};
use crate::error::Result;
use crate::nn::{
    Builder, CrossAttention, FeedForward, KvCache, Linear, Norm, PositionEncoding, SelfAttention, Stream,
};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, ParamId};
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// PyTorch's default; no file of this family says otherwise.
const EPS: f32 = 1e-5;

/// Which parameters an encoder-decoder has, and how it computes with them.
#[derive(Clone, Debug)]
pub struct Seq2Seq {
    config: Seq2SeqConfig,
    source_tokens: ParamId,
    target_tokens: ParamId,
    positions: PositionEncoding,
    encoder: Vec<EncoderLayer>,
    encoder_norm: Option<Norm>,
    decoder: Vec<DecoderLayer>,
    decoder_norm: Option<Norm>,
    output: ParamId,
    output_bias: ParamId,
}

#[derive(Clone, Debug)]
struct EncoderLayer {
    attention: SelfAttention,
    attention_norm: Norm,
    ffn: FeedForward,
    ffn_norm: Norm,
}

#[derive(Clone, Debug)]
struct DecoderLayer {
    attention: SelfAttention,
    attention_norm: Norm,
    cross: CrossAttention,
    cross_norm: Norm,
    ffn: FeedForward,
    ffn_norm: Norm,
}

/// What the decoder needs of the source: keys and values of each layer, computed once.
pub struct Memory {
    /// (n_source, 2c) for each decoder layer.
    pub keys_values: Vec<Var>,
    /// The rows of each source sentence.
    pub spans: Arc<[Span]>,
}

/// Where the decoder finds the source.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The encoder's output (n_source, c): each layer makes keys and values of it when it needs them. Training.
    Encoded(&'a Var, &'a Arc<[Span]>),
    /// Keys and values that were made once for many steps. Decoding.
    Remembered(&'a Memory),
}

impl<'a> From<&'a Memory> for Source<'a> {
    fn from(memory: &'a Memory) -> Self {
        Source::Remembered(memory)
    }
}

impl Seq2Seq {
    /// Declares the parameters, under the names `transformers` gives them.
    pub fn new(config: &Seq2SeqConfig, builder: &mut Builder) -> Result<Self> {
        config.validate()?;
        let c = config.d_model;
        // √c · N(0, 1/√c) has variance 1, like the positions it is added to.
        let init = match config.scale_embedding {
            ScaleEmbedding::SqrtWidth => Init::Normal(1.0 / (c as f32).sqrt()),
            ScaleEmbedding::One => Init::Normal(1.0),
        };
        let (source_tokens, target_tokens) = match config.share_encoder_decoder_embeddings {
            Tie::Shared => {
                let shared = builder.add("model.shared.weight", &[config.vocab_size, c], init);
                (shared, shared)
            }
            Tie::Separate => (
                builder.add("model.encoder.embed_tokens.weight", &[config.vocab_size, c], init),
                builder.add("model.decoder.embed_tokens.weight", &[config.decoder_vocab_size, c], init),
            ),
        };
        let final_norm = |builder: &mut Builder, name| match config.norm {
            NormPlacement::Pre => Some(Norm::of(config.variant.normalisation, builder, name, c, EPS)),
            NormPlacement::Post => None,
        };
        let encoder = (0..config.encoder_layers).map(|l| EncoderLayer::new(config, builder, l)).collect();
        let encoder_norm = final_norm(builder, "model.encoder.layer_norm");
        let decoder = (0..config.decoder_layers).map(|l| DecoderLayer::new(config, builder, l)).collect();
        let decoder_norm = final_norm(builder, "model.decoder.layer_norm");
        let output = match config.tie_word_embeddings {
            Tie::Shared => target_tokens,
            Tie::Separate => {
                let init = Init::Normal(1.0 / (c as f32).sqrt());
                builder.add("lm_head.weight", &[config.decoder_vocab_size, c], init)
            }
        };
        let output_bias =
            builder.add_fixed("final_logits_bias", &[1, config.decoder_vocab_size], Init::Zeros);
        let shape = [config.max_position_embeddings, c];
        // Waves of amplitude 1, as in the paper.
        let size = std::f32::consts::FRAC_1_SQRT_2;
        let kind = config.variant.positions;
        let positions = PositionEncoding::new(kind, builder, "model.positions.weight", shape, size);
        Ok(Self {
            config: config.clone(),
            source_tokens,
            target_tokens,
            positions,
            encoder,
            encoder_norm,
            decoder,
            decoder_norm,
            output,
            output_bias,
        })
    }

    /// What it was made from.
    pub fn config(&self) -> &Seq2SeqConfig {
        &self.config
    }

    /// The table of positions that is computed, (longest, c); none if it is learned or there is none.
    pub fn positions(&self) -> Option<&Tensor> {
        match &self.positions {
            PositionEncoding::Fixed(table) => Some(table),
            PositionEncoding::Learned(_) | PositionEncoding::None => None,
        }
    }

    fn embed(&self, t: &mut Tape, input: &Packed, table: ParamId) -> Stream {
        let scale = match self.config.scale_embedding {
            ScaleEmbedding::SqrtWidth => (self.config.d_model as f32).sqrt(),
            ScaleEmbedding::One => 1.0,
        };
        let x = t.embedding(&input.ids, table, scale);
        let x = self.positions.add(t, &x, &input.positions);
        Stream::with(t.dropout(&x, self.config.dropout), self.config.variant.residual)
    }

    /// The representation of every source token: (n_source) -> (n_source, c).
    #[track_caller]
    pub fn encode(&self, t: &mut Tape, source: &Packed) -> Var {
        let mut stream = self.embed(t, source, self.source_tokens);
        for (l, layer) in self.encoder.iter().enumerate() {
            stream = t.scope(format_args!("encoder.{l}"), |t| layer.forward(t, stream, source, &self.config));
        }
        stream.finish(t, self.encoder_norm.as_ref())
    }

    /// Keys and values for every decoder layer, from the encoder's output.
    #[track_caller]
    pub fn memory(&self, t: &mut Tape, encoded: &Var, source: &Packed) -> Memory {
        let keys_values = self.decoder.iter().map(|layer| layer.cross.keys_values(t, encoded)).collect();
        Memory { keys_values, spans: source.spans.clone() }
    }

    /// The representation of every target token: (n) -> (n, c). With caches (one a layer), `input` continues what they
    /// hold.
    #[track_caller]
    pub fn decode<'a>(
        &self,
        t: &mut Tape,
        input: &Packed,
        source: impl Into<Source<'a>>,
        mut caches: Option<&mut [KvCache]>,
    ) -> Var {
        let source = source.into();
        let mut stream = self.embed(t, input, self.target_tokens);
        for (l, layer) in self.decoder.iter().enumerate() {
            let cache = caches.as_deref_mut().map(|caches| &mut caches[l]);
            stream = t.scope(format_args!("decoder.{l}"), |t| {
                layer.forward(t, stream, input, (l, source), &self.config, cache)
            });
        }
        stream.finish(t, self.decoder_norm.as_ref())
    }

    /// weight · Σ −ln p(target token), with label smoothing by option.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        let encoded = self.encode(t, &batch.source);
        let source = Source::Encoded(&encoded, &batch.source.spans);
        let hidden = self.decode(t, &batch.input, source, None);
        t.output_loss(&hidden, self.output, Some(self.output_bias), &batch.targets, spec)
    }

    /// Scores over the target vocabulary for rows of the decoder's output: (n, c) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        t.linear(hidden, self.output, Some(self.output_bias), Activation::None)
    }

    /// Empty caches for `sequences` sequences of up to `capacity` tokens.
    pub fn caches(&self, sequences: usize, capacity: usize) -> Vec<KvCache> {
        self.decoder.iter().map(|_| KvCache::new(sequences, capacity, self.config.d_model)).collect()
    }
}

fn feed_forward(builder: &mut Builder, prefix: &str, c: usize, f: usize, phi: Activation) -> FeedForward {
    FeedForward {
        up: Linear::new(builder, &format!("{prefix}.fc1"), f, c, Init::Xavier),
        down: Linear::new(builder, &format!("{prefix}.fc2"), c, f, Init::Xavier),
        phi,
    }
}

impl EncoderLayer {
    fn new(config: &Seq2SeqConfig, builder: &mut Builder, l: usize) -> Self {
        let (c, heads) = (config.d_model, config.encoder_attention_heads);
        let Variant { normalisation: kind, scaling, .. } = config.variant;
        let p = format!("model.encoder.layers.{l}");
        Self {
            attention: SelfAttention {
                scaling,
                ..SelfAttention::marian(builder, &format!("{p}.self_attn"), c, heads, Causality::Full)
            },
            attention_norm: Norm::of(kind, builder, &format!("{p}.self_attn_layer_norm"), c, EPS),
            ffn: feed_forward(builder, &p, c, config.encoder_ffn_dim, config.activation_function),
            ffn_norm: Norm::of(kind, builder, &format!("{p}.final_layer_norm"), c, EPS),
        }
    }

    fn forward(&self, t: &mut Tape, stream: Stream, source: &Packed, config: &Seq2SeqConfig) -> Stream {
        let stream = stream.sublayer(t, config.norm, &self.attention_norm, config.dropout, |t, x| {
            t.scope("self_attention", |t| self.attention.forward(t, x, &source.spans, None))
        });
        stream.sublayer(t, config.norm, &self.ffn_norm, config.dropout, |t, x| self.ffn.forward(t, x))
    }
}

impl DecoderLayer {
    fn new(config: &Seq2SeqConfig, builder: &mut Builder, l: usize) -> Self {
        let (c, heads) = (config.d_model, config.decoder_attention_heads);
        let Variant { normalisation: kind, scaling, .. } = config.variant;
        let p = format!("model.decoder.layers.{l}");
        Self {
            attention: SelfAttention {
                scaling,
                ..SelfAttention::marian(builder, &format!("{p}.self_attn"), c, heads, Causality::Causal)
            },
            attention_norm: Norm::of(kind, builder, &format!("{p}.self_attn_layer_norm"), c, EPS),
            cross: CrossAttention {
                scaling,
                ..CrossAttention::marian(builder, &format!("{p}.encoder_attn"), c, heads)
            },
            cross_norm: Norm::of(kind, builder, &format!("{p}.encoder_attn_layer_norm"), c, EPS),
            ffn: feed_forward(builder, &p, c, config.decoder_ffn_dim, config.activation_function),
            ffn_norm: Norm::of(kind, builder, &format!("{p}.final_layer_norm"), c, EPS),
        }
    }

    fn forward(
        &self,
        t: &mut Tape,
        stream: Stream,
        input: &Packed,
        (l, source): (usize, Source),
        config: &Seq2SeqConfig,
        cache: Option<&mut KvCache>,
    ) -> Stream {
        let stream = stream.sublayer(t, config.norm, &self.attention_norm, config.dropout, |t, y| {
            t.scope("self_attention", |t| self.attention.forward(t, y, &input.spans, cache))
        });
        let stream = stream.sublayer(t, config.norm, &self.cross_norm, config.dropout, |t, y| {
            t.scope("cross_attention", |t| match source {
                Source::Encoded(encoded, spans) => {
                    let kv = self.cross.keys_values(t, encoded);
                    self.cross.forward(t, y, &input.spans, &kv, spans)
                }
                Source::Remembered(memory) => {
                    self.cross.forward(t, y, &input.spans, &memory.keys_values[l], &memory.spans)
                }
            })
        });
        stream.sublayer(t, config.norm, &self.ffn_norm, config.dropout, |t, y| self.ffn.forward(t, y))
    }
}
