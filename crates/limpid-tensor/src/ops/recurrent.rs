//! A recurrent layer on the tape: tanh, GRU or LSTM over packed sequences in time-major order.
//!
//! Shapes: x (n, i) by time, y (n, h) by time; states (b, h) by sequence, before the first step and
//! after the last. The equations are in [`crate::kernels::recurrent`]. Saved for the backward pass:
//! x, the gates, h before each step, and c (LSTM) or the recurrent part of the candidate (GRU).

use super::linear::add_bias;
use crate::kernels::elementwise::column_sums;
use crate::kernels::matmul::{Accumulate, Mat, MatMut, PackedOperand, product_on_team};
use crate::kernels::recurrent::{
    Cell, Direction, SavedSteps, TimeOrder, recurrent_backward, recurrent_forward,
};
use crate::kernels::right_operand::RightOperand;
use crate::params::ParamId;
use crate::tape::{BackwardPass, Operation, Tape, TracedAdditive, TracedRecurrence, Var, VarId};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The parameters of one layer and direction, gates stacked as in PyTorch.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentWeights {
    /// The cell.
    pub cell: Cell,
    /// (g·h, i).
    pub w_ih: ParamId,
    /// (g·h, h).
    pub w_hh: ParamId,
    /// (g·h).
    pub b_ih: ParamId,
    /// (g·h).
    pub b_hh: ParamId,
}

/// Hidden state h, and for an LSTM cell state c: (b, h) each, by sequence.
#[derive(Clone, Debug)]
pub struct RecurrentState {
    /// Hidden state.
    pub h: Var,
    /// Cell state of an LSTM.
    pub c: Option<Var>,
}

impl RecurrentState {
    /// The zero state before the first token.
    pub fn zeros(cell: Cell, sequences: usize, h: usize) -> Self {
        let zeros = || Var::constant(Tensor::zeros([sequences, h]));
        Self { h: zeros(), c: cell.has_cell_state().then(zeros) }
    }
}

impl Tape<'_> {
    /// Runs a layer over all sequences, in one direction: its outputs (n, h) by time, and its last
    /// state.
    ///
    /// # Panics
    /// If the shapes of x, the weights, the order and the state do not fit.
    #[track_caller]
    pub fn recurrent(
        &mut self,
        x: &Var,
        weights: RecurrentWeights,
        direction: Direction,
        order: &Arc<TimeOrder>,
        initial: &RecurrentState,
    ) -> (Var, RecurrentState) {
        let (w_ih, w_hh) = (self.param_shape(weights.w_ih), self.param_shape(weights.w_hh));
        let cell = weights.cell;
        let (n, h, b, g) = (order.tokens(), w_hh.dim(1), order.sequences().len(), w_hh.dim(0));
        assert!(
            x.rows_cols() == (n, w_ih.dim(1)) && w_ih.dim(0) == g && g == cell.gates() * h,
            "recurrent: x {}, W_ih {w_ih} and W_hh {w_hh} of a {cell:?} layer, {n} tokens",
            x.shape()
        );
        check_state(initial, cell, b, h);
        let mut saved = SavedTensors::new(cell, n, h);
        let (bias, i) = (self.param(weights.b_ih), w_ih.dim(1));
        self.weight(weights.w_ih).product_on_team(
            MatMut::new(saved.gates.data_mut(), n, g),
            Mat::new(x.data(), n, i),
            Accumulate::Overwrite,
            |_, first, part| add_bias(part, &bias[first..]),
        );
        let mut y = Tensor::uninit([n, h]);
        let [mut state, mut cell_state] = initial_by_rank(initial, order, h);
        let mut scratch = Tensor::uninit([b, g]);
        let mut panels = panel_buffer(order, h, g);
        recurrent_forward(
            y.data_mut(),
            saved.parts(),
            state.data_mut(),
            cell_state.data_mut(),
            scratch.data_mut(),
            right_operand(&mut panels, self.weight(weights.w_hh)),
            self.param(weights.b_hh),
            (cell, h),
            (order, direction),
        );
        let [last_h, last_c] = [&state, &cell_state].map(|ranked| by_sequence(ranked, order, h));
        self.trace(&[&y, &last_h, &last_c], || {
            saved.traced(x, weights, (order, direction), initial, None)
        });
        let (x, order) = (x.clone(), order.clone());
        let initial = (initial.h.id(), initial.c.as_ref().and_then(Var::id));
        let [y, h, c] =
            self.record_many("recurrent", [y, last_h, last_c], move |[dy, dh, dc], pass| {
                let gradients = Incoming { dy, dh, dc };
                backward(gradients, x, weights, (&order, direction), saved, initial, pass);
            });
        (y, RecurrentState { h, c: cell.has_cell_state().then_some(c) })
    }
}

