//! The encoder-decoder Transformer: encodes a source text, decodes a target text from it.
//!
//! ```text
//! encoder:  x = √c·embedding[source] + PE       (n_source, c)
//!           per layer:  x = norm(x + self_attention(x));  x = norm(x + ffn(x))
//! decoder:  y = √c·embedding[target] + PE       (n, c)
//!           per layer:  y = norm(y + causal_self_attention(y))
//!                       y = norm(y + cross_attention(y, x));  y = norm(y + ffn(y))
//! logits = y · outputᵀ + fixed bias             (n, v)
//! ```
//!
//! Post-norm as in the paper, pre-norm by option (then with a norm at the end of each stack).
//! Reference: Vaswani et al. 2017.

use crate::data::batch::{Packed, PairBatch};
use crate::error::Result;
use crate::model::config::{EmbeddingScale, EncoderDecoderConfig, Tie};
use crate::nn::{
    AttentionShape, CrossAttention, FeedForward, KvCache, LayerOptions, Norm, NormPlacement,
    PositionEncoding, SelfAttention, Stream,
};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// ε of the layer norms: PyTorch's default, which every supported checkpoint uses.
const EPS: f32 = 1e-5;

/// The parameters of an encoder-decoder, and its forward pass.
#[derive(Clone, Debug)]
pub struct EncoderDecoder {
    config: EncoderDecoderConfig,
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

/// Keys and values of the source for each decoder layer, computed once per text.
pub struct Memory {
    /// (n_source, 2c) for each decoder layer.
    pub keys_values: Vec<Var>,
    /// The rows of each source sentence.
    pub spans: Arc<[Span]>,
}

/// The source, as the decoder attends to it.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The encoder's output (n_source, c): each layer projects keys and values itself. Training.
    Encoded(&'a Var, &'a Arc<[Span]>),
    /// Keys and values computed once for many steps. Generation.
    Remembered(&'a Memory),
}

impl<'a> From<&'a Memory> for Source<'a> {
    fn from(memory: &'a Memory) -> Self {
        Source::Remembered(memory)
    }
}

impl EncoderDecoder {
    /// Declares the parameters.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &EncoderDecoderConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (c, source_size) = (config.d_model, config.vocab_size);
        let target_size = config.decoder_vocab_size;
        // √c · N(0, 1/√c) has variance 1, like the positions it is added to.
        let init = match config.scale_embedding {
            EmbeddingScale::SqrtWidth => Init::Normal(1.0 / (c as f32).sqrt()),
            EmbeddingScale::One => Init::Normal(1.0),
        };
        let (source_tokens, target_tokens) = match config.share_encoder_decoder_embeddings {
            Tie::Shared => {
                let shared = builder.add("shared_embedding.weight", [source_size, c], init);
                (shared, shared)
            }
            Tie::Separate => (
                builder.add("encoder.token_embedding.weight", [source_size, c], init),
                builder.add("decoder.token_embedding.weight", [target_size, c], init),
            ),
        };
        let final_norm = |builder: &mut ParamsBuilder, name| match config.norm {
            NormPlacement::Pre => {
                Some(Norm::new(config.options.normalization, builder, name, c, EPS))
            }
            NormPlacement::Post => None,
        };
        let encoder =
            (0..config.encoder_layers).map(|l| EncoderLayer::new(config, builder, l)).collect();
        let encoder_norm = final_norm(builder, "encoder.final_norm");
        let decoder =
            (0..config.decoder_layers).map(|l| DecoderLayer::new(config, builder, l)).collect();
        let decoder_norm = final_norm(builder, "decoder.final_norm");
        let output = match config.tie_word_embeddings {
            Tie::Shared => target_tokens,
            Tie::Separate => {
                let init = Init::Normal(1.0 / (c as f32).sqrt());
                builder.add("output.weight", [target_size, c], init)
            }
        };
        let output_bias = builder.add_fixed("logits_bias", [1, target_size], Init::Zeros);
        let shape = [config.max_position_embeddings, c];
        // Waves of amplitude 1, as in the paper.
        let size = std::f32::consts::FRAC_1_SQRT_2;
        let (kind, name) = (config.options.positions, "position_embedding.weight");
        let positions = PositionEncoding::new(kind, builder, name, shape, size);
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

    /// Its configuration.
    pub fn config(&self) -> &EncoderDecoderConfig {
        &self.config
    }

    /// The computed position table, (max_position_embeddings, c); `None` if positions are learned
    /// or absent.
    pub fn positions(&self) -> Option<&Tensor> {
        match &self.positions {
            PositionEncoding::Fixed(table) => Some(table),
            PositionEncoding::Learned(_) | PositionEncoding::None => None,
        }
    }

    fn embed(&self, t: &mut Tape, input: &Packed, table: ParamId) -> Stream {
        let scale = match self.config.scale_embedding {
            EmbeddingScale::SqrtWidth => (self.config.d_model as f32).sqrt(),
            EmbeddingScale::One => 1.0,
        };
        let x = t.embedding(&input.ids, table, scale);
        let x = self.positions.add(t, &x, &input.positions);
        Stream::with(t.dropout(&x, self.config.dropout), self.config.options.residual)
    }

