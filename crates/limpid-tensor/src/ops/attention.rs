//! Multi-head attention on the tape: z = softmax(scale·q·kᵀ + bias + mask)·v for each sequence and
//! head.
//!
//! Shapes: q (n_q, h·d_k), k (n_k, g·d_k), v (n_k, g·d_v), z (n_q, h·d_v), with g heads of keys and
//! values for h heads of queries. q, k and v may be columns of one matrix, the output (n, 3c) of a
//! fused projection: then so are their gradients. Saved for the backward pass: q, k, v, z, and the
//! log-sum-exp of each row (n_q, h).

use crate::kernels::attention::{
    AttentionSpec, Causality, Heads, HeadsMut, Padding, Span, Window, attention_backward,
    attention_forward, attention_weights,
};
use crate::ops::relative_bias::{Distances, RelativeBias};
use crate::tape::{BackwardPass, Operation, Tape, TracedHeads, Var};
use crate::tensor::Tensor;
use std::sync::Arc;

/// Adjacent heads in some columns of a matrix.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The matrix.
    pub of: Var,
    /// The first column of the first head.
    pub first: usize,
    /// Columns of one head: d.
    pub width: usize,
}

impl Columns {
    pub(super) fn heads(&self) -> Heads<'_> {
        Heads {
            data: self.of.data(),
            stride: self.of.rows_cols().1,
            first: self.first,
            width: self.width,
        }
    }

    fn traced(&self) -> TracedHeads {
        TracedHeads { of: self.of.value().clone(), first: self.first, width: self.width }
    }

    /// Whether both are columns of one matrix, these to the left of the others: then one matrix
    /// holds both gradients. Where they are the same columns (keys used as values), each gets a
    /// gradient of its own, and the two are added.
    fn is_left_in_same_matrix(&self, other: &Columns, heads: usize) -> bool {
        self.of.id().is_some()
            && self.of.id() == other.of.id()
            && self.first + heads * self.width <= other.first
    }
}

/// The padding mask, by row; see [`Padding`].
#[derive(Clone, Debug)]
pub enum PaddingMask {
    /// No padding: packed sequences.
    None,
    /// Padding keys get weight 0.
    Keys(Arc<[bool]>),
    /// Padding keys get weight 0 and padding queries a zero row.
    KeysAndQueries {
        /// Real keys, by row of k.
        keys: Arc<[bool]>,
        /// Real queries, by row of q.
        queries: Arc<[bool]>,
    },
}

/// Shape, scale and mask of an attention: everything but its operands.
#[derive(Clone, Debug)]
pub struct AttentionPlan {
    /// h.
    pub heads: usize,
    /// g, a divisor of h: query heads share heads of keys and values if it is less.
    pub kv_heads: usize,
    /// Factor on the scores, usually 1/√d_k.
    pub scale: f32,
    /// Whether queries attend to later keys.
    pub causality: Causality,
    /// How far queries see.
    pub window: Window,
    /// Trained biases by relative position.
    pub bias: Option<RelativeBias>,
    /// Which rows are padding.
    pub padding: PaddingMask,
    /// The rows of each sequence in q.
    pub q_spans: Arc<[Span]>,
    /// The rows of each sequence in k and v.
    pub k_spans: Arc<[Span]>,
}

impl AttentionPlan {
    /// As many heads of keys and values as of queries; no window, no bias, no padding.
    pub fn new(
        heads: usize,
        scale: f32,
        causality: Causality,
        q_spans: &Arc<[Span]>,
        k_spans: &Arc<[Span]>,
    ) -> Self {
        Self {
            heads,
            kv_heads: heads,
            scale,
            causality,
            window: Window::Unlimited,
            bias: None,
            padding: PaddingMask::None,
            q_spans: q_spans.clone(),
            k_spans: k_spans.clone(),
        }
    }

