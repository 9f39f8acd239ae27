//! A recurrent layer on the tape: tanh, GRU or LSTM over packed sequences in the order of time.
//!
//! Shapes: x (n, i) by time, y (n, h) by time; states (b, h) by sequence, before the first step and after the last. The equations
//! are in [`crate::kernels::recurrent`].
//! Saved for the backward pass: x, the gates, h before each step, and c (LSTM) or the state's share of the candidate (GRU).

use super::linear::add_bias;
use crate::kernels::elementwise::column_sums;
use crate::kernels::matmul::{Accumulate, Mat, MatMut, PackedRight, Right, product_on_team};
use crate::kernels::recurrent::{Cell, Direction, Kept, TimeOrder, recurrent_backward, recurrent_forward};
use crate::params::ParamId;
use crate::tape::{Sweep, Tape, Var, VarId};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The parameters of one layer and direction, stacked by gates as PyTorch stacks them.
#[derive(Clone, Copy, Debug)]
pub struct RecurrentWeights {
    /// What they are for.
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

/// h, and for an LSTM c: (b, h) each, by sequence.
#[derive(Clone, Debug)]
pub struct State {
    /// What a layer says.
    pub h: Var,
    /// What an LSTM keeps to itself.
    pub c: Option<Var>,
}

impl State {
    /// Zeros, where a sequence begins.
    pub fn zeros(cell: Cell, sequences: usize, h: usize) -> Self {
        let zeros = || Var::constant(Tensor::zeros([sequences, h]));
        Self { h: zeros(), c: cell.has_memory().then(zeros) }
    }
}

impl Tape<'_> {
    /// Runs a layer over all sequences, in one direction: what it says at each token (n, h) by time, and its last state.
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
        initial: &State,
    ) -> (Var, State) {
        let (w_ih, w_hh) = (self.param_shape(weights.w_ih), self.param_shape(weights.w_hh));
        let cell = weights.cell;
        let (n, h, b, g) = (order.tokens(), w_hh.dim(1), order.sequences().len(), w_hh.dim(0));
        assert!(
            x.rows_cols() == (n, w_ih.dim(1)) && w_ih.dim(0) == g && g == cell.gates() * h,
            "recurrent: x {}, W_ih {w_ih} and W_hh {w_hh} of a {cell:?} layer, {n} tokens",
            x.shape()
        );
        check_state(initial, cell, b, h);
        let mut kept = Memory::new(cell, n, h);
        let (bias, i) = (self.param(weights.b_ih), w_ih.dim(1));
        product_on_team(
            MatMut::new(kept.gates.data_mut(), n, g),
            Mat::new(x.data(), n, i),
            Mat::new(self.param(weights.w_ih), g, i).t(),
            Accumulate::Overwrite,
            |_, first, part| add_bias(part, &bias[first..]),
        );
        let mut y = Tensor::uninit([n, h]);
        let [mut state, mut memory] = initial_by_rank(initial, order, h);
        let mut room = Tensor::uninit([b, g]);
        let mut panels = room_for_panels(order, h, g);
        recurrent_forward(
            y.data_mut(),
            kept.parts(),
            state.data_mut(),
            memory.data_mut(),
            room.data_mut(),
            right(&mut panels, Mat::new(self.param(weights.w_hh), g, h).t()),
            self.param(weights.b_hh),
            (cell, h),
            (order, direction),
        );
        let [last_h, last_c] = [&state, &memory].map(|ranked| by_sequence(ranked, order, h));
        let (x, order) = (x.clone(), order.clone());
        let initial = (initial.h.id(), initial.c.as_ref().and_then(Var::id));
        let [y, h, c] = self.record_many("recurrent", [y, last_h, last_c], move |[dy, dh, dc], sweep| {
            let gradients = Incoming { dy, dh, dc };
            backward(gradients, x, weights, (&order, direction), kept, initial, sweep);
        });
        (y, State { h, c: cell.has_memory().then_some(c) })
    }
}

