//! Attention to cached keys and values, given by their row numbers: inference only.
//!
//! Shapes: q (n_q, h·d_k), z (n_q, h·d_v), as in [`Tape::attention`]; keys and values are columns of
//! the rows of a cache, and key j of a sequence is the row with the number `rows[start + j]` of its
//! span. Nothing is saved: there is no backward pass.

use super::attention::{AttentionPlan, Columns, first_weights};
use crate::kernels::attention::{Heads, HeadsMut, attention_forward};
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

/// Keys and values in the rows of a cache.
#[derive(Clone, Copy)]
pub struct CachedRows<'a> {
    /// All rows of the cache.
    pub data: &'a [f32],
    /// Elements of a row.
    pub stride: usize,
    /// The first columns of keys and of values.
    pub columns: [usize; 2],
    /// The row numbers that the plan's spans of keys are parts of.
    pub rows: &'a [u32],
}

impl Tape<'_> {
    /// z = softmax(scale·q·kᵀ + bias + mask)·v for each sequence and head, with keys and values in
    /// a cache: the bits of [`Tape::attention`].
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
        let [k, v] =
            kv.columns.map(|first| Heads { data: kv.data, stride: kv.stride, first, width });
        let out = HeadsMut::new(z.data_mut(), h * width, 0, width);
        attention_forward(out, lse.data_mut(), q.heads(), k, v, &spec);
        self.show("weights", || first_weights(q.heads(), k, &spec));
        Var::constant(z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::random_tensor;
    use crate::kernels::attention::{Causality, Span};
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
            let kv = CachedRows {
                data: cache.data(),
                stride: 2 * h * d,
                columns: [0, h * d],
                rows: &rows,
            };
            let got = tape.attention_to_cache(columns(&q, 0), kv, &plan);
            assert_eq!(got.data(), want.data());
        }
    }
}
