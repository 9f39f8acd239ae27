//! A recurrent decoder layer with additive attention before each step, as Bahdanau, Cho and Bengio
//! (2015) define it.
//!
//! ```text
//! q_i = W·s_{i−1}                                    (k)      the query, from the previous state
//! α_i = softmax_j(vᵀ·tanh(q_i + u_j)),  u_j = U·h_j           over the tokens of the source
//! c_i = Σ_j α_ij·h_j                                 (m)      the context
//! s_i = cell([x_i | c_i], s_{i−1})                   (h)      W_ih is (g·h, i + m)
//! ```
//!
//! Shapes: x (n, i) and the two outputs, y (n, h) and c (n, m), by time; keys (n_source, k) and
//! values (n_source, m) by rows of the source; states (b, h) by sequence. The query is the previous
//! state, so everything but x·W_ihᵀ and the gradients of the weights is computed step by step.
//! Saved for the backward pass: x, keys, values, queries, weights α, contexts, and what every
//! recurrent layer saves.

use super::linear::add_bias;
use super::recurrent::{
    RecurrentState, RecurrentWeights, SavedTensors, add_initial_gradients, add_recurrent_gradients,
    by_sequence, check_state, initial_by_rank, last_by_rank, panel_buffer, right_operand,
};
use crate::kernels::additive::{
    AttendedSource, additive_backward, additive_forward, additive_values_backward,
};
use crate::kernels::attention::Span;
use crate::kernels::elementwise::column_sums;
use crate::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use crate::kernels::recurrent::{
    Cell, Direction, StepBackward, StepForward, TimeOrder, recurrent_share, step_backward,
    step_forward,
};
use crate::kernels::right_operand::RightOperand;
use crate::params::ParamId;
use crate::tape::{BackwardPass, Tape, TracedAdditive, Var, VarId};
use crate::team::{self, Parts};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::Arc;

/// Keys and values of the source sequences.
#[derive(Clone, Debug)]
pub struct SourceStates {
    /// U·h_j, (n_source, k).
    pub keys: Var,
    /// h_j, (n_source, m).
    pub values: Var,
    /// The rows of each sequence.
    pub spans: Arc<[Span]>,
}

impl SourceStates {
    fn attended<'a>(
        &'a self,
        v: &'a [f32],
        order: &'a TimeOrder,
        longest: usize,
    ) -> AttendedSource<'a> {
        AttendedSource {
            keys: self.keys.data(),
            values: self.values.data(),
            v,
            spans: &self.spans,
            order,
            width: self.values.rows_cols().1,
            longest,
        }
    }
}

/// The parameters of the additive score.
#[derive(Clone, Copy, Debug)]
pub struct AdditiveWeights {
    /// W, (k, h).
    pub query: ParamId,
    /// v, (1, k).
    pub v: ParamId,
}

/// Dimensions, by their letters.
#[derive(Clone, Copy)]
struct Sizes {
    n: usize,
    i: usize,
    h: usize,
    g: usize,
    k: usize,
    m: usize,
    /// The longest source.
    s: usize,
}

