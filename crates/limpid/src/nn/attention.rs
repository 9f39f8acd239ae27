//! Self-attention and cross-attention with their projections, in training and with a cache.

use super::{AttentionOptions, CachedPast, CachedSource, HeadNorm, LayerConfig, Linear};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span, Window};
use limpid_tensor::kernels::rms_norm::Gain;
use limpid_tensor::kernels::rotary::RotaryShape;
use limpid_tensor::ops::{AttentionPlan, CachedRows, Columns, HeadNormParams, RelativeBias};
use limpid_tensor::params::{Init, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// What an edit knows the outputs of all heads by, before they are projected.
const HEADS: &str = "heads";

/// How heads attend: queries, keys and values are columns of one to three matrices.
#[derive(Clone, Copy, Debug)]
struct Heads {
    /// h.
    heads: usize,
    /// g.
    kv_heads: usize,
    /// d.
    d: usize,
    /// Factor on the scores.
    scale: f32,
    causality: Causality,
    window: Window,
}

impl Heads {
    /// As many heads of keys and values as of queries.
    fn cross(config: &LayerConfig) -> Self {
        let heads = config.heads;
        let (causality, window) = (Causality::Full, Window::Unlimited);
        let d = config.head_dim();
        let scale = config.options.scaling.factor(d, 0);
        Self { heads, kv_heads: heads, d, scale, causality, window }
    }

    /// Those of layer l.
    fn own(config: &LayerConfig, l: usize) -> Self {
        Self {
            kv_heads: config.kv_heads(),
            scale: config.options.scaling.factor(config.head_dim(), l),
            causality: config.causality(),
            window: config.variant.attention.windows.of(l),
            ..Self::cross(config)
        }
    }

    /// Columns of the queries, and of the keys.
    fn widths(&self) -> [usize; 2] {
        [self.heads * self.d, self.kv_heads * self.d]
    }

    /// The heads' outputs (n, h·d). Queries, keys and values are columns of each matrix from the
    /// given one on.
    #[track_caller]
    fn attend(
        &self,
        t: &mut Tape,
        qkv: [(&Var, usize); 3],
        [q_spans, k_spans]: [&Arc<[Span]>; 2],
        bias: Option<RelativeBias>,
    ) -> Var {
        let plan = self.plan([q_spans, k_spans], bias);
        let [q, k, v] = qkv.map(|(of, first)| Columns { of: of.clone(), first, width: self.d });
        t.attention(q, k, v, &plan)
    }

    /// The same with cached keys and values; queries are the first columns.
    #[track_caller]
    fn attend_cached(
        &self,
        t: &mut Tape,
        q: &Var,
        kv: CachedRows,
        spans: [&Arc<[Span]>; 2],
        bias: Option<RelativeBias>,
    ) -> Var {
        let q = Columns { of: q.clone(), first: 0, width: self.d };
        t.attention_to_cache(q, kv, &self.plan(spans, bias))
    }

    fn plan(
        &self,
        [q_spans, k_spans]: [&Arc<[Span]>; 2],
        bias: Option<RelativeBias>,
    ) -> AttentionPlan {
        AttentionPlan {
            kv_heads: self.kv_heads,
            window: self.window,
            bias,
            ..AttentionPlan::new(self.heads, self.scale, self.causality, q_spans, k_spans)
        }
    }
}

/// How the positions of queries and keys act on their scores.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relations<'a> {
    /// Angles of rotary positions, (n, r).
    pub angles: Option<&'a Tensor>,
    /// Biases of relative positions.
    pub bias: Option<RelativeBias>,
}

/// Attention of a sequence to itself: q, k and v from one product.
#[derive(Clone, Copy, Debug)]
pub struct SelfAttention {
    /// ((h + 2g)·d, c).
    qkv: Linear,
    /// (c, h·d).
    out: Linear,
    heads: Heads,
    head_norm: Option<HeadNormParams>,
    /// r: columns of each head that rotary positions turn.
    rotated: usize,
}