    /// The longest sequence of queries or keys.
    fn longest(&self) -> usize {
        self.q_spans.iter().chain(self.k_spans.iter()).map(|span| span.len).max().unwrap_or(0)
    }

    pub(super) fn spec<'a>(&'a self, bias: Option<&'a Distances>) -> AttentionSpec<'a> {
        let padding = match &self.padding {
            PaddingMask::None => Padding::None,
            PaddingMask::Keys(keys) => Padding::Keys(keys),
            PaddingMask::KeysAndQueries { keys, queries } => {
                Padding::KeysAndQueries { keys, queries }
            }
        };
        AttentionSpec {
            heads: self.heads,
            kv_heads: self.kv_heads,
            scale: self.scale,
            causality: self.causality,
            window: self.window,
            bias: bias.map(Distances::view),
            padding,
            q_spans: &self.q_spans,
            k_spans: &self.k_spans,
            k_rows: None,
        }
    }
}

impl Tape<'_> {
    /// The biases of a plan by distance, if it has any.
    #[track_caller]
    pub(super) fn distances(&self, plan: &AttentionPlan) -> Option<Distances> {
        plan.bias.map(|bias| {
            let table = self.param(bias.table);
            bias.by_distance(table, self.param_shape(bias.table), plan.heads, plan.longest())
        })
    }

    /// z = softmax(scale·q·kᵀ + bias + mask)·v for each sequence and head.
    ///
    /// A probe that wants `weights` gets those of the first sequence, (h, t, s).
    ///
    /// # Panics
    /// If the columns, heads, spans or biases do not fit the matrices.
    #[track_caller]
    pub fn attention(&mut self, q: Columns, k: Columns, v: Columns, plan: &AttentionPlan) -> Var {
        let (n, h) = (q.of.rows_cols().0, plan.heads);
        let distances = self.distances(plan);
        let mut z = Tensor::uninit([n, h * v.width]);
        let mut lse = Tensor::uninit([n, h]);
        let covered: usize = plan.q_spans.iter().map(|span| span.len).sum();
        if covered < n {
            // Rows that belong to no sequence.
            z.data_mut().fill(0.0);
            lse.data_mut().fill(f32::NEG_INFINITY);
        }
        let spec = plan.spec(distances.as_ref());
        let out = HeadsMut::new(z.data_mut(), h * v.width, 0, v.width);
        attention_forward(out, lse.data_mut(), q.heads(), k.heads(), v.heads(), &spec);
        self.show("weights", || first_weights(q.heads(), k.heads(), &spec));
        self.trace(&[&z], || {
            let [q, k, v] = [&q, &k, &v].map(Columns::traced);
            Operation::Attention { q, k, v, plan: plan.clone() }
        });
        let (plan, kept) = (plan.clone(), z.clone());
        self.record("attention", z, move |dz, pass| {
            backward(dz, Saved { z: kept, lse, q, k, v, plan, distances }, pass)
        })
    }
}

/// The weights of the first sequence, all heads: (h, t, s).
pub(super) fn first_weights(q: Heads, k: Heads, spec: &AttentionSpec) -> Tensor {
    let len = |spans: &[Span]| spans.first().map_or(0, |span| span.len);
    let (t, s) = (len(spec.q_spans), len(spec.k_spans));
    let mut weights = Tensor::zeros([spec.heads, t, s]);
    for (head, weights) in weights.data_mut().chunks_exact_mut((t * s).max(1)).enumerate() {
        attention_weights(weights, q, k, spec, (0, head, 0..t));
    }
    weights
}

/// Saved for the backward pass.
struct Saved {
    z: Tensor,
    lse: Tensor,
    q: Columns,
    k: Columns,
    v: Columns,
    plan: AttentionPlan,
    distances: Option<Distances>,
}

