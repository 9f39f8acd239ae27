//! Multi-head scaled dot-product attention over packed sequences of different lengths.
//!
//! ```text
//! z = softmax(scale · q · kᵀ + bias + mask) · v        for each sequence and each head
//! ```
//!
//! Shapes, for one of b sequences and one of h heads: `q` (t, d_k), `k` (s, d_k), `v` (s, d_v), `z`
//! (t, d_v); scores and weights (t, s). In memory the sequences follow each other as rows
//! ([`Span`]) and the heads are adjacent columns ([`Heads`]), so `q` of the whole batch is
//! (Σt, h·d_k), and splitting heads or padding copies nothing. Several query heads may share a head
//! of keys and values. mask is 0 where a query may attend and −∞ where it may not: [`Causality`],
//! [`Window`] and [`Padding`]; a bias by distance is optional ([`DistanceBias`]). A fully masked
//! query gets a zero row and zero gradients, never NaN.
//!
//! Saved for the backward pass: `z` and `lse` (Σt, h), the log-sum-exp of each row of scores. No
//! (t, s) matrix is stored: forward and backward process blocks of 64 queries, and the backward
//! pass recomputes the weights from q, k and lse. References: Vaswani et al. 2017; Rabe and Staats
//! 2021 and Dao et al. 2022 for recomputation.
//!
//! The computation of one (sequence, head) does not depend on the rest of the batch or on the
//! thread: the same bits for any number of threads and in any batch.

mod mask;
mod one_query;
mod pass;
mod scratch;
mod stored;
#[cfg(test)]
mod tests;
mod tile;
mod views;

use crate::kernels::softmax;
use crate::simd::{self, LANES, vectorized};
use mask::Pair;
pub use mask::{AttentionSpec, Causality, DistanceBias, Padding, Window};
pub use pass::{attention_backward, attention_forward};
use std::ops::Range;
pub use stored::{StoredRows, attention_forward_stored};
use views::Rows;
pub use views::{Heads, HeadsMut, Span};

/// The attention weights of some queries of one sequence and one head, (rows, s), for inspection:
/// softmax(scale · q · kᵀ + bias + mask), exactly zero where masked. A row has the same bits
/// whichever others are asked for.
///
/// # Panics
/// If `weights` is not (rows, s), there are no such rows, or an operand does not have the shape
/// that `spec` says.
#[track_caller]
pub fn attention_weights(
    weights: &mut [f32],
    q: Heads,
    k: Heads,
    spec: &AttentionSpec,
    (sequence, head, rows): (usize, usize, Range<usize>),
) {
    spec.check(q, k);
    assert!(
        sequence < spec.q_spans.len() && head < spec.heads,
        "attention weights: sequence {sequence} of {}, head {head} of {}",
        spec.q_spans.len(),
        spec.heads
    );
    let pair = spec.pair(q, k, sequence, head);
    let (t, s) = (pair.t(), pair.s());
    assert!(
        rows.start <= rows.end && rows.end <= t && weights.len() == rows.len() * s,
        "attention weights: {} elements for rows {rows:?} of ({t},{s}), t queries by s keys",
        weights.len()
    );
    for (row, i) in weights.chunks_exact_mut(s.max(1)).zip(rows) {
        let scale = weigh(row, &pair, i).normalizer();
        row.iter_mut().for_each(|w| *w *= scale);
    }
}

vectorized! {
    /// One query against every key it sees, read in place: exp(score − max), 0 where masked.
    fn weigh(row: &mut [f32], pair: &Pair, i: usize) -> softmax::RowSum {
        let q = pair.q.row(i);
        let (first, end) = (lane_start(pair.first_key(i)), pair.visible(i));
        row[..first].fill(0.0);
        row[end..].fill(0.0);
        let seen = &mut row[first..end];
        for (j, score) in seen.iter_mut().enumerate() {
            *score = pair.scale * simd::dot(q, pair.k.row(first + j));
        }
        pair.hide(seen, i, first);
        softmax::exponentials(seen)
    }
}

/// The start of the lanes that key j is in. Rows begin there, so a key is in the same lane whatever
/// else is visible, and its row sums to the same bits.
#[inline(always)]
fn lane_start(j: usize) -> usize {
    j / LANES * LANES
}