/// The gradients of the outputs; `None` for an output that was not used.
struct Incoming {
    dy: Option<Tensor>,
    dh: Option<Tensor>,
    dc: Option<Tensor>,
}

fn backward(
    incoming: Incoming,
    x: Var,
    weights: RecurrentWeights,
    (order, direction): (&TimeOrder, Direction),
    mut saved: SavedTensors,
    initial: (Option<VarId>, Option<VarId>),
    pass: &mut BackwardPass,
) {
    let (cell, (n, h)) = (weights.cell, saved.previous.rows_cols());
    let (i, g) = (x.rows_cols().1, cell.gates() * h);
    let dy = incoming.dy.unwrap_or_else(|| Tensor::zeros([n, h]));
    let [mut dstate, mut dcell_state] = last_by_rank(cell, incoming.dh, incoming.dc, order, h);
    let mut by_state = Tensor::uninit([if cell == Cell::Gru { n } else { 0 }, g]);
    let mut panels = panel_buffer(order, g, h);
    recurrent_backward(
        saved.parts(),
        by_state.data_mut(),
        dstate.data_mut(),
        dcell_state.data_mut(),
        dy.data(),
        right_operand(&mut panels, RightOperand::Plain(Mat::new(pass.param(weights.w_hh), g, h))),
        (cell, h),
        (order, direction),
    );
    drop((dy, panels));
    add_recurrent_gradients(weights, &saved, &by_state, (n, g, h), pass);
    // Forward: z = x·W_ihᵀ + b_ih. So dW_ih = dzᵀ·x and dx = dz·W_ih.
    let dz = Mat::new(saved.gates.data(), n, g);
    if let Some((dw, accumulate)) = pass.slot(weights.w_ih) {
        let x_ni = Mat::new(x.data(), n, i);
        product_on_team(MatMut::new(dw, g, i), dz.t(), x_ni, accumulate, |_, _, _| {});
    }
    if pass.needs_gradient(x.id()) {
        let mut dx = Tensor::uninit([n, i]);
        let w = Mat::new(pass.param(weights.w_ih), g, i);
        product_on_team(
            MatMut::new(dx.data_mut(), n, i),
            dz,
            w,
            Accumulate::Overwrite,
            |_, _, _| {},
        );
        pass.add_gradient(x.id(), dx);
    }
    add_initial_gradients(cell, initial, (&dstate, &dcell_state), order, h, pass);
}

/// Saved for the backward pass, of all steps.
pub(super) struct SavedTensors {
    pub(super) gates: Tensor,
    pub(super) previous: Tensor,
    cell_states: Tensor,
    candidates: Tensor,
}

impl SavedTensors {
    pub(super) fn new(cell: Cell, n: usize, h: usize) -> Self {
        let only = |used: bool| Tensor::uninit([if used { n } else { 0 }, h]);
        Self {
            gates: Tensor::uninit([n, cell.gates() * h]),
            previous: Tensor::uninit([n, h]),
            cell_states: only(cell == Cell::Lstm),
            candidates: only(cell == Cell::Gru),
        }
    }

    /// The layer as the trace keeps it.
    pub(super) fn traced(
        &self,
        x: &Var,
        weights: RecurrentWeights,
        (order, direction): (&Arc<TimeOrder>, Direction),
        initial: &RecurrentState,
        attention: Option<TracedAdditive>,
    ) -> Operation {
        Operation::Recurrent(Box::new(TracedRecurrence {
            x: x.value().clone(),
            weights,
            order: order.clone(),
            direction,
            initial: (initial.h.value().clone(), initial.c.as_ref().map(|c| c.value().clone())),
            gates: self.gates.clone(),
            previous: self.previous.clone(),
            cell_states: self.cell_states.clone(),
            attention,
        }))
    }

    pub(super) fn parts(&mut self) -> SavedSteps<'_> {
        SavedSteps {
            gates: self.gates.data_mut(),
            previous: self.previous.data_mut(),
            cell_states: self.cell_states.data_mut(),
            candidates: self.candidates.data_mut(),
        }
    }
}

/// A buffer for the packed panels of a right operand (k, n), empty if only one step uses them.
pub(super) fn panel_buffer(order: &TimeOrder, k: usize, n: usize) -> Tensor {
    Tensor::uninit([if order.steps() > 1 { PackedOperand::packed_len(k, n) } else { 0 }])
}

/// A right operand for all steps: f32 are packed if the buffer is not empty.
pub(super) fn right_operand<'a>(panels: &'a mut Tensor, b: RightOperand<'a>) -> RightOperand<'a> {
    match b {
        RightOperand::Plain(b) if !panels.shape().is_empty() => {
            RightOperand::Packed(PackedOperand::new(panels.data_mut(), b))
        }
        b => b,
    }
}