fn backward(dz: Tensor, saved: Saved, pass: &mut BackwardPass) {
    let Saved { z, lse, q, k, v, plan, distances } = saved;
    let (h, g) = (plan.heads, plan.kv_heads);
    let rows = plan.q_spans.len() * h;
    let mut dbias = Tensor::uninit([rows, distances.as_ref().map_or(0, Distances::count)]);
    let mut run = |dq: HeadsMut, dk: HeadsMut, dv: HeadsMut| {
        let (dz, z) = (Heads::new(dz.data(), h, v.width), Heads::new(z.data(), h, v.width));
        let spec = plan.spec(distances.as_ref());
        let (q, k, v) = (q.heads(), k.heads(), v.heads());
        attention_backward(dq, dk, dv, dbias.data_mut(), dz, z, lse.data(), q, k, v, &spec);
    };
    // One gradient matrix for each matrix that q, k and v are columns of.
    let stride = |x: &Columns| x.of.rows_cols().1;
    match (q.is_left_in_same_matrix(&k, h), k.is_left_in_same_matrix(&v, g)) {
        (true, true) => {
            let operands = [(&q, h), (&k, g), (&v, g)];
            let mut d = gradient_of(&operands, &[&plan.q_spans, &plan.k_spans]);
            let columns = [(q.first, q.width), (k.first, k.width), (v.first, v.width)];
            let [dq, dk, dv] = HeadsMut::split(d.data_mut(), stride(&q), columns);
            run(dq, dk, dv);
            pass.add_gradient(q.of.id(), d);
        }
        (false, true) => {
            let (mut d, mut d_kv) = (
                gradient_of(&[(&q, h)], &[&plan.q_spans]),
                gradient_of(&[(&k, g), (&v, g)], &[&plan.k_spans]),
            );
            let dq = HeadsMut::new(d.data_mut(), stride(&q), q.first, q.width);
            let [dk, dv] = HeadsMut::split(
                d_kv.data_mut(),
                stride(&k),
                [(k.first, k.width), (v.first, v.width)],
            );
            run(dq, dk, dv);
            pass.add_gradient(q.of.id(), d);
            pass.add_gradient(k.of.id(), d_kv);
        }
        // Otherwise each has a gradient matrix of its own; two of one matrix are added.
        _ => {
            let mut d_q = gradient_of(&[(&q, h)], &[&plan.q_spans]);
            let [mut d_k, mut d_v] = [&k, &v].map(|x| gradient_of(&[(x, g)], &[&plan.k_spans]));
            run(
                HeadsMut::new(d_q.data_mut(), stride(&q), q.first, q.width),
                HeadsMut::new(d_k.data_mut(), stride(&k), k.first, k.width),
                HeadsMut::new(d_v.data_mut(), stride(&v), v.first, v.width),
            );
            pass.add_gradient(q.of.id(), d_q);
            pass.add_gradient(k.of.id(), d_k);
            pass.add_gradient(v.of.id(), d_v);
        }
    }
    if let (Some(bias), Some(distances)) = (plan.bias, distances) {
        bias.add_gradient(&distances, dbias.data(), h, pass);
    }
}