    /// Hidden states of the source: (n_source) -> (n_source, c).
    #[track_caller]
    pub fn encode(&self, t: &mut Tape, source: &Packed) -> Var {
        let mut stream = self.embed(t, source, self.source_tokens);
        for (l, layer) in self.encoder.iter().enumerate() {
            stream = t.scope(format_args!("encoder.{l}"), |t| {
                layer.forward(t, stream, source, &self.config)
            });
        }
        stream.finish(t, self.encoder_norm.as_ref())
    }

    /// Keys and values for every decoder layer, from the encoder's output.
    #[track_caller]
    pub fn memory(&self, t: &mut Tape, encoded: &Var, source: &Packed) -> Memory {
        let keys_values =
            self.decoder.iter().map(|layer| layer.cross.keys_values(t, encoded)).collect();
        Memory { keys_values, spans: source.spans.clone() }
    }

    /// Hidden states of the target: (n) -> (n, c). With caches (one per layer), `input` continues
    /// their sequences.
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

    /// weight · Σ −ln p(target token), with optional label smoothing.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        let encoded = self.encode(t, &batch.source);
        let source = Source::Encoded(&encoded, &batch.source.spans);
        let hidden = self.decode(t, &batch.input, source, None);
        t.output_loss(&hidden, self.output, Some(self.output_bias), &batch.targets, spec)
    }

    /// Logits over the target vocabulary: (n, c) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        t.linear(hidden, self.output, Some(self.output_bias), Activation::None)
    }

    /// Empty caches for `sequences` sequences of up to `capacity` tokens.
    pub fn caches(&self, sequences: usize, capacity: usize) -> Vec<KvCache> {
        self.decoder
            .iter()
            .map(|_| KvCache::new(sequences, capacity, self.config.d_model))
            .collect()
    }
}

/// Xavier uniform, for q, k and v each by itself and for the output projection.
fn attention_inits(c: usize) -> [Init; 2] {
    [Init::XavierBlocks { rows: c }, Init::Xavier]
}

impl EncoderLayer {
    fn new(config: &EncoderDecoderConfig, builder: &mut ParamsBuilder, l: usize) -> Self {
        let LayerOptions { normalization, scaling, .. } = config.options;
        let (c, heads) = (config.d_model, config.encoder_attention_heads);
        let (f, phi) = (config.encoder_ffn_dim, config.activation_function);
        let (shape, inits) = (AttentionShape { c, heads, scaling }, attention_inits(c));
        let both_ways = Causality::Full;
        let name = |part: &str| format!("encoder.layers.{l}.{part}");
        Self {
            attention: SelfAttention::new(
                builder,
                &name("self_attention"),
                shape,
                both_ways,
                inits,
            ),
            attention_norm: Norm::new(normalization, builder, &name("attention_norm"), c, EPS),
            ffn: FeedForward::new(builder, &name("ffn"), [c, f], phi, [Init::Xavier; 2]),
            ffn_norm: Norm::new(normalization, builder, &name("ffn_norm"), c, EPS),
        }
    }

    fn forward(
        &self,
        t: &mut Tape,
        stream: Stream,
        source: &Packed,
        config: &EncoderDecoderConfig,
    ) -> Stream {
        let stream =
            stream.sublayer(t, config.norm, &self.attention_norm, config.dropout, |t, x| {
                t.scope("self_attention", |t| self.attention.forward(t, x, &source.spans, None))
            });
        stream
            .sublayer(t, config.norm, &self.ffn_norm, config.dropout, |t, x| self.ffn.forward(t, x))
    }
}

impl DecoderLayer {
    fn new(config: &EncoderDecoderConfig, builder: &mut ParamsBuilder, l: usize) -> Self {
        let LayerOptions { normalization, scaling, .. } = config.options;
        let (c, heads) = (config.d_model, config.decoder_attention_heads);
        let (f, phi) = (config.decoder_ffn_dim, config.activation_function);
        let (shape, inits) = (AttentionShape { c, heads, scaling }, attention_inits(c));
        let causal = Causality::Causal;
        let name = |part: &str| format!("decoder.layers.{l}.{part}");
        Self {
            attention: SelfAttention::new(builder, &name("self_attention"), shape, causal, inits),
            attention_norm: Norm::new(normalization, builder, &name("attention_norm"), c, EPS),
            cross: CrossAttention::new(builder, &name("cross_attention"), shape),
            cross_norm: Norm::new(normalization, builder, &name("cross_norm"), c, EPS),
            ffn: FeedForward::new(builder, &name("ffn"), [c, f], phi, [Init::Xavier; 2]),
            ffn_norm: Norm::new(normalization, builder, &name("ffn_norm"), c, EPS),
        }
    }

    fn forward(
        &self,
        t: &mut Tape,
        stream: Stream,
        input: &Packed,
        (l, source): (usize, Source),
        config: &EncoderDecoderConfig,
        cache: Option<&mut KvCache>,
    ) -> Stream {
        let stream =
            stream.sublayer(t, config.norm, &self.attention_norm, config.dropout, |t, y| {
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
        stream
            .sublayer(t, config.norm, &self.ffn_norm, config.dropout, |t, y| self.ffn.forward(t, y))
    }
}