impl Tape<'_> {
    /// Runs a decoder layer over all sequences: its outputs (n, h) and contexts (n, m), by time,
    /// and its last state.
    ///
    /// A probe that wants `weights` gets those of the first sequence, (1, t, s).
    ///
    /// # Panics
    /// If the shapes of x, the weights, the source, the order and the state do not fit.
    #[track_caller]
    pub fn recurrent_with_attention(
        &mut self,
        x: &Var,
        weights: RecurrentWeights,
        additive: AdditiveWeights,
        source: &SourceStates,
        order: &Arc<TimeOrder>,
        initial: &RecurrentState,
    ) -> (Var, Var, RecurrentState) {
        let cell = weights.cell;
        let sizes = self.sizes(x, weights, additive, source, order);
        let Sizes { n, i, h, g, k, m, s } = sizes;
        let b = order.sequences().len();
        check_state(initial, cell, b, h);
        let mut steps = SavedTensors::new(cell, n, h);
        let (bias, w_ih) = (self.param(weights.b_ih), self.param(weights.w_ih));
        product_on_team(
            MatMut::new(steps.gates.data_mut(), n, g),
            Mat::new(x.data(), n, i),
            Mat::with_stride(w_ih, g, i, i + m).t(),
            Accumulate::Overwrite,
            |_, first, part| add_bias(part, &bias[first..]),
        );
        let mut y = Tensor::uninit([n, h]);
        let mut contexts = Tensor::uninit([n, m]);
        let mut queries = Tensor::uninit([n, k]);
        let mut alphas = Tensor::uninit([n, s]);
        let [mut state, mut cell_state] = initial_by_rank(initial, order, h);
        let mut scratch = Tensor::uninit([b, g]);
        let mut panels = [(h, k), (m, g), (h, g)].map(|(k, n)| panel_buffer(order, k, n));
        let [for_q, for_c, for_h] = &mut panels;
        let w_q = right_operand(for_q, self.weight(additive.query));
        let w_c = Mat::with_stride(&w_ih[i..], g, m, i + m).t();
        let w_c = right_operand(for_c, RightOperand::Plain(w_c));
        let w_h = right_operand(for_h, self.weight(weights.w_hh));
        let (b_hh, v) = (self.param(weights.b_hh), self.param(additive.v));
        for t in 0..order.steps() {
            let rows = order.step(t);
            let (a, of) = (rows.len(), |width: usize| rows.start * width..rows.end * width);
            let parts = steps.parts();
            let previous = &mut parts.previous[of(h)];
            previous.copy_from_slice(&state.data()[..a * h]);
            let q = &mut queries.data_mut()[of(k)];
            w_q.product_on_team(
                MatMut::new(q, a, k),
                Mat::new(previous, a, h),
                Accumulate::Overwrite,
                |_, _, _| {},
            );
            let attended = source.attended(v, order, s);
            additive_forward(
                &mut contexts.data_mut()[of(m)],
                &mut alphas.data_mut()[of(s)],
                q,
                attended,
            );
            let gates = &mut parts.gates[of(g)];
            let c = Mat::new(&contexts.data()[of(m)], a, m);
            w_c.product_on_team(MatMut::new(gates, a, g), c, Accumulate::Add, |_, _, _| {});
            let from_state = &mut scratch.data_mut()[..a * g];
            recurrent_share(from_state, previous, w_h, b_hh, h);
            let (gru, lstm) = (cell == Cell::Gru, cell == Cell::Lstm);
            let cell_state = &mut cell_state.data_mut()[if lstm { 0..a * h } else { 0..0 }];
            parts.cell_states[only(of(h), lstm)].copy_from_slice(cell_state);
            let step = StepForward {
                gates,
                from_state,
                candidate: &mut parts.candidates[only(of(h), gru)],
                state: &mut state.data_mut()[..a * h],
                cell_state,
                y: &mut y.data_mut()[of(h)],
            };
            step_forward(cell, h, step);
        }
        drop(panels);
        self.show("weights", || first_weights(&alphas, source, order));
        let [last_h, last_c] = [&state, &cell_state].map(|ranked| by_sequence(ranked, order, h));
        let saved = Saved {
            x: x.clone(),
            source: source.clone(),
            order: order.clone(),
            steps,
            contexts: contexts.clone(),
            queries,
            alphas,
        };
        let before = initial;
        let initial = (initial.h.id(), initial.c.as_ref().and_then(Var::id));
        let outputs = [y, contexts, last_h, last_c];
        self.trace(&outputs.each_ref(), || {
            let attention = TracedAdditive {
                weights: additive,
                keys: source.keys.value().clone(),
                values: source.values.value().clone(),
                spans: source.spans.clone(),
                queries: saved.queries.clone(),
                alphas: saved.alphas.clone(),
                contexts: saved.contexts.clone(),
            };
            let order = (order, Direction::Forward);
            let (steps, x) = (&saved.steps, &saved.x);
            steps.traced(x, weights, order, before, Some(attention))
        });
        let [y, contexts, h, c] =
            self.record_many("recurrent_attention", outputs, move |incoming, pass| {
                backward(incoming, saved, sizes, (weights, additive), initial, pass);
            });
        (y, contexts, RecurrentState { h, c: cell.has_cell_state().then_some(c) })
    }

    #[track_caller]
    fn sizes(
        &self,
        x: &Var,
        weights: RecurrentWeights,
        additive: AdditiveWeights,
        source: &SourceStates,
        order: &TimeOrder,
    ) -> Sizes {
        let [w_ih, w_hh, w_q] =
            [weights.w_ih, weights.w_hh, additive.query].map(|id| self.param_shape(id));
        let ((n, i), (tokens, m), (key_rows, k)) =
            (x.rows_cols(), source.values.rows_cols(), source.keys.rows_cols());
        let (g, h) = (w_hh.dim(0), w_hh.dim(1));
        assert!(
            (n, tokens) == (order.tokens(), key_rows)
                && (w_ih.dim(0), w_ih.dim(1)) == (g, i + m)
                && g == weights.cell.gates() * h
                && (w_q.dim(0), w_q.dim(1)) == (k, h)
                && self.param(additive.v).len() == k
                && source.spans.len() == order.sequences().len(),
            "recurrent with attention: x {}, keys {}, values {}, W_ih {w_ih}, W_hh {w_hh}, \
             W {w_q} of a {:?} layer, {} tokens",
            x.shape(),
            source.keys.shape(),
            source.values.shape(),
            weights.cell,
            order.tokens()
        );
        let s = source.spans.iter().map(|span| span.len).max().unwrap_or(0);
        Sizes { n, i, h, g, k, m, s }
    }
}