/// A tensor for the gradient of a matrix, of which some columns are this many heads; zeros if the
/// kernel does not write all of it.
fn gradient_of(columns: &[(&Columns, usize)], spans: &[&[Span]]) -> Tensor {
    let (rows, width) = columns[0].0.of.rows_cols();
    let written: usize = columns.iter().map(|(x, heads)| x.width * heads).sum();
    let covered = |spans: &&[Span]| spans.iter().map(|span| span.len).sum::<usize>() == rows;
    if written == width && spans.iter().all(covered) {
        Tensor::uninit([rows, width])
    } else {
        Tensor::zeros([rows, width])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::ops::relative_bias::{BucketRange, Buckets};
    use crate::params::{Init, Params};

    fn spans(lengths: &[usize]) -> Arc<[Span]> {
        let mut start = 0;
        let span = |len: &usize| {
            start += len;
            Span { start: start - len, len: *len }
        };
        lengths.iter().map(span).collect()
    }

    fn plan(heads: usize, causality: Causality, q: &[usize], k: &[usize]) -> AttentionPlan {
        AttentionPlan::new(heads, 0.7, causality, &spans(q), &spans(k))
    }

    fn columns(of: &Var, first: usize, width: usize) -> Columns {
        Columns { of: of.clone(), first, width }
    }

    fn check() -> GradCheck {
        GradCheck::new(Params::builder().build(0))
    }

    #[test]
    fn a_fused_projection_gets_one_gradient_that_agrees_with_central_differences() {
        for causality in [Causality::Full, Causality::Causal] {
            // Two heads, d_k = 3 and d_v = 2: rows of 2·(3 + 3 + 2).
            let plan = plan(2, causality, &[4, 1, 3], &[4, 1, 3]);
            check().input(random_tensor([8, 16])).assert(|t, x| {
                t.attention(
                    columns(&x[0], 0, 3),
                    columns(&x[0], 6, 3),
                    columns(&x[0], 12, 2),
                    &plan,
                )
            });
        }
    }

    #[test]
    fn cross_attention_has_gradients_for_queries_and_for_the_fused_keys_and_values() {
        let plan = plan(2, Causality::Full, &[2, 3], &[4, 1]);
        check().input(random_tensor([5, 6])).input(random_tensor([5, 12])).assert(|t, x| {
            t.attention(columns(&x[0], 0, 3), columns(&x[1], 0, 3), columns(&x[1], 6, 3), &plan)
        });
    }

    #[test]
    fn grouped_heads_in_a_fused_projection_with_a_window_get_one_gradient() {
        // Four heads of queries and two of keys and values: rows of 4·3 + 2·3 + 2·2.
        for causality in [Causality::Full, Causality::Causal] {
            let plan = AttentionPlan {
                kv_heads: 2,
                window: Window::Sliding(3),
                ..plan(4, causality, &[6, 1, 3], &[6, 1, 3])
            };
            check().input(random_tensor([10, 22])).assert(|t, x| {
                t.attention(
                    columns(&x[0], 0, 3),
                    columns(&x[0], 12, 3),
                    columns(&x[0], 18, 2),
                    &plan,
                )
            });
        }
    }

    #[test]
    fn a_relative_bias_that_two_layers_share_gets_both_their_gradients() {
        for range in [BucketRange::Both, BucketRange::Past] {
            let mut builder = Params::builder();
            let table = builder.add("bias", [8, 2], Init::Normal(0.7));
            let buckets = Buckets { count: 8, max_distance: 6, range };
            let plan = AttentionPlan {
                bias: Some(RelativeBias { table, buckets }),
                ..plan(2, Causality::Causal, &[9, 1, 3], &[9, 1, 3])
            };
            GradCheck::new(builder.build(4)).input(random_tensor([13, 12])).assert(|t, x| {
                let layer = |t: &mut Tape, x: &Var, v: &Var| {
                    t.attention(columns(x, 0, 2), columns(x, 4, 2), columns(v, 0, 2), &plan)
                };
                let once = layer(t, &x[0], &x[0]);
                layer(t, &x[0], &once)
            });
        }
    }

    #[test]
    fn keys_used_as_values_get_both_gradients() {
        let plan = plan(1, Causality::Full, &[2, 3], &[4, 1]);
        check().input(random_tensor([5, 3])).input(random_tensor([5, 3])).assert(|t, x| {
            t.attention(columns(&x[0], 0, 3), columns(&x[1], 0, 3), columns(&x[1], 0, 3), &plan)
        });
    }

    #[test]
    fn three_separate_matrices_and_one_matrix_in_three_roles() {
        let plan = plan(1, Causality::Full, &[3], &[3]);
        check()
            .input(random_tensor([3, 2]))
            .input(random_tensor([3, 2]))
            .input(random_tensor([3, 4]))
            .assert(|t, x| {
                t.attention(columns(&x[0], 0, 2), columns(&x[1], 0, 2), columns(&x[2], 0, 4), &plan)
            });
        // q and v in one matrix, k in another: the two gradients of the shared one are added.
        check().input(random_tensor([3, 4])).input(random_tensor([3, 2])).assert(|t, x| {
            t.attention(columns(&x[0], 0, 2), columns(&x[1], 0, 2), columns(&x[0], 2, 2), &plan)
        });
    }

    #[test]
    fn padding_rows_get_no_gradient_from_masked_weights() {
        let visible: Arc<[bool]> = [true, true, false, true].into();
        for padding in [
            PaddingMask::Keys(visible.clone()),
            PaddingMask::KeysAndQueries { keys: visible.clone(), queries: visible.clone() },
            PaddingMask::Keys([false; 4].into()),
        ] {
            let plan = AttentionPlan { padding, ..plan(1, Causality::Causal, &[4], &[4]) };
            check().input(random_tensor([4, 6])).assert(|t, x| {
                t.attention(columns(&x[0], 0, 2), columns(&x[0], 2, 2), columns(&x[0], 4, 2), &plan)
            });
        }
    }

    /// A padded batch (b, t) and the same sequences packed: the real rows agree.
    #[test]
    fn a_padded_batch_gives_the_rows_of_the_packed_batch() {
        let (lengths, longest, c) = ([5, 2, 7], 7, 2 * 3);
        let packed = random_tensor([14, 3 * c]);
        let place = |sequence: usize, i: usize| lengths[..sequence].iter().sum::<usize>() + i;
        // The content of the padding must not matter.
        let mut padded = Tensor::new([3 * longest, 3 * c], &[7.5; 3 * 7 * 18]);
        let mut visible = vec![false; 3 * longest];
        for (sequence, len) in lengths.iter().enumerate() {
            for i in 0..*len {
                let to = sequence * longest + i;
                padded.data_mut()[to * 3 * c..(to + 1) * 3 * c]
                    .copy_from_slice(packed.row(place(sequence, i)));
                visible[to] = true;
            }
        }
        let visible: Arc<[bool]> = visible.into();
        let params = Params::builder().build(0);
        for causality in [Causality::Full, Causality::Causal] {
            let run = |x: &Tensor, plan: &AttentionPlan| {
                let x = Var::constant(x.clone());
                let mut tape = Tape::inference(&params);
                let z = tape.attention(
                    columns(&x, 0, 3),
                    columns(&x, c, 3),
                    columns(&x, 2 * c, 3),
                    plan,
                );
                z.value().clone()
            };
            let want = run(&packed, &plan(2, causality, &lengths, &lengths));
            for padding in [
                PaddingMask::Keys(visible.clone()),
                PaddingMask::KeysAndQueries { keys: visible.clone(), queries: visible.clone() },
            ] {
                let rectangle = plan(2, causality, &[longest; 3], &[longest; 3]);
                let got = run(&padded, &AttentionPlan { padding, ..rectangle });
                for (sequence, len) in lengths.iter().enumerate() {
                    for i in 0..*len {
                        let (got, want) =
                            (got.row(sequence * longest + i), want.row(place(sequence, i)));
                        let largest = want.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
                        assert!(
                            got.iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-5 * largest),
                            "{got:?} {want:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn rows_outside_all_sequences_have_zero_outputs_and_zero_gradients() {
        let apart: Arc<[Span]> = [Span { start: 1, len: 2 }].into();
        let plan = AttentionPlan {
            q_spans: apart.clone(),
            k_spans: apart,
            ..plan(1, Causality::Full, &[], &[])
        };
        check().input(random_tensor([4, 6])).assert(|t, x| {
            let z = t.attention(
                columns(&x[0], 0, 2),
                columns(&x[0], 2, 2),
                columns(&x[0], 4, 2),
                &plan,
            );
            assert!(z.value().row(0) == [0.0; 2] && z.value().row(3) == [0.0; 2]);
            z
        });
    }
}