#[track_caller]
pub(super) fn check_state(state: &RecurrentState, cell: Cell, b: usize, h: usize) {
    let fits = |x: &Var| x.rows_cols() == (b, h);
    assert!(
        fits(&state.h)
            && state.c.is_some() == cell.has_cell_state()
            && state.c.as_ref().is_none_or(fits),
        "recurrent: a state {} of a {cell:?} layer of {b} sequences and width {h}",
        state.h.shape()
    );
}

/// h and c (empty, where there is none) in the order of ranks.
pub(super) fn initial_by_rank(state: &RecurrentState, order: &TimeOrder, h: usize) -> [Tensor; 2] {
    [Some(&state.h), state.c.as_ref()].map(|x| by_rank(x.map(Var::value), order, h))
}

/// The gradients by the last states in the order of ranks, 0 where there is none.
pub(super) fn last_by_rank(
    cell: Cell,
    dh: Option<Tensor>,
    dc: Option<Tensor>,
    order: &TimeOrder,
    h: usize,
) -> [Tensor; 2] {
    let b = order.sequences().len();
    let or_zeros = |d: Option<Tensor>| match d {
        Some(d) => by_rank(Some(&d), order, h),
        None => Tensor::zeros([b, h]),
    };
    [or_zeros(dh), if cell.has_cell_state() { or_zeros(dc) } else { Tensor::zeros([0, h]) }]
}

fn by_rank(x: Option<&Tensor>, order: &TimeOrder, h: usize) -> Tensor {
    let Some(x) = x else { return Tensor::zeros([0, h]) };
    let mut ranked = Tensor::uninit(x.shape());
    order.by_rank(ranked.data_mut(), x.data(), h);
    ranked
}

/// A tensor by rank, in the order of sequences.
pub(super) fn by_sequence(ranked: &Tensor, order: &TimeOrder, h: usize) -> Tensor {
    let mut states = Tensor::uninit(ranked.shape());
    order.by_sequence(states.data_mut(), ranked.data(), h);
    states
}

/// Adds the gradients of W_hh and of both biases, given those by the gates in `saved.gates` and
/// `by_state`.
pub(super) fn add_recurrent_gradients(
    weights: RecurrentWeights,
    saved: &SavedTensors,
    by_state: &Tensor,
    (n, g, h): (usize, usize, usize),
    pass: &mut BackwardPass,
) {
    // Forward: z = h·W_hhᵀ + b_hh. So dW_hh = Σ_t dzᵀ·h and db_hh = Σ dz: one product and one sum
    // for all steps.
    let dz = if weights.cell == Cell::Gru { by_state.data() } else { saved.gates.data() };
    if let Some((dw, accumulate)) = pass.slot(weights.w_hh) {
        let previous = Mat::new(saved.previous.data(), n, h);
        let dz_gn = Mat::new(dz, n, g).t();
        product_on_team(MatMut::new(dw, g, h), dz_gn, previous, accumulate, |_, _, _| {});
    }
    for (bias, dz) in [(weights.b_hh, dz), (weights.b_ih, saved.gates.data())] {
        if let Some((db, accumulate)) = pass.slot(bias) {
            column_sums(db, dz, accumulate);
        }
    }
}

