//! A recurrent layer over packed sequences, forward and backward through time.
//!
//! ```text
//! tanh   h' = tanh(x·W_ihᵀ + b_ih + h·W_hhᵀ + b_hh)
//! GRU    r, z = σ(x·W_i{r,z}ᵀ + b_i{r,z} + h·W_h{r,z}ᵀ + b_h{r,z})
//!        n  = tanh(x·W_inᵀ + b_in + r·(h·W_hnᵀ + b_hn))
//!        h' = (1 − z)·n + z·h
//! LSTM   i, f, o = σ(x·W_i{i,f,o}ᵀ + … + h·W_h{i,f,o}ᵀ + …)
//!        g  = tanh(x·W_igᵀ + b_ig + h·W_hgᵀ + b_hg)
//!        c' = f·c + i·g,   h' = o·tanh(c')
//! ```
//!
//! References: Elman 1990; Cho et al. 2014 (in cuDNN's form); Hochreiter and Schmidhuber 1997, with
//! the forget gate of Gers et al. 2000.
//!
//! Shapes: x (n, i) in time-major order ([`TimeOrder`]), W_ih (g·h, i), W_hh (g·h, h), biases
//! (g·h), y (n, h); states (b, h) by rank. Gates are stacked as in PyTorch: r, z, n and i, f, g, o.
//!
//! # How
//! x·W_ihᵀ of all steps is one product before the first step; the gradients of the weights are
//! products after the last. Only h·W_hhᵀ depends on the previous step: (active, h)·(h, g·h), with
//! the weights packed once for all steps. Saved for the backward pass: the gates, h before each
//! step, and c (LSTM) or the recurrent part of n (GRU).

mod cell;
mod order;

pub use cell::{StepBackward, StepForward, step_backward, step_forward};
pub use order::TimeOrder;

use super::matmul::{Accumulate, Mat, MatMut};
use super::right_operand::RightOperand;
use crate::simd::vectorized;

/// The recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// One tanh layer (Elman 1990); PyTorch's `RNN`.
    Tanh,
    /// Gated recurrent unit.
    Gru,
    /// Long short-term memory.
    Lstm,
}

impl Cell {
    /// g: the number of gates, stacked in the weights as rows of h each.
    pub fn gates(self) -> usize {
        match self {
            Cell::Tanh => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// Whether it has a cell state c beside its hidden state h.
    pub fn has_cell_state(self) -> bool {
        self == Cell::Lstm
    }

    /// Whether the product dz·W_hh is the whole gradient by the previous h, or is added to the part
    /// that the cell itself passes on (GRU: dh'·z).
    pub(crate) fn state_gradient(self) -> Accumulate {
        match self {
            Cell::Gru => Accumulate::Add,
            Cell::Tanh | Cell::Lstm => Accumulate::Overwrite,
        }
    }
}

/// The direction in which a layer processes a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first token to the last.
    Forward,
    /// From the last token to the first.
    Backward,
}

impl Direction {
    /// The k-th step of `steps` in this direction.
    pub(crate) fn step(self, k: usize, steps: usize) -> usize {
        match self {
            Direction::Forward => k,
            Direction::Backward => steps - 1 - k,
        }
    }
}

/// What the backward pass needs of all steps, by time. Slices that a cell does not use are empty.
pub struct SavedSteps<'a> {
    /// Gates (n, g·h); before a step its rows hold x·W_ihᵀ + b_ih.
    pub gates: &'a mut [f32],
    /// h before each step, (n, h).
    pub previous: &'a mut [f32],
    /// LSTM: c before each step, (n, h).
    pub cell_states: &'a mut [f32],
    /// GRU: h·W_hnᵀ + b_hn, (n, h).
    pub candidates: &'a mut [f32],
}

