//! Additive attention (Bahdanau, Cho and Bengio 2015) with one query per sequence, as in one step
//! of a recurrent decoder.
//!
//! ```text
//! e_j = vᵀ·tanh(q + u_j)        q = W·s_{i−1}   u_j = U·h_j        q, u_j, v (k)
//! α   = softmax(e)              over the source tokens j of the same sequence
//! c   = Σ_j α_j·h_j                                                h_j, c (m)
//! ```
//!
//! The caller computes q by a product before each step, and the keys u_j once for all steps. Most
//! of the work are the k·s hyperbolic tangents per query; the backward pass recomputes them instead
//! of storing them.

use super::attention::Span;
use super::recurrent::TimeOrder;
use super::softmax::exponentials;
use crate::simd::{self, LANES, tanh, vectorized};
use crate::team::{self, Parts};

/// The source sequences that the queries of all steps attend to.
#[derive(Clone, Copy)]
pub struct AttendedSource<'a> {
    /// Keys u_j of all source tokens, (n_source, k).
    pub keys: &'a [f32],
    /// Values h_j of all source tokens, (n_source, m).
    pub values: &'a [f32],
    /// v, (k).
    pub v: &'a [f32],
    /// The source tokens of each sequence.
    pub spans: &'a [Span],
    /// The order of sequences: query i belongs to the sequence of rank i.
    pub order: &'a TimeOrder,
    /// m.
    pub width: usize,
    /// Row stride of the weights: the length of the longest source.
    pub longest: usize,
}

impl<'a> AttendedSource<'a> {
    /// The source tokens that query i attends to.
    fn span(&self, i: usize) -> Span {
        self.spans[self.order.sequences()[i] as usize]
    }

    /// Panics if two sequences share source tokens: their tasks would write the same gradient.
    #[track_caller]
    pub(crate) fn check_apart(&self) {
        let apart = self.spans.windows(2).all(|pair| pair[0].start + pair[0].len <= pair[1].start);
        assert!(
            apart,
            "additive attention: the sources overlap or do not ascend: {:?}",
            self.spans
        );
    }

    fn key(&self, row: usize) -> &'a [f32] {
        let k = self.v.len();
        &self.keys[row * k..][..k]
    }

    fn value(&self, row: usize) -> &'a [f32] {
        &self.values[row * self.width..][..self.width]
    }
}

/// Contexts (a, m) of the queries (a, k), and their weights (a, longest), of which a row uses the
/// first s. A query without source tokens gets zeros.
pub fn additive_forward(
    contexts: &mut [f32],
    weights: &mut [f32],
    queries: &[f32],
    attended: AttendedSource,
) {
    let (k, m) = (attended.v.len(), attended.width);
    let (contexts, weights) = (Parts::new(contexts), Parts::new(weights));
    team::run(queries.len() / k, |i| {
        let (span, q) = (attended.span(i), &queries[i * k..][..k]);
        // SAFETY: row i of each is this query's alone.
        let (context, alpha) =
            unsafe { (contexts.part(i * m, m), weights.part(i * attended.longest, span.len)) };
        for (j, e) in alpha.iter_mut().enumerate() {
            *e = score(q, attended.key(span.start + j), attended.v);
        }
        normalize(alpha);
        context.fill(0.0);
        for (j, alpha) in alpha.iter().enumerate() {
            add_scaled(context, attended.value(span.start + j), *alpha);
        }
    });
}

/// The backward pass of one step. Writes `dqueries` (a, k); adds to `dkeys` (n_source, k) and to
/// `dv` (a, k), one row per query, so that their sum has a fixed order. `scratch` is (a, longest).
/// The gradient of the values is computed by [`additive_values_backward`].
///
/// # Panics
/// If two sequences share source tokens.
#[track_caller]
pub fn additive_backward(
    dqueries: &mut [f32],
    dkeys: &mut [f32],
    dv: &mut [f32],
    scratch: &mut [f32],
    dcontexts: &[f32],
    weights: &[f32],
    queries: &[f32],
    attended: AttendedSource,
) {
    let (k, m) = (attended.v.len(), attended.width);
    let longest = attended.longest;
    attended.check_apart();
    let (dqueries, dkeys, dv, scratch) =
        (Parts::new(dqueries), Parts::new(dkeys), Parts::new(dv), Parts::new(scratch));
    team::run(queries.len() / k, |i| {
        let (span, q) = (attended.span(i), &queries[i * k..][..k]);
        let (dc, alpha) = (&dcontexts[i * m..][..m], &weights[i * longest..][..span.len]);
        // SAFETY: row i of each is this query's alone.
        let (dq, dv, de) = unsafe {
            (dqueries.part(i * k, k), dv.part(i * k, k), scratch.part(i * longest, span.len))
        };
        // Forward: c = Σ α_j·h_j. So dα_j = dc·h_j; and of the softmax de_j = α_j·(dα_j − Σ α·dα).
        for (j, dalpha) in de.iter_mut().enumerate() {
            *dalpha = dot(dc, attended.value(span.start + j));
        }
        let mean = dot(alpha, de);
        de.iter_mut().zip(alpha).for_each(|(de, alpha)| *de = alpha * (*de - mean));
        dq.fill(0.0);
        for (j, de) in de.iter().enumerate() {
            // SAFETY: a rank is one sequence, and no other sequence has its tokens (`check_apart`).
            let dkey = unsafe { dkeys.part((span.start + j) * k, k) };
            score_backward(dq, dkey, dv, q, attended.key(span.start + j), attended.v, *de);
        }
    });
}

