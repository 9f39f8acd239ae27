//! The elementwise part of one time step of a recurrent cell, between the matrix products.
//!
//! Shapes of one row: gates (g·h), g = 1, 3 or 4; everything else (h). The equations are in the
//! module above.

use super::Cell;
use crate::kernels::activation::sigmoid;
use crate::simd::{tanh, vectorized};
use crate::team::{self, Parts};

/// Inputs and outputs of one step: a active rows each, by rank.
pub struct StepForward<'a> {
    /// In: x·W_ihᵀ + b_ih. Out: the gates after their activations. (a, g·h).
    pub gates: &'a mut [f32],
    /// The recurrent part, h·W_hhᵀ + b_hh: (a, g·h).
    pub from_state: &'a [f32],
    /// GRU only, out: the recurrent part of the candidate before the reset gate, for the backward
    /// pass: (a, h).
    pub candidate: &'a mut [f32],
    /// In and out: h, (a, h).
    pub state: &'a mut [f32],
    /// LSTM only, in and out: c, (a, h).
    pub cell_state: &'a mut [f32],
    /// Out: the new h, (a, h).
    pub y: &'a mut [f32],
}

/// One step of all active sequences.
pub fn step_forward(cell: Cell, h: usize, step: StepForward) {
    let g = cell.gates() * h;
    let (a, rows) = (step.y.len() / h.max(1), team::rows_per_task(g));
    let StepForward { gates, from_state, candidate, state, cell_state, y } = step;
    let [gates, candidate, state, cell_state, y] =
        [gates, candidate, state, cell_state, y].map(Parts::new);
    team::run(a.div_ceil(rows), |task| {
        for i in task * rows..a.min((task + 1) * rows) {
            let from_state = &from_state[i * g..][..g];
            // SAFETY: row i of each belongs to this task alone.
            let (gates, state, y) =
                unsafe { (gates.part(i * g, g), state.part(i * h, h), y.part(i * h, h)) };
            match cell {
                Cell::Tanh => tanh_row_forward(gates, from_state, state),
                Cell::Gru => {
                    // SAFETY: as above.
                    let candidate = unsafe { candidate.part(i * h, h) };
                    gru_row_forward(gates, from_state, candidate, state);
                }
                Cell::Lstm => {
                    // SAFETY: as above.
                    let cell_state = unsafe { cell_state.part(i * h, h) };
                    lstm_row_forward(gates, from_state, state, cell_state);
                }
            }
            y.copy_from_slice(state);
        }
    });
}

vectorized! {
    fn tanh_row_forward(gates: &mut [f32], from_state: &[f32], state: &mut [f32]) {
        for ((gate, from_state), state) in gates.iter_mut().zip(from_state).zip(state) {
            *gate = tanh(*gate + from_state);
            *state = *gate;
        }
    }
}

vectorized! {
    fn gru_row_forward(
        gates: &mut [f32],
        from_state: &[f32],
        candidate: &mut [f32],
        state: &mut [f32],
    ) {
        let h = state.len();
        let [r, z, n] = parts_mut::<3>(gates, h);
        let [from_r, from_z, from_n] = parts::<3>(from_state, h);
        let candidate = &mut candidate[..h];
        for j in 0..h {
            r[j] = sigmoid(r[j] + from_r[j]);
            z[j] = sigmoid(z[j] + from_z[j]);
            candidate[j] = from_n[j];
            n[j] = tanh(n[j] + r[j] * from_n[j]);
            state[j] = n[j] + z[j] * (state[j] - n[j]);
        }
    }
}

vectorized! {
    fn lstm_row_forward(
        gates: &mut [f32],
        from_state: &[f32],
        state: &mut [f32],
        cell_state: &mut [f32],
    ) {
        let h = state.len();
        let [i, f, g, o] = parts_mut::<4>(gates, h);
        let [from_i, from_f, from_g, from_o] = parts::<4>(from_state, h);
        let cell_state = &mut cell_state[..h];
        for j in 0..h {
            i[j] = sigmoid(i[j] + from_i[j]);
            f[j] = sigmoid(f[j] + from_f[j]);
            g[j] = tanh(g[j] + from_g[j]);
            o[j] = sigmoid(o[j] + from_o[j]);
            cell_state[j] = f[j] * cell_state[j] + i[j] * g[j];
            state[j] = o[j] * tanh(cell_state[j]);
        }
    }
}

/// Inputs and outputs of the backward pass of one step: a active rows each, by rank.
pub struct StepBackward<'a> {
    /// In: the gates from the forward step. Out: the gradient by x·W_ihᵀ + b_ih. (a, g·h).
    pub gates: &'a mut [f32],
    /// GRU only, out: the gradient by h·W_hhᵀ + b_hh, which differs in the candidate: (a, g·h).
    pub by_state: &'a mut [f32],
    /// GRU only: from the forward step, (a, h).
    pub candidate: &'a [f32],
    /// GRU only: h before the step, (a, h).
    pub previous: &'a [f32],
    /// LSTM only: c before the step, (a, h).
    pub cell_state: &'a [f32],
    /// The gradient by the step's output, (a, h).
    pub dy: &'a [f32],
    /// In: the gradient by the new h from later steps. Out: the gradient by the previous h, without
    /// the part through h·W_hhᵀ. (a, h).
    pub dstate: &'a mut [f32],
    /// LSTM only: in, the gradient by the new c; out, by the previous c. (a, h).
    pub dcell_state: &'a mut [f32],
}

