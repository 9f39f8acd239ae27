//! Self-attention and cross-attention with their projections, in training and with a cache.

use super::{AttentionOptions, HeadNorm, LayerConfig, Linear};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span, Window};
use limpid_tensor::kernels::rms_norm::Gain;
use limpid_tensor::kernels::rotary::RotaryShape;
use limpid_tensor::ops::{AttentionPlan, Columns, HeadNormParams, RelativeBias};
use limpid_tensor::params::{Init, ParamsBuilder};
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// Keys and values of one layer, kept between steps of decoding: (sequences · capacity, 2·g·d), k
/// beside v.
pub struct KvCache {
    rows: Tensor,
    capacity: usize,
    lengths: Vec<usize>,
}

impl KvCache {
    /// A cache for `sequences` sequences of up to `capacity` tokens, with keys of `width` columns.
    pub fn new(sequences: usize, capacity: usize, width: usize) -> Self {
        Self {
            rows: Tensor::zeros([sequences * capacity, 2 * width]),
            capacity,
            lengths: vec![0; sequences],
        }
    }

    /// Appends the keys and values of new tokens, the last columns of `qkv`, sequence by sequence.
    fn append(&mut self, qkv: &Var, spans: &[Span]) {
        let ((_, width), (_, kept)) = (qkv.rows_cols(), self.rows.rows_cols());
        let rows = self.rows.data_mut();
        for (sequence, span) in spans.iter().enumerate() {
            let length = &mut self.lengths[sequence];
            assert!(
                *length + span.len <= self.capacity,
                "the cache of {} tokens is full",
                self.capacity
            );
            for i in 0..span.len {
                let to = (sequence * self.capacity + *length + i) * kept;
                let from = (span.start + i + 1) * width - kept;
                rows[to..to + kept].copy_from_slice(&qkv.data()[from..][..kept]);
            }
            *length += span.len;
        }
    }

    /// How many tokens of each sequence are kept.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    fn spans(&self) -> Arc<[Span]> {
        let span = |(i, len): (usize, &usize)| Span { start: i * self.capacity, len: *len };
        self.lengths.iter().enumerate().map(span).collect()
    }

    /// Keeps these sequences, in this order; one may be kept twice, or not at all.
    pub fn select(&mut self, sequences: &[usize]) {
        if sequences.iter().copied().eq(0..self.lengths.len()) {
            return;
        }
        let (_, width) = self.rows.rows_cols();
        let block = self.capacity * width;
        let mut rows = Tensor::uninit([sequences.len() * self.capacity, width]);
        for (to, from) in rows.data_mut().chunks_exact_mut(block.max(1)).zip(sequences) {
            // The rows after a sequence's tokens are written before they are read.
            let filled = self.lengths[*from] * width;
            to[..filled].copy_from_slice(&self.rows.data()[from * block..][..filled]);
        }
        self.lengths = sequences.iter().map(|from| self.lengths[*from]).collect();
        self.rows = rows;
    }
}

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
        let (width, scale) = (self.d, self.scale);
        let plan = AttentionPlan {
            kv_heads: self.kv_heads,
            window: self.window,
            bias,
            ..AttentionPlan::new(self.heads, scale, self.causality, q_spans, k_spans)
        };
        let [q, k, v] = qkv.map(|(of, first)| Columns { of: of.clone(), first, width });
        t.attention(q, k, v, &plan)
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

    /// (n, c) -> (n, c), for the sequences in `spans`; with a cache, its earlier keys and values
    /// take part.
    #[track_caller]
    pub fn forward(
        &self,
        t: &mut Tape,
        x: &Var,
        spans: &Arc<[Span]>,
        relations: Relations,
        cache: Option<&mut KvCache>,
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
        let z = match cache {
            None => {
                let qkv = [(&qkv, 0), (&qkv, q), (&qkv, q + k)];
                self.heads.attend(t, qkv, [spans, spans], bias)
            }
            Some(cache) => {
                cache.append(&qkv, spans);
                let kv = Var::constant(cache.rows.clone());
                let qkv = [(&qkv, 0), (&kv, 0), (&kv, k)];
                self.heads.attend(t, qkv, [spans, &cache.spans()], bias)
            }
        };
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
        self.out.forward(t, &z, Activation::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three sequences of up to five tokens, two numbers a token (c = 1), with 1, 4 and 2 tokens:
    /// number 10·sequence + token.
    fn cache() -> KvCache {
        let mut cache = KvCache::new(3, 5, 1);
        cache.lengths = vec![1, 4, 2];
        for (i, row) in cache.rows.data_mut().chunks_exact_mut(2).enumerate() {
            row.fill((10 * (i / 5) + i % 5) as f32);
        }
        cache
    }

    #[test]
    fn a_selection_copies_the_tokens_that_are_there_and_no_others() {
        let mut cache = cache();
        cache.select(&[2, 1, 2, 0]);
        assert_eq!(cache.lengths, [2, 4, 2, 1]);
        let rows = cache.rows.data();
        for (sequence, from) in [2, 1, 2, 0].into_iter().enumerate() {
            let row = |token: usize| &rows[2 * (5 * sequence + token)..][..2];
            for token in 0..cache.lengths[sequence] {
                assert_eq!(row(token), [(10 * from + token) as f32; 2]);
            }
            // Fresh memory is full of NaN in debug builds.
            if cfg!(debug_assertions) {
                assert!(
                    (cache.lengths[sequence]..5).all(|token| row(token)[0].is_nan()),
                    "{from} was copied whole"
                );
            }
        }
    }

    #[test]
    fn a_selection_of_all_in_their_order_moves_nothing() {
        let mut cache = cache();
        let before = cache.rows.data().as_ptr();
        cache.select(&[0, 1, 2]);
        assert_eq!(
            (cache.rows.data().as_ptr(), cache.lengths.as_slice()),
            (before, &[1, 4, 2][..])
        );
        cache.select(&[0, 1]);
        assert_eq!(cache.lengths, [1, 4], "fewer are not all");
    }
}
