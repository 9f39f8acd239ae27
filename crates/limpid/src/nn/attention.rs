//! Self-attention and cross-attention with their projections, in training and with a cache.

use super::{LayerConfig, Linear, Scaling};
use limpid_tensor::kernels::activation::Activation;
use limpid_tensor::kernels::attention::{Causality, Span};
use limpid_tensor::ops::{AttentionPlan, Columns};
use limpid_tensor::params::ParamsBuilder;
use limpid_tensor::tape::{Tape, Var};
use limpid_tensor::tensor::Tensor;
use std::sync::Arc;

/// Keys and values of one layer, kept between steps of decoding: (sequences · capacity, 2c), k
/// beside v.
pub struct KvCache {
    rows: Tensor,
    capacity: usize,
    lengths: Vec<usize>,
}

impl KvCache {
    /// A cache for `sequences` sequences of up to `capacity` tokens in a model of width c.
    pub fn new(sequences: usize, capacity: usize, c: usize) -> Self {
        Self {
            rows: Tensor::zeros([sequences * capacity, 2 * c]),
            capacity,
            lengths: vec![0; sequences],
        }
    }

    /// Appends the keys and values of new tokens, columns c..3c of `qkv` (n, 3c), sequence by
    /// sequence.
    fn append(&mut self, qkv: &Var, spans: &[Span]) {
        let (_, width) = qkv.rows_cols();
        let c = width / 3;
        let rows = self.rows.data_mut();
        for (sequence, span) in spans.iter().enumerate() {
            let length = &mut self.lengths[sequence];
            assert!(
                *length + span.len <= self.capacity,
                "the cache of {} tokens is full",
                self.capacity
            );
            for i in 0..span.len {
                let to = (sequence * self.capacity + *length + i) * 2 * c;
                rows[to..to + 2 * c]
                    .copy_from_slice(&qkv.data()[(span.start + i) * width + c..][..2 * c]);
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
    c: usize,
    heads: usize,
    scaling: Scaling,
    causality: Causality,
}

impl Heads {
    fn new(config: &LayerConfig, causality: Causality) -> Self {
        let LayerConfig { c, heads, .. } = *config;
        Self { c, heads, scaling: config.options.scaling, causality }
    }

    /// The heads' outputs (n, c). Queries, keys and values are the c columns of each matrix from
    /// the given one on.
    #[track_caller]
    fn attend(
        &self,
        t: &mut Tape,
        qkv: [(&Var, usize); 3],
        [q_spans, k_spans]: [&Arc<[Span]>; 2],
    ) -> Var {
        let d = self.c / self.heads;
        let scale = self.scaling.factor(d);
        let plan = AttentionPlan::new(self.heads, scale, self.causality, q_spans, k_spans);
        let [q, k, v] = qkv.map(|(of, first)| Columns { of: of.clone(), first, width: d });
        t.attention(q, k, v, &plan)
    }
}

/// Attention of a sequence to itself: q, k and v from one product.
#[derive(Clone, Copy, Debug)]
pub struct SelfAttention {
    /// (3c, c).
    qkv: Linear,
    /// (c, c).
    out: Linear,
    heads: Heads,
}

impl SelfAttention {
    /// Declares `name.qkv` (3c, c) and `name.out` (c, c).
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, config: &LayerConfig) -> Self {
        let (c, [_, stacked, into_stream]) = (config.c, config.inits());
        Self {
            qkv: Linear::new(builder, &format!("{name}.qkv"), [3 * c, c], stacked),
            out: Linear::new(builder, &format!("{name}.out"), [c, c], into_stream),
            heads: Heads::new(config, config.causality()),
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
        cache: Option<&mut KvCache>,
    ) -> Var {
        let qkv = self.qkv.forward(t, x, Activation::None); // (n, c) -> (n, 3c)
        let c = self.heads.c;
        let z = match cache {
            None => self.heads.attend(t, [(&qkv, 0), (&qkv, c), (&qkv, 2 * c)], [spans, spans]),
            Some(cache) => {
                cache.append(&qkv, spans);
                let kv = Var::constant(cache.rows.clone());
                self.heads.attend(t, [(&qkv, 0), (&kv, 0), (&kv, c)], [spans, &cache.spans()])
            }
        };
        self.out.forward(t, &z, Activation::None)
    }
}

/// Attention of the decoder to the encoder: q from the decoder, k and v from the encoder.
#[derive(Clone, Copy, Debug)]
pub struct CrossAttention {
    /// (c, c), for the decoder's rows.
    q: Linear,
    /// (2c, c), for the encoder's rows.
    kv: Linear,
    /// (c, c).
    out: Linear,
    heads: Heads,
}

impl CrossAttention {
    /// Declares `name.q` (c, c), `name.kv` (2c, c) and `name.out` (c, c).
    /// # Panics
    /// If the name is taken.
    pub fn new(builder: &mut ParamsBuilder, name: &str, config: &LayerConfig) -> Self {
        let (c, [init, stacked, into_stream]) = (config.c, config.inits());
        Self {
            q: Linear::new(builder, &format!("{name}.q"), [c, c], init),
            kv: Linear::new(builder, &format!("{name}.kv"), [2 * c, c], stacked),
            out: Linear::new(builder, &format!("{name}.out"), [c, c], into_stream),
            heads: Heads::new(config, Causality::Full),
        }
    }

    /// Keys and values of the source, computed once per sentence: (n_source, c) -> (n_source, 2c).
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
        let z = self.heads.attend(t, [(&q, 0), (kv, 0), (kv, self.heads.c)], [spans, kv_spans]);
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