/// The range, or an empty one for a tensor that the cell does not have.
fn only(range: Range<usize>, used: bool) -> Range<usize> {
    if used { range } else { 0..0 }
}

/// The rows by time of the sequence with this rank.
fn rows_of(order: &TimeOrder, rank: usize) -> impl Iterator<Item = usize> {
    (0..order.steps())
        .map(|t| order.step(t))
        .take_while(move |rows| rank < rows.len())
        .map(move |rows| rows.start + rank)
}

/// The weights of the first sequence, (1, t, s).
fn first_weights(alphas: &Tensor, source: &SourceStates, order: &TimeOrder) -> Tensor {
    let Some(rank) = order.sequences().iter().position(|s| *s == 0) else {
        return Tensor::zeros([1, 0, 0]);
    };
    let s = source.spans[0].len;
    let rows: Vec<f32> =
        rows_of(order, rank).flat_map(|row| alphas.row(row)[..s].to_vec()).collect();
    Tensor::new([1, rows.len() / s.max(1), s], &rows)
}

/// Saved for the backward pass.
struct Saved {
    x: Var,
    source: SourceStates,
    order: Arc<TimeOrder>,
    steps: SavedTensors,
    contexts: Tensor,
    queries: Tensor,
    alphas: Tensor,
}

fn backward(
    [dy, dcontexts, dh, dc]: [Option<Tensor>; 4],
    mut saved: Saved,
    sizes: Sizes,
    (weights, additive): (RecurrentWeights, AdditiveWeights),
    initial: (Option<VarId>, Option<VarId>),
    pass: &mut BackwardPass,
) {
    let Sizes { n, i, h, g, k, m, s } = sizes;
    let (cell, order, source) = (weights.cell, &*saved.order, &saved.source);
    let (gru, lstm) = (cell == Cell::Gru, cell == Cell::Lstm);
    let dy = dy.unwrap_or_else(|| Tensor::zeros([n, h]));
    // The gradient by the contexts as outputs; the steps add the gradient through the cells.
    let mut dcontexts = dcontexts.unwrap_or_else(|| Tensor::zeros([n, m]));
    if dcontexts.try_data_mut().is_none() {
        dcontexts = Tensor::new(dcontexts.shape(), dcontexts.data());
    }
    let [mut dstate, mut dcell_state] = last_by_rank(cell, dh, dc, order, h);
    let mut by_state = Tensor::uninit([if gru { n } else { 0 }, g]);
    let mut dqueries = Tensor::uninit([n, k]);
    let mut dkeys = Tensor::zeros([source.keys.rows_cols().0, k]);
    let mut dv = Tensor::zeros([order.sequences().len(), k]);
    let mut scratch = Tensor::uninit([order.sequences().len(), s]);
    let mut panels = [(k, h), (g, m), (g, h)].map(|(k, n)| panel_buffer(order, k, n));
    let (w_ih, v) = (pass.param(weights.w_ih), pass.param(additive.v));
    let [for_q, for_c, for_h] = &mut panels;
    let w_q = right_operand(for_q, RightOperand::Plain(Mat::new(pass.param(additive.query), k, h)));
    let w_c = right_operand(for_c, RightOperand::Plain(Mat::with_stride(&w_ih[i..], g, m, i + m)));
    let w_h = right_operand(for_h, RightOperand::Plain(Mat::new(pass.param(weights.w_hh), g, h)));
    for t in (0..order.steps()).rev() {
        let rows = order.step(t);
        let (a, of) = (rows.len(), |width: usize| rows.start * width..rows.end * width);
        let steps = saved.steps.parts();
        let step = StepBackward {
            gates: &mut steps.gates[of(g)],
            by_state: &mut by_state.data_mut()[only(of(g), gru)],
            candidate: &steps.candidates[only(of(h), gru)],
            previous: &steps.previous[of(h)],
            cell_state: &steps.cell_states[only(of(h), lstm)],
            dy: &dy.data()[of(h)],
            dstate: &mut dstate.data_mut()[..a * h],
            dcell_state: &mut dcell_state.data_mut()[only(0..a * h, lstm)],
        };
        step_backward(cell, h, step);
        let by_input = Mat::new(&steps.gates[of(g)], a, g);
        // Forward: z = x·W_xᵀ + c·W_cᵀ + … So dc += dz·W_c.
        let dc = &mut dcontexts.data_mut()[of(m)];
        w_c.product_on_team(MatMut::new(dc, a, m), by_input, Accumulate::Add, |_, _, _| {});
        let dq = &mut dqueries.data_mut()[of(k)];
        additive_backward(
            dq,
            dkeys.data_mut(),
            &mut dv.data_mut()[..a * k],
            &mut scratch.data_mut()[..a * s],
            dc,
            &saved.alphas.data()[of(s)],
            &saved.queries.data()[of(k)],
            source.attended(v, order, s),
        );
        // Forward: h feeds z = h·W_hhᵀ + b and q = h·Wᵀ. So dh += dz·W_hh + dq·W.
        let dz = if gru { Mat::new(&by_state.data()[of(g)], a, g) } else { by_input };
        let dstate = &mut dstate.data_mut()[..a * h];
        w_h.product_on_team(MatMut::new(dstate, a, h), dz, cell.state_gradient(), |_, _, _| {});
        w_q.product_on_team(
            MatMut::new(dstate, a, h),
            Mat::new(dq, a, k),
            Accumulate::Add,
            |_, _, _| {},
        );
    }
    drop((dy, panels, scratch));
    add_recurrent_gradients(weights, &saved.steps, &by_state, (n, g, h), pass);
    if let Some((dw, accumulate)) = pass.slot(additive.query) {
        let previous = Mat::new(saved.steps.previous.data(), n, h);
        let dq = Mat::new(dqueries.data(), n, k);
        product_on_team(MatMut::new(dw, k, h), dq.t(), previous, accumulate, |_, _, _| {});
    }
    if let Some((slot, accumulate)) = pass.slot(additive.v) {
        column_sums(slot, dv.data(), accumulate);
    }
    // Forward: z = [x | c]·W_ihᵀ + b_ih. So dW_ih = [dzᵀ·x | dzᵀ·c] and dx = dz·W_x.
    let dz = Mat::new(saved.steps.gates.data(), n, g);
    if let Some((dw, accumulate)) = pass.slot(weights.w_ih) {
        let (x, c) = (Mat::new(saved.x.data(), n, i), Mat::new(saved.contexts.data(), n, m));
        for (first, cols, input) in [(0, i, x), (i, m, c)] {
            let dw = MatMut::with_stride(&mut dw[first..], g, cols, i + m);
            product_on_team(dw, dz.t(), input, accumulate, |_, _, _| {});
        }
    }
    if pass.needs_gradient(saved.x.id()) {
        let mut dx = Tensor::uninit([n, i]);
        let w = Mat::with_stride(w_ih, g, i, i + m);
        product_on_team(
            MatMut::new(dx.data_mut(), n, i),
            dz,
            w,
            Accumulate::Overwrite,
            |_, _, _| {},
        );
        pass.add_gradient(saved.x.id(), dx);
    }
    pass.add_gradient(source.keys.id(), dkeys);
    if pass.needs_gradient(source.values.id()) {
        pass.add_gradient(source.values.id(), values_gradient(&saved, &dcontexts, (s, m)));
    }
    add_initial_gradients(cell, initial, (&dstate, &dcell_state), order, h, pass);
}

