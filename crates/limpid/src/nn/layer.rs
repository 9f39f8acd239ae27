//! Transformer layers: self-attention, cross-attention and feed-forward, each with its norm, and a
//! stack of them. The three Transformers of [`crate::model`] are made of these.

use super::{
    AttentionOptions, Block, CachedPast, CachedSource, CrossAttention, FeedForward, FirstNorm,
    KvCache, LayerOptions, LayerVariant, Norm, NormPlacement, Positions, Relations, RotaryOptions,
    SelfAttention, Stream,
};
use crate::data::batch::Packed;
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span, Window};
use limpid_tensor::kernels::kv_format::KvFormat;
use limpid_tensor::ops::{BucketRange, RelativeBias};
use limpid_tensor::params::{Init, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use std::sync::Arc;

/// What the layers of a stack attend to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// A token to all of its sequence.
    Encoder,
    /// A token to itself and those before it.
    Decoder,
    /// The same, and to the source.
    CrossDecoder,
}

/// Initial weights of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayerInit {
    /// Xavier uniform, q, k and v each by itself.
    Xavier,
    /// As GPT-2: normal with this standard deviation. The residual stream sums 2·layers branches:
    /// their projections start smaller, so that the sum does not grow with depth.
    ScaledNormal(f32),
}

/// Sizes and options of the layers of a stack.
#[derive(Clone, Copy, Debug)]
pub struct LayerConfig {
    /// What the layers attend to.
    pub kind: LayerKind,
    /// Number of layers.
    pub layers: usize,
    /// c: model width.
    pub c: usize,
    /// h: number of attention heads.
    pub heads: usize,
    /// f: width of the feed-forward layers.
    pub f: usize,
    /// φ of the feed-forward layers.
    pub activation: Activation,
    /// ε of the norms.
    pub eps: f32,
    /// Where the norms stand.
    pub norm: NormPlacement,
    /// Dropout on each sub-layer's output.
    pub dropout: f32,
    /// Normalization, residual connections and scaling.
    pub options: LayerOptions,
    /// Attention, feed-forward network and how they follow each other.
    pub variant: LayerVariant,
    /// Initial weights.
    pub init: LayerInit,
}

impl LayerConfig {
    /// Whether a token attends to later ones.
    pub fn causality(&self) -> Causality {
        match self.kind {
            LayerKind::Encoder => Causality::Full,
            LayerKind::Decoder | LayerKind::CrossDecoder => Causality::Causal,
        }
    }

    /// d: width of a head.
    pub fn head_dim(&self) -> usize {
        self.variant.attention.head_dim.unwrap_or(self.c / self.heads)
    }

    /// g: heads of keys and values.
    pub fn kv_heads(&self) -> usize {
        self.variant.attention.kv_heads.unwrap_or(self.heads)
    }

    /// Initial weights of a projection, of several stacked ones (h·d rows each), and of one into
    /// the residual stream.
    pub(super) fn inits(&self) -> [Init; 3] {
        match self.init {
            LayerInit::Xavier => {
                let rows = self.heads * self.head_dim();
                [Init::Xavier, Init::XavierBlocks { rows }, Init::Xavier]
            }
            LayerInit::ScaledNormal(std) => {
                let into_stream = Init::Normal(std / (2.0 * self.layers as f32).sqrt());
                [Init::Normal(std), Init::Normal(std), into_stream]
            }
        }
    }

    fn norm(&self, builder: &mut ParamsBuilder, name: &str) -> Norm {
        Norm::new(self.options.normalization, builder, name, self.c, self.eps)
    }

    /// Declares the biases of relative positions, (buckets, h); none at first.
    fn relative_bias(&self, builder: &mut ParamsBuilder, name: &str) -> RelativeBias {
        let range = match self.causality() {
            Causality::Full => BucketRange::Both,
            Causality::Causal => BucketRange::Past,
        };
        let buckets = self.variant.attention.relative.buckets(range);
        let table = builder.add(name, [buckets.count, self.heads], Init::Zeros);
        RelativeBias { table, buckets }
    }

