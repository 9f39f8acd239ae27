//! Attention to cached keys and values, given by their row numbers: inference only.
//!
//! Shapes: q (n_q, h·d_k), z (n_q, h·d_v), as in [`Tape::attention`]; keys and values are columns
//! of the rows of a cache, and key j of a sequence is the row with the number `rows[start + j]` of
//! its span. Nothing is saved: there is no backward pass.

use super::attention::{AttentionPlan, Columns, first_weights};
use crate::kernels::attention::{
    Heads, HeadsMut, StoredRows, attention_forward, attention_forward_stored,
};
use crate::kernels::kv_format::KvFormat;
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

/// Keys and values in the rows of a cache.
#[derive(Clone, Copy)]
pub struct CachedRows<'a> {
    /// All rows of the cache.
    pub data: CachedData<'a>,
    /// g: heads of keys, and of values, which follow them.
    pub kv_heads: usize,
    /// The row numbers that the plan's spans of keys are parts of.
    pub rows: &'a [u32],
}

/// The rows of a cache, as they are stored.
#[derive(Clone, Copy)]
pub enum CachedData<'a> {
    /// Read in place.
    Floats(&'a [f32]),
    /// Decoded when they are read.
    Stored(KvFormat, &'a [u8]),
}

impl Tape<'_> {
    /// z = softmax(scale·q·kᵀ + bias + mask)·v for each sequence and head, with keys and values in
    /// a cache: the bits of [`Tape::attention`] with them.
    ///
    /// # Panics
    /// If the columns, heads, spans, rows or biases do not fit, or this tape records.
    #[track_caller]
    pub fn attention_to_cache(&mut self, q: Columns, kv: CachedRows, plan: &AttentionPlan) -> Var {
        assert!(!self.is_recording(), "attention to a cache has no backward pass");
        let (n, h, width) = (q.of.rows_cols().0, plan.heads, q.width);
        let distances = self.distances(plan);
        let mut z = Tensor::uninit([n, h * width]);
        let mut lse = Tensor::uninit([n, h]);
        let covered: usize = plan.q_spans.iter().map(|span| span.len).sum();
        assert_eq!(covered, n, "attention to a cache: rows that belong to a sequence, of all rows");
        let mut spec = plan.spec(distances.as_ref());
        spec.k_rows = Some(kv.rows);
        let out = HeadsMut::new(z.data_mut(), h * width, 0, width);
        match kv.data {
            CachedData::Floats(data) => {
                let stride = 2 * kv.kv_heads * width;
                let [k, v] = [0, stride / 2].map(|first| Heads { data, stride, first, width });
                attention_forward(out, lse.data_mut(), q.heads(), k, v, &spec);
                self.show("weights", || first_weights(q.heads(), k, &spec));
            }
            CachedData::Stored(format, data) => {
                let kv = StoredRows { data, format, kv_heads: kv.kv_heads, width };
                attention_forward_stored(out, lse.data_mut(), q.heads(), kv, &spec);
            }
        }
        Var::constant(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::random_tensor;
    use crate::kernels::attention::{Causality, Span, Window};
    use crate::params::Params;
    use std::sync::Arc;

    #[test]
    fn rows_in_any_order_and_shared_give_the_bits_of_rows_that_follow_each_other() {
        let (h, d, params) = (2, 24, Params::builder().build(0));
        let mut tape = Tape::inference(&params);
        // Three sequences of 5, 1 and 40 new tokens, of which the first two share three old ones.
        let [q_lens, k_lens] = [[5, 1, 40], [8, 4, 40]];
        let spans = |lens: [usize; 3]| -> Arc<[Span]> {
            let start = |i: usize| lens[..i].iter().sum();
            (0..3).map(|i| Span { start: start(i), len: lens[i] }).collect()
        };
        let (q, cache) = (random_tensor([46, h * d]), random_tensor([100, 2 * h * d]));
        // 7 is prime to 100: rows far from each other, none twice.
        let mut rows: Vec<u32> = (0..52).map(|i| 7 * i % 100).collect();
        rows.copy_within(0..3, 8);
        let packed: Vec<f32> =
            rows.iter().flat_map(|row| cache.row(*row as usize)).copied().collect();
        let packed = Var::constant(Tensor::new([52, 2 * h * d], &packed));
        let (q_spans, k_spans) = (spans(q_lens), spans(k_lens));
        for causality in [Causality::Causal, Causality::Full] {
            let plan = AttentionPlan::new(h, 0.3, causality, &q_spans, &k_spans);
            let columns = |of: &Var, first| Columns { of: of.clone(), first, width: d };
            let q = Var::constant(q.clone());
            let want =
                tape.attention(columns(&q, 0), columns(&packed, 0), columns(&packed, h * d), &plan);
            let data = CachedData::Floats(cache.data());
            let kv = CachedRows { data, kv_heads: h, rows: &rows };
            let got = tape.attention_to_cache(columns(&q, 0), kv, &plan);
            assert_eq!(got.data(), want.data());
            for format in KvFormat::ALL {
                let (stored, decoded) = stored(format, &cache, d);
                let data = CachedData::Floats(decoded.data());
                let want =
                    tape.attention_to_cache(columns(&q, 0), CachedRows { data, ..kv }, &plan);
                let data = CachedData::Stored(format, &stored);
                let got = tape.attention_to_cache(columns(&q, 0), CachedRows { data, ..kv }, &plan);
                assert_eq!(got.data(), want.data(), "{format}");
            }
        }
    }

    /// Rows as a format stores them, and what is read of them.
    fn stored(format: KvFormat, rows: &Tensor, d: usize) -> (Vec<u8>, Tensor) {
        let (count, width) = rows.rows_cols();
        let heads = width / d;
        let mut bytes = vec![0; count * format.row_bytes(heads, d)];
        let mut decoded = Tensor::zeros([count, width]);
        let per_row = bytes.chunks_exact_mut(format.row_bytes(heads, d)).zip(0..);
        for ((row, i), to) in per_row.zip(decoded.data_mut().chunks_exact_mut(width)) {
            format.encode(row, rows.row(i), d);
            let heads_of_row = to.chunks_exact_mut(d).enumerate();
            heads_of_row.for_each(|(head, to)| format.decode(to, row, head, heads));
        }
        (bytes, decoded)
    }

    #[test]
    fn windows_and_grouped_heads_see_the_same_stored_keys_in_any_chunks() {
        let (h, g, d, params) = (4, 2, 16, Params::builder().build(0));
        let mut tape = Tape::inference(&params);
        let (q, cache) = (random_tensor([50, h * d]), random_tensor([50, 2 * g * d]));
        let rows: Vec<u32> = (0..50).map(|i| 49 - i).collect();
        let span = |len| -> Arc<[Span]> { [Span { start: 0, len }].into() };
        for window in [Window::Unlimited, Window::Sliding(20)] {
            for format in KvFormat::ALL {
                let (bytes, _) = stored(format, &cache, d);
                let kv = |rows| CachedRows {
                    data: CachedData::Stored(format, &bytes),
                    kv_heads: g,
                    rows,
                };
                let mut run = |first: usize, end: usize| {
                    let (queries, keys) = (span(end - first), span(end));
                    let plan = AttentionPlan::new(h, 0.3, Causality::Causal, &queries, &keys);
                    let plan = AttentionPlan { kv_heads: g, window, ..plan };
                    let part = &q.data()[first * h * d..end * h * d];
                    let part = Var::constant(Tensor::new([end - first, h * d], part));
                    let q = Columns { of: part, first: 0, width: d };
                    tape.attention_to_cache(q, kv(&rows[..end]), &plan)
                };
                let whole = run(0, 50);
                for (first, end) in [(0, 1), (1, 4), (4, 37), (37, 38), (38, 50)] {
                    let want = &whole.data()[first * h * d..end * h * d];
                    assert_eq!(run(first, end).data(), want, "{format} {window:?} {first}");
                }
            }
        }
    }
}