/// The gradients that have gathered at the outputs.
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
    mut kept: Memory,
    initial: (Option<VarId>, Option<VarId>),
    sweep: &mut Sweep,
) {
    let (cell, (n, h)) = (weights.cell, kept.previous.rows_cols());
    let (i, g) = (x.rows_cols().1, cell.gates() * h);
    let dy = incoming.dy.unwrap_or_else(|| Tensor::zeros([n, h]));
    let [mut dstate, mut dmemory] = last_by_rank(cell, incoming.dh, incoming.dc, order, h);
    let mut by_state = Tensor::uninit([if cell == Cell::Gru { n } else { 0 }, g]);
    let mut panels = room_for_panels(order, g, h);
    recurrent_backward(
        kept.parts(),
        by_state.data_mut(),
        dstate.data_mut(),
        dmemory.data_mut(),
        dy.data(),
        right(&mut panels, Mat::new(sweep.param(weights.w_hh), g, h)),
        (cell, h),
        (order, direction),
    );
    drop((dy, panels));
    give_recurrent(weights, &kept, &by_state, (n, g, h), sweep);
    // Forward: z = x·W_ihᵀ + b_ih. So dW_ih = dzᵀ·x and dx = dz·W_ih.
    let dz = Mat::new(kept.gates.data(), n, g);
    let (dw, accumulate) = sweep.slot(weights.w_ih);
    product_on_team(MatMut::new(dw, g, i), dz.t(), Mat::new(x.data(), n, i), accumulate, |_, _, _| {});
    if sweep.wants(x.id()) {
        let mut dx = Tensor::uninit([n, i]);
        let w = Mat::new(sweep.param(weights.w_ih), g, i);
        product_on_team(MatMut::new(dx.data_mut(), n, i), dz, w, Accumulate::Overwrite, |_, _, _| {});
        sweep.give(x.id(), dx);
    }
    give_initial(cell, initial, (&dstate, &dmemory), order, h, sweep);
}

/// What the way back needs of all steps.
pub(super) struct Memory {
    pub(super) gates: Tensor,
    pub(super) previous: Tensor,
    memories: Tensor,
    candidates: Tensor,
}

impl Memory {
    pub(super) fn new(cell: Cell, n: usize, h: usize) -> Self {
        let only = |used: bool| Tensor::uninit([if used { n } else { 0 }, h]);
        Self {
            gates: Tensor::uninit([n, cell.gates() * h]),
            previous: Tensor::uninit([n, h]),
            memories: only(cell == Cell::Lstm),
            candidates: only(cell == Cell::Gru),
        }
    }

    pub(super) fn parts(&mut self) -> Kept<'_> {
        Kept {
            gates: self.gates.data_mut(),
            previous: self.previous.data_mut(),
            memories: self.memories.data_mut(),
            candidates: self.candidates.data_mut(),
        }
    }
}

/// Room for the panels of a right factor (k, n) if more than one step uses them; none if not.
pub(super) fn room_for_panels(order: &TimeOrder, k: usize, n: usize) -> Tensor {
    Tensor::uninit([if order.steps() > 1 { PackedRight::room(k, n) } else { 0 }])
}

/// A right factor for all steps: packed if there is room.
pub(super) fn right<'a>(panels: &'a mut Tensor, b: Mat<'a>) -> Right<'a> {
    match panels.shape().len() {
        0 => Right::Plain(b),
        _ => Right::Packed(PackedRight::new(panels.data_mut(), b)),
    }
}

#[track_caller]
pub(super) fn check_state(state: &State, cell: Cell, b: usize, h: usize) {
    let fits = |x: &Var| x.rows_cols() == (b, h);
    assert!(
        fits(&state.h) && state.c.is_some() == cell.has_memory() && state.c.as_ref().is_none_or(fits),
        "recurrent: a state {} of a {cell:?} layer of {b} sequences and width {h}",
        state.h.shape()
    );
}

/// h and c (nothing, where there is none) in the order of ranks.
pub(super) fn initial_by_rank(state: &State, order: &TimeOrder, h: usize) -> [Tensor; 2] {
    [Some(&state.h), state.c.as_ref()].map(|x| by_rank(x.map(Var::value), order, h))
}

/// The gradients by the last states in the order of ranks, 0 where none came.
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
    [or_zeros(dh), if cell.has_memory() { or_zeros(dc) } else { Tensor::zeros([0, h]) }]
}

fn by_rank(x: Option<&Tensor>, order: &TimeOrder, h: usize) -> Tensor {
    let Some(x) = x else { return Tensor::zeros([0, h]) };
    let mut ranked = Tensor::uninit(x.shape());
    order.by_rank(ranked.data_mut(), x.data(), h);
    ranked
}