/// All steps. `state` and `cell_state` hold h and c by rank: on entry before the first step, on
/// return after the last. `scratch` is (b, g·h).
pub fn recurrent_forward(
    y: &mut [f32],
    saved: SavedSteps,
    state: &mut [f32],
    cell_state: &mut [f32],
    scratch: &mut [f32],
    w_hh_t: RightOperand,
    b_hh: &[f32],
    (cell, h): (Cell, usize),
    (order, direction): (&TimeOrder, Direction),
) {
    let g = cell.gates() * h;
    for k in 0..order.steps() {
        let rows = order.step(direction.step(k, order.steps()));
        let (a, h_range) = (rows.len(), rows.start * h..rows.end * h);
        let previous = &mut saved.previous[h_range.clone()];
        previous.copy_from_slice(&state[..a * h]);
        recurrent_share(&mut scratch[..a * g], previous, w_hh_t, b_hh, h);
        let mut cell_states = &mut saved.cell_states[..0];
        let mut candidate = &mut saved.candidates[..0];
        match cell {
            Cell::Tanh => {}
            Cell::Gru => candidate = &mut saved.candidates[h_range.clone()],
            Cell::Lstm => cell_states = &mut saved.cell_states[h_range.clone()],
        }
        let cell_state = &mut cell_state[..cell_states.len()];
        cell_states.copy_from_slice(cell_state);
        let step = StepForward {
            gates: &mut saved.gates[rows.start * g..rows.end * g],
            from_state: &scratch[..a * g],
            candidate,
            state: &mut state[..a * h],
            cell_state,
            y: &mut y[h_range],
        };
        step_forward(cell, h, step);
    }
}

/// The recurrent part of the gates, h·W_hhᵀ + b_hh, of the active sequences.
pub(crate) fn recurrent_share(
    to: &mut [f32],
    previous: &[f32],
    w_hh_t: RightOperand,
    b_hh: &[f32],
    h: usize,
) {
    let (a, g) = (previous.len() / h, b_hh.len());
    vectorized! {
        fn add(to: &mut [f32], bias: &[f32]) {
            to.iter_mut().zip(bias).for_each(|(to, bias)| *to += bias);
        }
    }
    w_hh_t.product_on_team(
        MatMut::new(to, a, g),
        Mat::new(previous, a, h),
        Accumulate::Overwrite,
        |_, first, part| add(part, &b_hh[first..]),
    );
}

/// All steps in reverse. On entry: `saved` from the forward pass, and the gradients by the last h
/// and c in `dstate` and `dcell_state`, by rank. On return: `saved.gates` holds the gradient by
/// x·W_ihᵀ + b_ih; `by_state` (GRU only; the same for the other cells) the gradient by
/// h·W_hhᵀ + b_hh; `dstate` and `dcell_state` the gradients by the initial h and c.
pub fn recurrent_backward(
    saved: SavedSteps,
    by_state: &mut [f32],
    dstate: &mut [f32],
    dcell_state: &mut [f32],
    dy: &[f32],
    w_hh: RightOperand,
    (cell, h): (Cell, usize),
    (order, direction): (&TimeOrder, Direction),
) {
    let g = cell.gates() * h;
    for k in (0..order.steps()).rev() {
        let rows = order.step(direction.step(k, order.steps()));
        let (a, h_range, gate_range) =
            (rows.len(), rows.start * h..rows.end * h, rows.start * g..rows.end * g);
        // Tensors that a cell does not have are empty.
        let of =
            |range: &std::ops::Range<usize>, used: bool| if used { range.clone() } else { 0..0 };
        let (gru, lstm) = (cell == Cell::Gru, cell == Cell::Lstm);
        let step = StepBackward {
            gates: &mut saved.gates[gate_range.clone()],
            by_state: &mut by_state[of(&gate_range, gru)],
            candidate: &saved.candidates[of(&h_range, gru)],
            previous: &saved.previous[h_range.clone()],
            cell_state: &saved.cell_states[of(&h_range, lstm)],
            dy: &dy[h_range],
            dstate: &mut dstate[..a * h],
            dcell_state: &mut dcell_state[if lstm { 0..a * h } else { 0..0 }],
        };
        step_backward(cell, h, step);
        let dz = if gru { &by_state[gate_range] } else { &saved.gates[gate_range] };
        // Forward: z = h·W_hhᵀ + b. So dh += dz·W_hh.
        w_hh.product_on_team(
            MatMut::new(&mut dstate[..a * h], a, h),
            Mat::new(dz, a, g),
            cell.state_gradient(),
            |_, _, _| {},
        );
    }
}