    /// Declares a sub-layer and its norm. The initial weights depend on the order.
    fn sublayer<F>(
        &self,
        builder: &mut ParamsBuilder,
        norm: &str,
        new: impl FnOnce(&mut ParamsBuilder) -> F,
    ) -> Sublayer<F> {
        match self.init {
            LayerInit::Xavier => Sublayer { f: new(builder), norm: self.norm(builder, norm) },
            LayerInit::ScaledNormal(_) => {
                Sublayer { norm: self.norm(builder, norm), f: new(builder) }
            }
        }
    }
}

/// Keys and values of the source for each decoder layer, computed once per text.
pub struct Memory {
    /// (n_source, 2h·d) for each decoder layer.
    pub keys_values: Vec<Var>,
    /// The rows of each source sentence.
    pub spans: Arc<[Span]>,
}

/// The source, as the decoder attends to it.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// The encoder's output (n_source, c): each layer projects keys and values itself. Training.
    Encoded(&'a Var, &'a Arc<[Span]>),
    /// Keys and values computed once for many steps.
    Remembered(&'a Memory),
    /// The same in a cache. Generation.
    Cached(CachedSource<'a>),
}

impl<'a> From<CachedSource<'a>> for Source<'a> {
    fn from(source: CachedSource<'a>) -> Self {
        Source::Cached(source)
    }
}

impl<'a> From<&'a Memory> for Source<'a> {
    fn from(memory: &'a Memory) -> Self {
        Source::Remembered(memory)
    }
}

/// A function of the residual stream, and its norm.
#[derive(Clone, Copy, Debug)]
struct Sublayer<F> {
    norm: Norm,
    f: F,
}

#[derive(Clone, Copy, Debug)]
struct Layer {
    attention: Sublayer<SelfAttention>,
    cross: Option<Sublayer<CrossAttention>>,
    ffn: Sublayer<FeedForward>,
    block: Block,
}

/// What all layers of a forward pass are given.
#[derive(Clone, Copy)]
struct Pass<'a> {
    input: &'a Packed,
    source: Option<Source<'a>>,
    relations: Relations<'a>,
}

impl Layer {
    fn new(builder: &mut ParamsBuilder, path: &str, config: &LayerConfig, l: usize) -> Self {
        let name = |part: &str| format!("{path}layers.{l}.{part}");
        let block = config.variant.block;
        let feed_forward =
            |builder: &mut ParamsBuilder| FeedForward::new(builder, &name("ffn"), config);
        let attention = |builder: &mut ParamsBuilder| {
            SelfAttention::new(builder, &name("self_attention"), config, l)
        };
        Self {
            attention: match config.variant.first_norm {
                FirstNorm::None if l == 0 => Sublayer { norm: Norm::None, f: attention(builder) },
                _ => config.sublayer(builder, &name("attention_norm"), attention),
            },
            cross: (config.kind == LayerKind::CrossDecoder).then(|| {
                config.sublayer(builder, &name("cross_norm"), |builder| {
                    CrossAttention::new(builder, &name("cross_attention"), config)
                })
            }),
            ffn: match block {
                Block::ParallelOneNorm => Sublayer { norm: Norm::None, f: feed_forward(builder) },
                _ => config.sublayer(builder, &name("ffn_norm"), feed_forward),
            },
            block,
        }
    }