/// The backward pass of one step of all active sequences.
pub fn step_backward(cell: Cell, h: usize, step: StepBackward) {
    let g = cell.gates() * h;
    let (a, rows) = (step.dy.len() / h.max(1), team::rows_per_task(g));
    let StepBackward { gates, by_state, candidate, previous, cell_state, dy, dstate, dcell_state } =
        step;
    let [gates, by_state, dstate, dcell_state] =
        [gates, by_state, dstate, dcell_state].map(Parts::new);
    team::run(a.div_ceil(rows), |task| {
        for i in task * rows..a.min((task + 1) * rows) {
            let h_range = i * h..(i + 1) * h;
            let dy = &dy[h_range.clone()];
            // SAFETY: row i of each belongs to this task alone.
            let (gates, dstate) = unsafe { (gates.part(i * g, g), dstate.part(i * h, h)) };
            match cell {
                Cell::Tanh => tanh_row_backward(gates, dy, dstate),
                Cell::Gru => {
                    // SAFETY: as above.
                    let by_state = unsafe { by_state.part(i * g, g) };
                    gru_row_backward(
                        gates,
                        by_state,
                        &candidate[h_range.clone()],
                        &previous[h_range],
                        dy,
                        dstate,
                    );
                }
                Cell::Lstm => {
                    // SAFETY: as above.
                    let dcell_state = unsafe { dcell_state.part(i * h, h) };
                    lstm_row_backward(gates, &cell_state[h_range], dy, dstate, dcell_state);
                }
            }
        }
    });
}

vectorized! {
    fn tanh_row_backward(gates: &mut [f32], dy: &[f32], dstate: &[f32]) {
        for ((gate, dy), dstate) in gates.iter_mut().zip(dy).zip(dstate) {
            // Forward: h' = tanh(u). So du = dh'·(1 − h'²).
            *gate = (dy + dstate) * (1.0 - *gate * *gate);
        }
    }
}

vectorized! {
    fn gru_row_backward(
        gates: &mut [f32],
        by_state: &mut [f32],
        candidate: &[f32],
        previous: &[f32],
        dy: &[f32],
        dstate: &mut [f32],
    ) {
        let h = dstate.len();
        let [r, z, n] = parts_mut::<3>(gates, h);
        let [by_r, by_z, by_n] = parts_mut::<3>(by_state, h);
        let (candidate, previous, dy) = (&candidate[..h], &previous[..h], &dy[..h]);
        for j in 0..h {
            let dh = dy[j] + dstate[j];
            // Forward: h' = n + z·(h − n). So dn = dh'·(1 − z), dz = dh'·(h − n), and h gets dh'·z.
            let (reset, update, new) = (r[j], z[j], n[j]);
            let dz = dh * (previous[j] - new) * update * (1.0 - update);
            dstate[j] = dh * update;
            // Forward: n = tanh(x_n + r·m), m = h·W_hnᵀ + b_hn. So dr = du·m and dm = du·r.
            let du = dh * (1.0 - update) * (1.0 - new * new);
            let dr = du * candidate[j] * reset * (1.0 - reset);
            (r[j], z[j], n[j]) = (dr, dz, du);
            (by_r[j], by_z[j], by_n[j]) = (dr, dz, du * reset);
        }
    }
}

vectorized! {
    fn lstm_row_backward(
        gates: &mut [f32],
        cell_state: &[f32],
        dy: &[f32],
        dstate: &[f32],
        dcell_state: &mut [f32],
    ) {
        let h = dcell_state.len();
        let [i, f, g, o] = parts_mut::<4>(gates, h);
        let (cell_state, dy, dstate) = (&cell_state[..h], &dy[..h], &dstate[..h]);
        for j in 0..h {
            let dh = dy[j] + dstate[j];
            let (input, forget, new, output) = (i[j], f[j], g[j], o[j]);
            // The same operations as in the forward pass, so the same bits.
            let after = tanh(forget * cell_state[j] + input * new);
            // Forward: h' = o·tanh c'. So do = dh'·tanh c' and dc' += dh'·o·(1 − tanh² c').
            let dc = dcell_state[j] + dh * output * (1.0 - after * after);
            // Forward: c' = f·c + i·g. So df = dc'·c, di = dc'·g, dg = dc'·i and dc = dc'·f.
            i[j] = dc * new * input * (1.0 - input);
            f[j] = dc * cell_state[j] * forget * (1.0 - forget);
            g[j] = dc * input * (1.0 - new * new);
            o[j] = dh * after * output * (1.0 - output);
            dcell_state[j] = dc * forget;
        }
    }
}

/// The gates of a row, h elements each.
#[inline(always)]
fn parts<const G: usize>(row: &[f32], h: usize) -> [&[f32]; G] {
    std::array::from_fn(|g| &row[g * h..][..h])
}

/// The gates of a row, mutable.
#[inline(always)]
fn parts_mut<const G: usize>(row: &mut [f32], h: usize) -> [&mut [f32]; G] {
    let mut rest = row;
    std::array::from_fn(|_| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(h);
        rest = after;
        part
    })
}