/// dh_j = Σ_i α_ij·dc_i of one sequence: `rows` are the rows of its queries in `weights`
/// (n, longest) and `dcontexts` (n, m).
pub fn additive_values_backward(
    dvalues: &mut [f32],
    weights: &[f32],
    dcontexts: &[f32],
    rows: impl Iterator<Item = usize>,
    (longest, m): (usize, usize),
) {
    dvalues.fill(0.0);
    for row in rows {
        let dc = &dcontexts[row * m..][..m];
        for (dvalue, alpha) in dvalues.chunks_exact_mut(m).zip(&weights[row * longest..]) {
            // Forward: c_i = Σ_j α_ij·h_j. So dh_j += α_ij·dc_i.
            add_scaled(dvalue, dc, *alpha);
        }
    }
}

vectorized! {
    fn score(q: &[f32], key: &[f32], v: &[f32]) -> f32 {
        let (q_lanes, q_rest) = q.as_chunks::<LANES>();
        let (u_lanes, u_rest) = key.as_chunks::<LANES>();
        let (v_lanes, v_rest) = v.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for ((q, u), v) in q_lanes.iter().zip(u_lanes).zip(v_lanes) {
            for l in 0..LANES {
                sums[l] += v[l] * tanh(q[l] + u[l]);
            }
        }
        for (sum, ((q, u), v)) in sums.iter_mut().zip(q_rest.iter().zip(u_rest).zip(v_rest)) {
            *sum += v * tanh(q + u);
        }
        simd::sum_lanes(sums)
    }
}

vectorized! {
    fn score_backward(
        dq: &mut [f32],
        dkey: &mut [f32],
        dv: &mut [f32],
        q: &[f32],
        key: &[f32],
        v: &[f32],
        de: f32,
    ) {
        let n = v.len();
        let (dq, dkey, dv) = (&mut dq[..n], &mut dkey[..n], &mut dv[..n]);
        let (q, key) = (&q[..n], &key[..n]);
        for j in 0..n {
            // Forward: e = Σ v·t, t = tanh(q + u). So dv += de·t, and dq and du get de·v·(1 − t²).
            let t = tanh(q[j] + key[j]);
            let slope = de * v[j] * (1.0 - t * t);
            dv[j] += de * t;
            dq[j] += slope;
            dkey[j] += slope;
        }
    }
}

vectorized! {
    fn normalize(scores: &mut [f32]) {
        let scale = exponentials(scores).normalizer();
        scores.iter_mut().for_each(|x| *x *= scale);
    }
}

vectorized! {
    fn add_scaled(to: &mut [f32], from: &[f32], factor: f32) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
    }
}

vectorized! {
    fn dot(a: &[f32], b: &[f32]) -> f32 {
        simd::dot(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queries over 3 and 2 tokens, k = 2 and m = 1, by hand in f64.
    #[test]
    fn contexts_and_weights_agree_with_the_definition() {
        let keys = [0.1, -0.4, 0.7, 0.2, -0.3, 0.9, 1.0, 0.0, 0.5, -1.0];
        let (values, v, queries) = ([1.0, 2.0, 3.0, 4.0, 5.0], [0.8, -1.5], [0.3, 0.6, -0.2, 0.4]);
        let spans = [Span { start: 0, len: 3 }, Span { start: 3, len: 2 }];
        // The second target is longer, so its query comes first.
        let order = &TimeOrder::new(&[Span { start: 0, len: 1 }, Span { start: 1, len: 2 }]);
        let (width, longest) = (1, 3);
        let attended = AttendedSource {
            keys: &keys,
            values: &values,
            v: &v,
            spans: &spans,
            order,
            width,
            longest,
        };
        let (mut contexts, mut weights) = ([f32::NAN; 2], [f32::NAN; 6]);
        additive_forward(&mut contexts, &mut weights, &queries, attended);
        for (i, span) in [spans[1], spans[0]].iter().enumerate() {
            let e = |j: usize| -> f64 {
                let t = |d: usize| f64::from(queries[2 * i + d]) + f64::from(keys[2 * j + d]);
                f64::from(v[0]) * t(0).tanh() + f64::from(v[1]) * t(1).tanh()
            };
            let tokens = span.start..span.start + span.len;
            let total: f64 = tokens.clone().map(|j| e(j).exp()).sum();
            let context: f64 =
                tokens.clone().map(|j| e(j).exp() / total * f64::from(values[j])).sum();
            assert!(
                (f64::from(contexts[i]) - context).abs() < 1e-6,
                "{} is not {context}",
                contexts[i]
            );
            for (j, weight) in tokens.zip(&weights[i * longest..]) {
                assert!((f64::from(*weight) - e(j).exp() / total).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn a_query_without_tokens_gets_zeros() {
        let attended = AttendedSource {
            keys: &[],
            values: &[],
            v: &[1.0],
            spans: &[Span { start: 0, len: 0 }],
            order: &TimeOrder::new(&[Span { start: 0, len: 1 }]),
            width: 2,
            longest: 0,
        };
        let mut contexts = [f32::NAN; 2];
        additive_forward(&mut contexts, &mut [], &[0.5], attended);
        assert_eq!(contexts, [0.0, 0.0]);
    }
}