impl SelfAttention {
    /// Declares `name.qkv` ((h + 2g)·d, c) and `name.out` (c, h·d) of layer l; if heads are
    /// normalized, also `name.q_norm` and `name.k_norm` (d).
    ///
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, config: &LayerConfig, l: usize) -> Self {
        let (c, [_, stacked, into_stream]) = (config.c, config.inits());
        let options = config.variant.attention;
        let heads = Heads::own(config, l);
        let [q, k] = heads.widths();
        let rows = q + 2 * k;
        let [qkv, out] = ["qkv", "out"].map(|part| format!("{name}.{part}"));
        Self {
            qkv: Linear::with_bias(builder, &qkv, [rows, c], stacked, options.qkv_bias),
            out: Linear::with_bias(builder, &out, [c, q], into_stream, options.out_bias),
            heads,
            head_norm: (options.head_norm == HeadNorm::Rms).then(|| HeadNormParams {
                heads: [heads.heads, heads.kv_heads],
                gammas: ["q_norm", "k_norm"].map(|part| {
                    builder.add(format!("{name}.{part}.weight"), [heads.d], Init::Ones)
                }),
                gain: Gain::Weight,
                eps: config.eps,
            }),
            rotated: options.rotary.rotated(heads.d),
        }
    }

    /// (n, c) -> (n, c), for the sequences in `spans`; with a cache, its earlier keys and values of
    /// layer l take part.
    #[track_caller]
    pub fn forward(
        &self,
        t: &mut Tape,
        x: &Var,
        spans: &Arc<[Span]>,
        relations: Relations,
        past: Option<(&mut CachedPast, usize)>,
    ) -> Var {
        let Heads { heads, kv_heads, d: width, .. } = self.heads;
        let mut qkv = self.qkv.forward(t, x, Activation::None); // (n, c) -> (n, (h + 2g)·d)
        if let Some(norm) = self.head_norm {
            qkv = t.head_norm(&qkv, norm);
        }
        if let Some(angles) = relations.angles {
            let shape = RotaryShape { heads: heads + kv_heads, width, rotated: self.rotated };
            qkv = t.rotary(&qkv, angles, shape);
        }
        let ([q, k], bias) = (self.heads.widths(), relations.bias);
        let z = match past {
            None => {
                let qkv = [(&qkv, 0), (&qkv, q), (&qkv, q + k)];
                self.heads.attend(t, qkv, [spans, spans], bias)
            }
            Some((past, l)) => {
                past.cache.write(l, &qkv, past.new_rows);
                let kv = past.cache.rows(l, past.rows);
                self.heads.attend_cached(t, &qkv, kv, [spans, past.spans], bias)
            }
        };
        let z = t.edited(HEADS, z);
        self.out.forward(t, &z, Activation::None)
    }
}

/// Attention of the decoder to the encoder: q from the decoder, k and v from the encoder.
#[derive(Clone, Copy, Debug)]
pub struct CrossAttention {
    /// (h·d, c), for the decoder's rows.
    q: Linear,
    /// (2h·d, c), for the encoder's rows.
    kv: Linear,
    /// (c, h·d).
    out: Linear,
    heads: Heads,
}

impl CrossAttention {
    /// Declares `name.q` (h·d, c), `name.kv` (2h·d, c) and `name.out` (c, h·d).
    ///
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, config: &LayerConfig) -> Self {
        let (c, [init, stacked, into_stream]) = (config.c, config.inits());
        let AttentionOptions { qkv_bias, out_bias, .. } = config.variant.attention;
        let heads = Heads::cross(config);
        let [width, _] = heads.widths();
        let [q, kv, out] = ["q", "kv", "out"].map(|part| format!("{name}.{part}"));
        Self {
            q: Linear::with_bias(builder, &q, [width, c], init, qkv_bias),
            kv: Linear::with_bias(builder, &kv, [2 * width, c], stacked, qkv_bias),
            out: Linear::with_bias(builder, &out, [c, width], into_stream, out_bias),
            heads,
        }
    }

    /// Keys and values of the source, computed once per sentence: (n_source, c) ->
    /// (n_source, 2h·d).
    #[track_caller]
    pub fn keys_values(&self, t: &mut Tape, memory: &Var) -> Var {
        self.kv.forward(t, memory, Activation::None)
    }

    /// (n, c) -> (n, c): each target sequence attends to its own source.
    #[track_caller]
    pub fn forward(
        &self,
        t: &mut Tape,
        x: &Var,
        spans: &Arc<[Span]>,
        kv: &Var,
        kv_spans: &Arc<[Span]>,
    ) -> Var {
        let q = self.q.forward(t, x, Activation::None);
        let z = self.heads.attend(
            t,
            [(&q, 0), (kv, 0), (kv, self.heads.widths()[1])],
            [spans, kv_spans],
            None,
        );
        let z = t.edited(HEADS, z);
        self.out.forward(t, &z, Activation::None)
    }

    /// The same with cached keys and values of the sources in layer l.
    #[track_caller]
    pub fn forward_cached(&self, t: &mut Tape, x: &Var, source: CachedSource, l: usize) -> Var {
        let q = self.q.forward(t, x, Activation::None);
        let kv = source.cache.rows(l, source.rows);
        let z = self.heads.attend_cached(t, &q, kv, [source.q_spans, source.spans], None);
        let z = t.edited(HEADS, z);
        self.out.forward(t, &z, Activation::None)
    }
}