/// dh_j of all source tokens: one task per sequence.
fn values_gradient(saved: &Saved, dcontexts: &Tensor, (s, m): (usize, usize)) -> Tensor {
    let (source, order) = (&saved.source, &*saved.order);
    source.attended(&[], order, s).check_apart();
    // Rows outside all sequences have gradient 0.
    let mut dvalues = Tensor::zeros(source.values.shape());
    let parts = Parts::new(dvalues.data_mut());
    team::run(order.sequences().len(), |rank| {
        let span = source.spans[order.sequences()[rank] as usize];
        // SAFETY: a rank is one sequence, and no other sequence has its tokens (`check_apart`).
        let dvalues = unsafe { parts.part(span.start * m, span.len * m) };
        let rows = rows_of(order, rank);
        additive_values_backward(dvalues, saved.alphas.data(), dcontexts.data(), rows, (s, m));
    });
    dvalues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::activation::Activation;
    use crate::params::{Init, Params};

    fn spans(lengths: &[usize]) -> Arc<[Span]> {
        let mut start = 0;
        let span = |len: &usize| {
            start += len;
            Span { start: start - len, len: *len }
        };
        lengths.iter().map(span).collect()
    }

    #[test]
    fn every_gradient_agrees_with_central_differences_for_every_cell() {
        for cell in [Cell::Tanh, Cell::Gru, Cell::Lstm] {
            for (targets, sources) in
                [(&[2, 3, 1][..], &[1, 2, 4][..]), (&[1], &[3]), (&[2, 0], &[2, 2])]
            {
                let order = Arc::new(TimeOrder::new(&spans(targets)));
                let (i, h, k, m) = (2, 3, 4, 5);
                let (g, n) = (cell.gates() * h, order.tokens());
                let mut b = Params::builder();
                let weights = RecurrentWeights {
                    cell,
                    w_ih: b.add("w_ih", [g, i + m], Init::Normal(0.5)),
                    w_hh: b.add("w_hh", [g, h], Init::Normal(0.5)),
                    b_ih: b.add("b_ih", [g], Init::Normal(0.3)),
                    b_hh: b.add("b_hh", [g], Init::Normal(0.3)),
                };
                let additive = AdditiveWeights {
                    query: b.add("query", [k, h], Init::Normal(0.7)),
                    v: b.add("v", [1, k], Init::Normal(0.9)),
                };
                let u = b.add("u", [k, m], Init::Normal(0.7));
                let check = GradCheck::new(b.build(3)).input(random_tensor([n, i]));
                let states = [targets.len(), h];
                let check = check
                    .input(random_tensor([sources.iter().sum(), m]))
                    .input(random_tensor(states))
                    .input(random_tensor(states));
                check.assert(|t, x| {
                    let keys = t.linear(&x[1], u, None, Activation::None);
                    let source = SourceStates { keys, values: x[1].clone(), spans: spans(sources) };
                    let initial = RecurrentState {
                        h: x[2].clone(),
                        c: cell.has_cell_state().then(|| x[3].clone()),
                    };
                    let (y, contexts, last) = t.recurrent_with_attention(
                        &x[0], weights, additive, &source, &order, &initial,
                    );
                    let spread: Arc<[u32]> = (0..n).map(|i| (i % targets.len()) as u32).collect();
                    let [h, c] = [Some(&last.h), last.c.as_ref()]
                        .map(|x| x.map_or_else(|| y.clone(), |x| t.rows(x, &spread)));
                    let both = t.add(&h, &c);
                    t.concat(&[&y, &contexts, &both])
                });
            }
        }
    }

    #[test]
    #[should_panic(
        expected = "recurrent with attention: x (2,2), keys (3,4), values (3,5), W_ih (3,6)"
    )]
    fn shapes_that_do_not_fit_panic_and_name_them() {
        let mut b = Params::builder();
        let mut add = |name: &str, shape: [usize; 2]| b.add(name, shape, Init::Zeros);
        let (w_ih, w_hh) = (add("w_ih", [3, 6]), add("w_hh", [3, 3]));
        let (b_ih, b_hh) = (add("b_ih", [3, 1]), add("b_hh", [3, 1]));
        let additive = AdditiveWeights { query: add("q", [4, 3]), v: add("v", [1, 4]) };
        let params = b.build(0);
        let constant = |shape: [usize; 2]| Var::constant(Tensor::zeros(shape));
        let source =
            SourceStates { keys: constant([3, 4]), values: constant([3, 5]), spans: spans(&[3]) };
        Tape::inference(&params).recurrent_with_attention(
            &constant([2, 2]),
            RecurrentWeights { cell: Cell::Tanh, w_ih, w_hh, b_ih, b_hh },
            additive,
            &source,
            &Arc::new(TimeOrder::new(&spans(&[2]))),
            &RecurrentState::zeros(Cell::Tanh, 1, 3),
        );
    }
}