/// The same in the order of sequences.
pub(super) fn by_sequence(ranked: &Tensor, order: &TimeOrder, h: usize) -> Tensor {
    let mut states = Tensor::uninit(ranked.shape());
    order.by_sequence(states.data_mut(), ranked.data(), h);
    states
}

/// Gives the gradients of W_hh and of both biases. `kept.gates` and `by_state` hold those by the gates.
pub(super) fn give_recurrent(
    weights: RecurrentWeights,
    kept: &Memory,
    by_state: &Tensor,
    (n, g, h): (usize, usize, usize),
    sweep: &mut Sweep,
) {
    // Forward: z = h·W_hhᵀ + b_hh. So dW_hh = Σ_t dzᵀ·h and db_hh = Σ dz: one product and one sum for all steps.
    let dz = if weights.cell == Cell::Gru { by_state.data() } else { kept.gates.data() };
    let (dw, accumulate) = sweep.slot(weights.w_hh);
    let previous = Mat::new(kept.previous.data(), n, h);
    product_on_team(MatMut::new(dw, g, h), Mat::new(dz, n, g).t(), previous, accumulate, |_, _, _| {});
    let (db, accumulate) = sweep.slot(weights.b_hh);
    column_sums(db, dz, accumulate);
    let (db, accumulate) = sweep.slot(weights.b_ih);
    column_sums(db, kept.gates.data(), accumulate);
}

/// Gives the gradients of the states before the first step.
pub(super) fn give_initial(
    cell: Cell,
    (h_id, c_id): (Option<VarId>, Option<VarId>),
    (dstate, dmemory): (&Tensor, &Tensor),
    order: &TimeOrder,
    h: usize,
    sweep: &mut Sweep,
) {
    if sweep.wants(h_id) {
        sweep.give(h_id, by_sequence(dstate, order, h));
    }
    if cell.has_memory() && sweep.wants(c_id) {
        sweep.give(c_id, by_sequence(dmemory, order, h));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, ramp};
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

    fn state(cell: Cell, inputs: &[Var]) -> State {
        State { h: inputs[0].clone(), c: cell.has_memory().then(|| inputs[1].clone()) }
    }

    /// y, the last h and (LSTM) the last c all have a share in what is differentiated.
    fn outputs_and_states(t: &mut Tape, y: &Var, last: &State) -> Var {
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
                    let check = GradCheck::new(builder.build(11)).input(ramp([n, 3]));
                    let b = lengths.len();
                    check.input(ramp([b, 4])).input(ramp([b, 4])).assert(|t, x| {
                        let (y, last) = t.recurrent(&x[0], w, direction, &order, &state(cell, &x[1..]));
                        outputs_and_states(t, &y, &last)
                    });
                }
            }
        }
    }

    #[test]
    fn two_layers_and_both_directions_of_one_input_add_their_gradients_up() {
        let order = order(&[3, 1, 2]);
        for cell in CELLS {
            let mut builder = Params::builder();
            let w = weights(&mut builder, cell, 4, 4);
            GradCheck::new(builder.build(2)).input(ramp([6, 4])).assert(|t, x| {
                let zeros = State::zeros(cell, 3, 4);
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
            let run = |x: &Tensor, initial: &State, lengths: &[usize]| {
                let mut tape = Tape::inference(&params);
                tape.recurrent(&Var::constant(x.clone()), w, Direction::Forward, &order(lengths), initial)
            };
            let (x, h) = (ramp([2, 3]), ramp([2, 17]));
            let initial = |rows: &[usize]| {
                let pick = || rows.iter().flat_map(|r| h.row(*r).to_vec()).collect::<Vec<_>>();
                let var = || Var::constant(Tensor::new([rows.len(), 17], &pick()));
                State { h: var(), c: cell.has_memory().then(var) }
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
    #[should_panic(expected = "recurrent: x (2,5), W_ih (12,3) and W_hh (12,4) of a Gru layer, 2 tokens")]
    fn shapes_that_do_not_fit_panic_and_name_them() {
        let mut builder = Params::builder();
        let w = weights(&mut builder, Cell::Gru, 3, 4);
        let params = builder.build(0);
        let x = Var::constant(Tensor::zeros([2, 5]));
        let zeros = State::zeros(Cell::Gru, 1, 4);
        Tape::inference(&params).recurrent(&x, w, Direction::Forward, &order(&[2]), &zeros);
    }
}