/// Adds the gradients of the states before the first step.
pub(super) fn add_initial_gradients(
    cell: Cell,
    (h_id, c_id): (Option<VarId>, Option<VarId>),
    (dstate, dcell_state): (&Tensor, &Tensor),
    order: &TimeOrder,
    h: usize,
    pass: &mut BackwardPass,
) {
    if pass.needs_gradient(h_id) {
        pass.add_gradient(h_id, by_sequence(dstate, order, h));
    }
    if cell.has_cell_state() && pass.needs_gradient(c_id) {
        pass.add_gradient(c_id, by_sequence(dcell_state, order, h));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::attention::Span;
    use crate::params::{Init, Params, ParamsBuilder};

    const CELLS: [Cell; 3] = [Cell::Tanh, Cell::Gru, Cell::Lstm];

    fn order(lengths: &[usize]) -> Arc<TimeOrder> {
        let mut start = 0;
        let span = |len: &usize| {
            start += len;
            Span { start: start - len, len: *len }
        };
        Arc::new(TimeOrder::new(&lengths.iter().map(span).collect::<Vec<_>>()))
    }

    fn weights(b: &mut ParamsBuilder, cell: Cell, i: usize, h: usize) -> RecurrentWeights {
        let g = cell.gates() * h;
        RecurrentWeights {
            cell,
            w_ih: b.add("w_ih", [g, i], Init::Normal(0.6)),
            w_hh: b.add("w_hh", [g, h], Init::Normal(0.6)),
            b_ih: b.add("b_ih", [g], Init::Normal(0.4)),
            b_hh: b.add("b_hh", [g], Init::Normal(0.4)),
        }
    }

    fn state(cell: Cell, inputs: &[Var]) -> RecurrentState {
        RecurrentState { h: inputs[0].clone(), c: cell.has_cell_state().then(|| inputs[1].clone()) }
    }

    /// A loss that depends on y, on the last h and (LSTM) on the last c.
    fn outputs_and_states(t: &mut Tape, y: &Var, last: &RecurrentState) -> Var {
        let (n, b) = (y.rows_cols().0, last.h.rows_cols().0);
        let spread: Arc<[u32]> = (0..n).map(|i| (i % b) as u32).collect();
        let h = t.rows(&last.h, &spread);
        let sum = t.add(y, &h);
        match &last.c {
            Some(c) => {
                let c = t.rows(c, &spread);
                let c = t.scale(&c, -0.7);
                t.add(&sum, &c)
            }
            None => sum,
        }
    }

    #[test]
    fn every_gradient_agrees_with_central_differences_for_every_cell_and_direction() {
        for cell in CELLS {
            for direction in [Direction::Forward, Direction::Backward] {
                // Unsorted lengths, two equal ones, one token, and none at all.
                for lengths in [&[2, 4, 1, 0, 2][..], &[1], &[3, 3]] {
                    let (order, n) = (order(lengths), lengths.iter().sum());
                    let mut builder = Params::builder();
                    let w = weights(&mut builder, cell, 3, 4);
                    let check = GradCheck::new(builder.build(11)).input(random_tensor([n, 3]));
                    let b = lengths.len();
                    check.input(random_tensor([b, 4])).input(random_tensor([b, 4])).assert(
                        |t, x| {
                            let (y, last) =
                                t.recurrent(&x[0], w, direction, &order, &state(cell, &x[1..]));
                            outputs_and_states(t, &y, &last)
                        },
                    );
                }
            }
        }
    }

    #[test]
    fn gradients_of_two_layers_and_both_directions_of_one_input_are_added() {
        let order = order(&[3, 1, 2]);
        for cell in CELLS {
            let mut builder = Params::builder();
            let w = weights(&mut builder, cell, 4, 4);
            GradCheck::new(builder.build(2)).input(random_tensor([6, 4])).assert(|t, x| {
                let zeros = RecurrentState::zeros(cell, 3, 4);
                let (there, last) = t.recurrent(&x[0], w, Direction::Forward, &order, &zeros);
                // The same weights again, on what they said, from where they stopped.
                t.recurrent(&there, w, Direction::Backward, &order, &last).0
            });
        }
    }

    #[test]
    fn an_empty_sequence_keeps_its_state_and_a_batch_changes_no_sequence() {
        for cell in CELLS {
            let mut builder = Params::builder();
            let w = weights(&mut builder, cell, 3, 17);
            let params = builder.build(5);
            let run = |x: &Tensor, initial: &RecurrentState, lengths: &[usize]| {
                let mut tape = Tape::inference(&params);
                tape.recurrent(
                    &Var::constant(x.clone()),
                    w,
                    Direction::Forward,
                    &order(lengths),
                    initial,
                )
            };
            let (x, h) = (random_tensor([2, 3]), random_tensor([2, 17]));
            let initial = |rows: &[usize]| {
                let pick = || rows.iter().flat_map(|r| h.row(*r).to_vec()).collect::<Vec<_>>();
                let var = || Var::constant(Tensor::new([rows.len(), 17], &pick()));
                RecurrentState { h: var(), c: cell.has_cell_state().then(var) }
            };
            // Sequence 0 has no token, sequence 1 two.
            let (y, last) = run(&x, &initial(&[0, 1]), &[0, 2]);
            assert_eq!(last.h.value().row(0), h.row(0), "{cell:?}");
            assert_eq!(last.h.value().row(1), y.value().row(1), "{cell:?}");
            let (alone, _) = run(&x, &initial(&[1]), &[2]);
            assert_eq!(alone.data(), y.data(), "{cell:?}");
        }
    }

    #[test]
    #[should_panic(
        expected = "recurrent: x (2,5), W_ih (12,3) and W_hh (12,4) of a Gru layer, 2 tokens"
    )]
    fn shapes_that_do_not_fit_panic_and_name_them() {
        let mut builder = Params::builder();
        let w = weights(&mut builder, Cell::Gru, 3, 4);
        let params = builder.build(0);
        let x = Var::constant(Tensor::zeros([2, 5]));
        let zeros = RecurrentState::zeros(Cell::Gru, 1, 4);
        Tape::inference(&params).recurrent(&x, w, Direction::Forward, &order(&[2]), &zeros);
    }
}
