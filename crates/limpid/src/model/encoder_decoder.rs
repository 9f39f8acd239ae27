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
//! Post-norm as in the paper, pre-norm by option (then with a norm at the end of each stack). BART
//! also normalizes embeddings, T5 scales y before the output projection.
//! Reference: Vaswani et al. 2017.

use super::seq2seq::embedding_tables;
use crate::data::batch::{Packed, PairBatch};
use crate::error::Result;
use crate::model::config::{EmbeddingNorm, EmbeddingScale, EncoderDecoderConfig, OutputScale, Tie};
use crate::nn::{
    Bias, CachedPast, KvCache, LayerConfig, LayerInit, LayerKind, Layers, Norm, PositionEncoding,
    Positions,
};
pub use crate::nn::{Memory, Source};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::params::{Init, ParamId, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;

/// The parameters of an encoder-decoder, and its forward pass.
#[derive(Clone, Debug)]
pub struct EncoderDecoder {
    config: Box<EncoderDecoderConfig>,
    source: Embeddings,
    target: Embeddings,
    encoder: Layers,
    decoder: Layers,
    output: ParamId,
    output_bias: Option<ParamId>,
}

/// What one side embeds tokens with.
#[derive(Clone, Debug)]
struct Embeddings {
    /// (v, c).
    tokens: ParamId,
    positions: PositionEncoding,
    norm: Norm,
}

impl EncoderDecoder {
    /// Declares the parameters.
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(config: &EncoderDecoderConfig, builder: &mut ParamsBuilder) -> Result<Self> {
        config.validate()?;
        let (c, v) = (config.d_model, config.decoder_vocab_size);
        // √c · N(0, 1/√c) has variance 1, like the positions it is added to.
        let init = match config.scale_embedding {
            EmbeddingScale::SqrtWidth => Init::Normal(1.0 / (c as f32).sqrt()),
            EmbeddingScale::One => Init::Normal(1.0),
        };
        let tie = config.share_encoder_decoder_embeddings;
        let [source_tokens, target_tokens] =
            embedding_tables(builder, tie, [config.vocab_size, v], c, init);
        let encoder = LayerConfig {
            kind: LayerKind::Encoder,
            layers: config.encoder_layers,
            c,
            heads: config.encoder_attention_heads,
            f: config.encoder_ffn_dim,
            activation: config.activation_function,
            eps: config.layer_norm_eps,
            norm: config.norm,
            dropout: config.dropout,
            options: config.options,
            variant: config.variant,
            init: LayerInit::Xavier,
        };
        let decoder = LayerConfig {
            kind: LayerKind::CrossDecoder,
            layers: config.decoder_layers,
            heads: config.decoder_attention_heads,
            f: config.decoder_ffn_dim,
            ..encoder
        };
        let encoder = Layers::new(builder, Some("encoder"), encoder);
        let decoder = Layers::new(builder, Some("decoder"), decoder);
        let output = match config.tie_word_embeddings {
            Tie::Shared => target_tokens,
            Tie::Separate => {
                builder.add_weight("output.weight", [v, c], Init::Normal(1.0 / (c as f32).sqrt()))
            }
        };
        let output_bias = (config.logits_bias == Bias::Added)
            .then(|| builder.add_fixed("logits_bias", [1, v], Init::Zeros));
        let [source_positions, target_positions] = positions(config, builder);
        let mut norm = |side: &str| match config.embedding_norm {
            EmbeddingNorm::None => Norm::None,
            EmbeddingNorm::Layer => {
                let name = format!("{side}.embedding_norm");
                Norm::layer(builder, &name, c, config.layer_norm_eps)
            }
        };
        Ok(Self {
            config: Box::new(config.clone()),
            source: Embeddings {
                tokens: source_tokens,
                positions: source_positions,
                norm: norm("encoder"),
            },
            target: Embeddings {
                tokens: target_tokens,
                positions: target_positions,
                norm: norm("decoder"),
            },
            encoder,
            decoder,
            output,
            output_bias,
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &EncoderDecoderConfig {
        &self.config
    }

    /// The computed position table, ([`EncoderDecoderConfig::position_rows`], c); `None` if
    /// positions are learned or absent.
    pub fn positions(&self) -> Option<&Tensor> {
        match &self.source.positions {
            PositionEncoding::Fixed(table) => Some(table),
            PositionEncoding::Learned(_) | PositionEncoding::None => None,
        }
    }

    /// The layers of its decoder.
    pub fn decoder_layers(&self) -> &Layers {
        &self.decoder
    }

    fn embed(&self, t: &mut Tape, input: &Packed, embeddings: &Embeddings) -> Var {
        let scale = match self.config.scale_embedding {
            EmbeddingScale::SqrtWidth => (self.config.d_model as f32).sqrt(),
            EmbeddingScale::One => 1.0,
        };
        let Embeddings { tokens, positions, norm } = embeddings;
        let x = t.embedding(&input.ids, *tokens, scale);
        let x = positions.add_from(t, &x, &input.positions, self.config.position_offset);
        let x = norm.forward(t, &x);
        t.dropout(&x, self.config.dropout)
    }

    /// Hidden states of the source: (n_source) -> (n_source, c).
    #[track_caller]
    pub fn encode(&self, t: &mut Tape, source: &Packed) -> Var {
        let x = self.embed(t, source, &self.source);
        self.encoder.forward(t, x, source, None, None, |_, _, _| {})
    }

    /// Keys and values for every decoder layer, from the encoder's output.
    #[track_caller]
    pub fn memory(&self, t: &mut Tape, encoded: &Var, source: &Packed) -> Memory {
        self.decoder.memory(t, encoded, &source.spans)
    }

    /// Hidden states of the target: (n) -> (n, c). With a past, `input` continues its sequences.
    #[track_caller]
    pub fn decode<'a>(
        &self,
        t: &mut Tape,
        input: &Packed,
        source: impl Into<Source<'a>>,
        past: Option<&mut CachedPast>,
    ) -> Var {
        let x = self.embed(t, input, &self.target);
        self.decoder.forward(t, x, input, Some(source.into()), past, |_, _, _| {})
    }

    /// weight · Σ −ln p(target token), with optional label smoothing.
    #[track_caller]
    pub fn loss(&self, t: &mut Tape, batch: &PairBatch, spec: LossSpec) -> Var {
        let encoded = self.encode(t, &batch.source);
        let source = Source::Encoded(&encoded, &batch.source.spans);
        let hidden = self.decode(t, &batch.input, source, None);
        let hidden = self.scaled(t, &hidden);
        t.output_loss(&hidden, self.output, self.output_bias, &batch.targets, spec)
    }

    /// Logits over the target vocabulary: (n, c) -> (n, v).
    #[track_caller]
    pub fn logits(&self, t: &mut Tape, hidden: &Var) -> Var {
        let hidden = self.scaled(t, hidden);
        t.linear(&hidden, self.output, self.output_bias, Activation::None)
    }

    /// The decoder's output, as the output projection is given it.
    #[track_caller]
    fn scaled(&self, t: &mut Tape, hidden: &Var) -> Var {
        match self.config.output_scale {
            OutputScale::One => hidden.clone(),
            OutputScale::InverseSqrtWidth => {
                t.scale(hidden, 1.0 / (self.config.d_model as f32).sqrt())
            }
        }
    }

    /// An empty cache of target tokens with keys and values in this format.
    pub fn cache(&self, format: KvFormat) -> KvCache {
        self.decoder.cache(format)
    }

    /// An empty cache of source tokens with keys and values in this format.
    pub fn source_cache(&self, format: KvFormat) -> KvCache {
        self.decoder.source_cache(format)
    }

    /// Encodes sources and puts their keys and values into these rows of a cache.
    #[track_caller]
    pub fn remember(&self, t: &mut Tape, source: &Packed, cache: &mut KvCache, rows: &[u32]) {
        let encoded = self.encode(t, source);
        let memory = self.memory(t, &encoded, source);
        self.decoder.remember(cache, &memory, rows);
    }
}

/// The positions of source and target.
fn positions(config: &EncoderDecoderConfig, builder: &mut ParamsBuilder) -> [PositionEncoding; 2] {
    let (kind, shape) = (config.options.positions, [config.position_rows(), config.d_model]);
    let mut new = |name: &str| match kind {
        Positions::Sinusoidal => PositionEncoding::waves(config.sinusoids, shape),
        // As large as waves of amplitude 1.
        kind => PositionEncoding::new(kind, builder, name, shape, std::f32::consts::FRAC_1_SQRT_2),
    };
    match (kind, config.share_positions) {
        (Positions::Learned, Tie::Separate) => {
            ["encoder", "decoder"].map(|side| new(&format!("{side}.position_embedding.weight")))
        }
        _ => {
            let both = new("position_embedding.weight");
            [both.clone(), both]
        }
    }
}
