//! The worked examples of the notes, a naive reference in f64, central differences, and invariants.
//!
//! They run at the best level of this CPU; `LIMPID_SIMD=scalar` runs them at the baseline.

mod goldens;
mod invariants;
mod reference;

use super::*;
use crate::rng::Stream;

pub(super) const PADDING_ROWS: usize = 2;

/// The padding of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PaddingKind {
    None,
    Keys,
    KeysAndQueries,
}

/// A batch with its operands, in separate matrices (n, h·d) with unused rows before and between the
/// sequences.
#[derive(Clone)]
pub(super) struct Case {
    pub heads: usize,
    pub kv_heads: usize,
    pub d_k: usize,
    pub d_v: usize,
    pub scale: f32,
    pub causality: Causality,
    pub window: Window,
    /// (h, 2·REACH + 1), or empty.
    pub bias: Vec<f32>,
    pub padding: PaddingKind,
    pub q_spans: Vec<Span>,
    pub k_spans: Vec<Span>,
    pub keys: Vec<bool>,
    pub queries: Vec<bool>,
    pub q: Vec<f32>,
    pub k: Vec<f32>,
    pub v: Vec<f32>,
    pub dz: Vec<f32>,
}

/// The results of both passes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Outcome {
    pub z: Vec<f32>,
    pub lse: Vec<f32>,
    pub dq: Vec<f32>,
    pub dk: Vec<f32>,
    pub dv: Vec<f32>,
    pub dbias: Vec<f32>,
}

/// The reach of the biases of all cases.
pub(super) const REACH: usize = 140;

pub(super) fn spans(lens: impl Iterator<Item = usize>) -> Vec<Span> {
    let mut start = 1;
    lens.map(|len| {
        let span = Span { start, len };
        start += len + 1;
        span
    })
    .collect()
}

fn rows(spans: &[Span]) -> usize {
    spans.last().map_or(0, |span| span.start + span.len + PADDING_ROWS)
}

impl Case {
    pub fn new(
        heads: usize,
        (d_k, d_v): (usize, usize),
        lens: &[(usize, usize)],
        causality: Causality,
        padding: PaddingKind,
    ) -> Case {
        Case::grouped((heads, heads), (d_k, d_v), lens, causality, padding)
    }

    /// Query heads that share heads of keys and values.
    pub fn grouped(
        (heads, kv_heads): (usize, usize),
        (d_k, d_v): (usize, usize),
        lens: &[(usize, usize)],
        causality: Causality,
        padding: PaddingKind,
    ) -> Case {
        let mut rng = Stream::new(7, (heads * 1000 + d_k * 10 + d_v) as u64);
        let (q_spans, k_spans) =
            (spans(lens.iter().map(|len| len.0)), spans(lens.iter().map(|len| len.1)));
        let (n_q, n_k) = (rows(&q_spans), rows(&k_spans));
        let mut fill = |n: usize| (0..n).map(|_| rng.uniform() * 2.0 - 1.0).collect::<Vec<f32>>();
        let (q, k, v, dz) = (
            fill(n_q * heads * d_k),
            fill(n_k * kv_heads * d_k),
            fill(n_k * kv_heads * d_v),
            fill(n_q * heads * d_v),
        );
        // Every third row is padding, and all keys of the second sequence are.
        let mut keys: Vec<bool> = (0..n_k).map(|row| row % 3 != 0).collect();
        if let Some(span) = k_spans.get(1) {
            keys[span.start..][..span.len].fill(false);
        }
        let queries = (0..n_q).map(|row| row % 4 != 1).collect();
        let scale = 1.0 / (d_k as f32).sqrt();
        Case {
            heads,
            kv_heads,
            d_k,
            d_v,
            scale,
            causality,
            window: Window::Unlimited,
            bias: Vec::new(),
            padding,
            q_spans,
            k_spans,
            keys,
            queries,
            q,
            k,
            v,
            dz,
        }
    }

    pub fn with_window(self, keys: usize) -> Case {
        Case { window: Window::Sliding(keys), ..self }
    }

    pub fn with_bias(self) -> Case {
        let mut rng = Stream::new(11, self.heads as u64);
        let bias = (0..self.heads * (2 * REACH + 1)).map(|_| rng.uniform() * 2.0 - 1.0).collect();
        Case { bias, ..self }
    }

    pub fn spec(&self) -> AttentionSpec<'_> {
        let (keys, queries) = (&self.keys[..], &self.queries[..]);
        AttentionSpec {
            heads: self.heads,
            kv_heads: self.kv_heads,
            scale: self.scale,
            causality: self.causality,
            window: self.window,
            bias: (!self.bias.is_empty())
                .then_some(DistanceBias { values: &self.bias, reach: REACH }),
            padding: match self.padding {
                PaddingKind::None => Padding::None,
                PaddingKind::Keys => Padding::Keys(keys),
                PaddingKind::KeysAndQueries => Padding::KeysAndQueries { keys, queries },
            },
            q_spans: &self.q_spans,
            k_spans: &self.k_spans,
            k_rows: None,
        }
    }

    pub fn views(&self) -> (Heads<'_>, Heads<'_>, Heads<'_>) {
        let (h, g) = (self.heads, self.kv_heads);
        (
            Heads::new(&self.q, h, self.d_k),
            Heads::new(&self.k, g, self.d_k),
            Heads::new(&self.v, g, self.d_v),
        )
    }

    /// Both passes. Rows outside the sequences keep their initial NaN.
    pub fn run(&self) -> Outcome {
        let (h, g, d_k, d_v) = (self.heads, self.kv_heads, self.d_k, self.d_v);
        let (q, k, v) = self.views();
        let spec = self.spec();
        let nan = |n: usize| vec![f32::NAN; n];
        let mut lse = nan(rows(&self.q_spans) * h);
        let [mut z, mut dq, mut dk, mut dv] =
            [self.dz.len(), self.q.len(), self.k.len(), self.v.len()].map(nan);
        let mut dbias = nan(self.q_spans.len() * self.bias.len());
        attention_forward(HeadsMut::new(&mut z, h * d_v, 0, d_v), &mut lse, q, k, v, &spec);
        attention_backward(
            HeadsMut::new(&mut dq, h * d_k, 0, d_k),
            HeadsMut::new(&mut dk, g * d_k, 0, d_k),
            HeadsMut::new(&mut dv, g * d_v, 0, d_v),
            &mut dbias,
            Heads::new(&self.dz, h, d_v),
            Heads::new(&z, h, d_v),
            &lse,
            q,
            k,
            v,
            &spec,
        );
        Outcome { z, lse, dq, dk, dv, dbias }
    }

    /// Whether query i of a sequence sees key j.
    pub fn sees(&self, sequence: usize, i: usize, j: usize) -> bool {
        let (q, k) = (self.q_spans[sequence], self.k_spans[sequence]);
        let causal = self.causality == Causality::Full || j + q.len <= i + k.len;
        // The query stands at position i + (s − t).
        let distance = (j + q.len).abs_diff(i + k.len);
        let near = match self.window {
            Window::Unlimited => true,
            Window::Sliding(keys) => distance < keys,
        };
        let key = self.padding == PaddingKind::None || self.keys[k.start + j];
        let query = self.padding != PaddingKind::KeysAndQueries || self.queries[q.start + i];
        causal && near && key && query
    }
}

/// Bits, so that NaN equals NaN.
pub(super) fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

#[track_caller]
pub(super) fn assert_close(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance, "[{i}]: {got} is not {want}");
    }
}