    #[track_caller]
    fn forward<'a>(
        &self,
        t: &mut Tape,
        stream: Stream<'a>,
        pass: Pass,
        l: usize,
        past: Option<&mut CachedPast>,
    ) -> Stream<'a> {
        let Pass { input, source, relations } = pass;
        let Sublayer { norm, f: attention } = &self.attention;
        let attend = |t: &mut Tape, x: &Var| {
            let past = past.map(|past| (past, l));
            t.scope("self_attention", |t| attention.forward(t, x, &input.spans, relations, past))
        };
        let ffn = |t: &mut Tape, x: &Var| {
            let y = self.ffn.f.forward(t, x);
            let y = t.edited("ffn", y);
            t.mark("ffn", &y, None);
            y
        };
        let second = match self.block {
            Block::Sequential => None,
            Block::Parallel => Some(&self.ffn.norm),
            Block::ParallelOneNorm => Some(norm),
        };
        if let Some(second) = second {
            return stream.parallel(t, [norm, second], attend, ffn);
        }
        let mut stream = stream.sublayer(t, norm, attend);
        if let (Some(Sublayer { norm, f: cross }), Some(source)) = (&self.cross, source) {
            stream = stream.sublayer(t, norm, |t, x| {
                t.scope("cross_attention", |t| match source {
                    Source::Encoded(encoded, spans) => {
                        let kv = cross.keys_values(t, encoded);
                        cross.forward(t, x, &input.spans, &kv, spans)
                    }
                    Source::Remembered(Memory { keys_values, spans }) => {
                        cross.forward(t, x, &input.spans, &keys_values[l], spans)
                    }
                    Source::Cached(source) => cross.forward_cached(t, x, source, l),
                })
            });
        }
        stream.sublayer(t, &self.ffn.norm, ffn)
    }

    /// The same, computed again in the backward pass: only the stream is kept, and the source.
    #[track_caller]
    fn checkpointed<'a>(
        &self,
        t: &mut Tape,
        stream: Stream<'a>,
        pass: Pass,
        l: usize,
    ) -> Stream<'a> {
        let (layer, config) = (*self, *stream.config());
        let mut inputs = stream.vars();
        let count = inputs.len();
        let spans = match pass.source {
            Some(Source::Encoded(encoded, spans)) => {
                inputs.push(encoded.clone());
                Some(spans.clone())
            }
            Some(Source::Remembered(_) | Source::Cached(_)) => {
                return self.forward(t, stream, pass, l, None);
            }
            None => None,
        };
        let (input, bias) = (pass.input.clone(), pass.relations.bias);
        let angles = pass.relations.angles.cloned();
        let outputs: [Var; 2] = t.checkpoint(inputs, move |t, vars| {
            let source = spans.as_ref().map(|spans| Source::Encoded(&vars[count], spans));
            let relations = Relations { angles: angles.as_ref(), bias };
            let stream = Stream::from_vars(&vars[..count], &config);
            let pass = Pass { input: &input, source, relations };
            let after = layer.forward(t, stream, pass, l, None).vars();
            [after[0].clone(), after[after.len() - 1].clone()]
        });
        let count = if stream.leaves_pending() { 2 } else { 1 };
        Stream::from_vars(&outputs[..count], stream.config())
    }
}

/// A stack of layers, followed by a norm if it is pre-norm.
#[derive(Clone, Debug)]
pub struct Layers {
    config: LayerConfig,
    scope: &'static str,
    layers: Vec<Layer>,
    final_norm: Option<Norm>,
    relative_bias: Option<RelativeBias>,
}

impl Layers {
    /// Declares `layers.0.…`, `final_norm` and `relative_bias`; of one of several stacks,
    /// `part.layers.0.…` and so on.
    /// # Panics
    /// If a name is taken.
    pub fn new(
        builder: &mut ParamsBuilder,
        part: Option<&'static str>,
        config: LayerConfig,
    ) -> Self {
        let path = part.map_or(String::new(), |part| format!("{part}."));
        let layer = |l| Layer::new(builder, &path, &config, l);
        let layers = (0..config.layers).map(layer).collect();
        let final_norm = match config.norm {
            NormPlacement::Pre => Some(config.norm(builder, &format!("{path}final_norm"))),
            NormPlacement::Post => None,
        };
        let relative_bias = (config.options.positions == Positions::Relative)
            .then(|| config.relative_bias(builder, &format!("{path}relative_bias.weight")));
        Self { config, scope: part.unwrap_or("layers"), layers, final_norm, relative_bias }
    }

    /// Runs all layers over embeddings: (n, c) -> (n, c). With a past, `input` continues its
    /// sequences. `after` sees the residual stream of the embeddings and of each layer: x, and of a
    /// pre-norm layer the branch that is still to be added to it.
    #[track_caller]
    pub fn forward(
        &self,
        t: &mut Tape,
        x: Var,
        input: &Packed,
        source: Option<Source>,
        mut past: Option<&mut CachedPast>,
        mut after: impl FnMut(&mut Tape, &Var, Option<&Var>),
    ) -> Var {
        let config = &self.config;
        let AttentionOptions { rotary, window_rotary, windows, .. } = config.variant.attention;
        let table = |rotary: RotaryOptions| rotary.table(&input.positions, config.head_dim());
        let is_rotary = config.options.positions == Positions::Rotary;
        let angles = is_rotary.then(|| table(rotary));
        let window_angles = window_rotary.filter(|_| is_rotary).map(table);
        let relations = Relations { angles: angles.as_ref(), bias: self.relative_bias };
        let pass = Pass { input, source, relations };
        let mut stream = Stream::new(x, config);
        stream = t.scope(format_args!("{}.embedding", self.scope), |t| stream.edited(t).marked(t));
        after(t, stream.x(), stream.pending());
        for (l, layer) in self.layers.iter().enumerate() {
            let past = past.as_deref_mut();
            let mut pass = pass;
            if let (Window::Sliding(_), Some(angles)) = (windows.of(l), &window_angles) {
                pass.relations.angles = Some(angles);
            }
            stream = t.scope(format_args!("{}.{l}", self.scope), |t| {
                match t.checkpoints_activations() && past.is_none() {
                    true => layer.checkpointed(t, stream, pass, l),
                    false => layer.forward(t, stream, pass, l, past).edited(t).marked(t),
                }
            });
            after(t, stream.x(), stream.pending());
        }
        stream.finish(t, self.final_norm.as_ref())
    }

    /// A residual stream as the output projection would read it if the layers ended there: after
    /// the final norm, if there is one.
    #[track_caller]
    pub fn normed(&self, t: &mut Tape, x: &Var) -> Var {
        self.final_norm.as_ref().map_or_else(|| x.clone(), |norm| norm.forward(t, x))
    }

    /// Whether a norm follows the last layer.
    pub fn has_final_norm(&self) -> bool {
        self.final_norm.is_some()
    }

    /// The residual stream of the embeddings and after each layer, each through the final norm:
    /// what the output projection would read if the layers ended there. The last is
    /// [`Layers::forward`], but for rounding.
    #[track_caller]
    pub fn by_layer(&self, t: &mut Tape, x: Var, input: &Packed) -> Vec<Var> {
        let mut all = Vec::with_capacity(self.layers.len() + 1);
        self.forward(t, x, input, None, None, |t, x, branch| {
            let x = branch.map_or_else(|| x.clone(), |branch| t.add(x, branch));
            all.push(self.normed(t, &x));
        });
        all
    }

    /// Keys and values of the source for every layer, from the encoder's output.
    #[track_caller]
    pub fn memory(&self, t: &mut Tape, encoded: &Var, spans: &Arc<[Span]>) -> Memory {
        let cross = self.layers.iter().filter_map(|layer| layer.cross.as_ref());
        let keys_values = cross.map(|cross| cross.f.keys_values(t, encoded)).collect();
        Memory { keys_values, spans: spans.clone() }
    }

    /// An empty cache of the tokens of these layers.
    pub fn cache(&self, format: KvFormat) -> KvCache {
        let heads = [self.config.kv_heads(), self.config.head_dim()];
        KvCache::new(self.layers.len(), heads, format)
    }

    /// An empty cache of the tokens of sources, whose heads are as many as the queries'.
    pub fn source_cache(&self, format: KvFormat) -> KvCache {
        let heads = [self.config.heads, self.config.head_dim()];
        KvCache::new(self.layers.len(), heads, format)
    }

    /// Puts keys and values of a source, as [`Layers::memory`] gives them, into these rows.
    pub fn remember(&self, cache: &mut KvCache, memory: &Memory, rows: &[u32]) {
        for (l, keys_values) in memory.keys_values.iter().enumerate() {
            cache.write(l, keys_values, rows);
        }
    }
}
