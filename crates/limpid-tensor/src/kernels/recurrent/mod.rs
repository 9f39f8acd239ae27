//! A recurrent layer over packed sequences, forward and backward through time.
//!
//! ```text
//! tanh   h' = tanh(x·W_ihᵀ + b_ih + h·W_hhᵀ + b_hh)
//! GRU    r, z = σ(x·W_i{r,z}ᵀ + b_i{r,z} + h·W_h{r,z}ᵀ + b_h{r,z})        Cho et al. 2014, in cuDNN's form
//!        n  = tanh(x·W_inᵀ + b_in + r·(h·W_hnᵀ + b_hn))
//!        h' = (1 − z)·n + z·h
//! LSTM   i, f, o = σ(x·W_i{i,f,o}ᵀ + … + h·W_h{i,f,o}ᵀ + …)               Hochreiter and Schmidhuber 1997; forget gate: Gers et al. 2000
//!        g  = tanh(x·W_igᵀ + b_ig + h·W_hgᵀ + b_hg)
//!        c' = f·c + i·g,   h' = o·tanh(c')
//! ```
//!
//! Shapes: x (n, i) in the order of time ([`TimeOrder`]), W_ih (g·h, i), W_hh (g·h, h), biases (g·h), y (n, h); states (b, h) by
//! rank. Gates are stacked as PyTorch stacks them: r, z, n and i, f, g, o.
//!
//! # How
//! The input's share of all steps is one product, made before; so are the gradients of the weights, after. Only h·W_hhᵀ has to wait for
//! the step before: (active, h)·(h, g·h), with the weights packed once for all steps. Saved for the backward pass: the gates, h
//! before each step, and c (LSTM) or the state's share of n (GRU).

mod cell;
mod order;

pub use cell::{StepBackward, StepForward, step_backward, step_forward};
pub use order::TimeOrder;

use super::matmul::{Accumulate, Mat, MatMut, Right};
use crate::simd::vectorized;

/// What happens in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// One tanh layer (Elman 1990).
    Tanh,
    /// Gated recurrent unit.
    Gru,
    /// Long short-term memory.
    Lstm,
}

impl Cell {
    /// g: how many rows of h its weights stack.
    pub fn gates(self) -> usize {
        match self {
            Cell::Tanh => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// Whether it carries a memory c beside its state h.
    pub fn has_memory(self) -> bool {
        self == Cell::Lstm
    }

    /// Whether part of the old state passes the step unmultiplied, so that its gradient does, too.
    pub(crate) fn carry(self) -> Accumulate {
        match self {
            Cell::Gru => Accumulate::Add,
            Cell::Tanh | Cell::Lstm => Accumulate::Overwrite,
        }
    }
}

/// Which way a layer reads.
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

/// What the way back needs, of all steps, by time. Parts a cell does not use are empty.
pub struct Kept<'a> {
    /// (n, g·h); before a step its rows hold the input's share.
    pub gates: &'a mut [f32],
    /// h before each step, (n, h).
    pub previous: &'a mut [f32],
    /// LSTM: c before each step, (n, h).
    pub memories: &'a mut [f32],
    /// GRU: the state's share of n, (n, h).
    pub candidates: &'a mut [f32],
}

/// All steps. `state` and `memory` hold h and c by rank, first those before the first step, in the end those after the last; `room` is
/// for one step's (b, g·h).
pub fn recurrent_forward(
    y: &mut [f32],
    kept: Kept,
    state: &mut [f32],
    memory: &mut [f32],
    room: &mut [f32],
    w_hh_t: Right,
    b_hh: &[f32],
    (cell, h): (Cell, usize),
    (order, direction): (&TimeOrder, Direction),
) {
    let g = cell.gates() * h;
    for k in 0..order.steps() {
        let rows = order.step(direction.step(k, order.steps()));
        let (a, one) = (rows.len(), rows.start * h..rows.end * h);
        let previous = &mut kept.previous[one.clone()];
        previous.copy_from_slice(&state[..a * h]);
        state_share(&mut room[..a * g], previous, w_hh_t, b_hh, h);
        let mut memories = &mut kept.memories[..0];
        let mut candidate = &mut kept.candidates[..0];
        match cell {
            Cell::Tanh => {}
            Cell::Gru => candidate = &mut kept.candidates[one.clone()],
            Cell::Lstm => memories = &mut kept.memories[one.clone()],
        }
        let memory = &mut memory[..memories.len()];
        memories.copy_from_slice(memory);
        let step = StepForward {
            gates: &mut kept.gates[rows.start * g..rows.end * g],
            from_state: &room[..a * g],
            candidate,
            state: &mut state[..a * h],
            memory,
            y: &mut y[one],
        };
        step_forward(cell, h, step);
    }
}

/// h·W_hhᵀ + b_hh of the active sequences.
pub(crate) fn state_share(to: &mut [f32], previous: &[f32], w_hh_t: Right, b_hh: &[f32], h: usize) {
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

/// All steps in reverse. In: `kept` as the forward pass left it, and in `dstate` and `dmemory` the gradients by the last h and c, by
/// rank. Out: in `kept.gates` the gradient by x·W_ihᵀ + b_ih, in `by_state` (GRU only) by h·W_hhᵀ + b_hh, where the others' are the
/// same; and in `dstate` and `dmemory` those by the first h and c.
pub fn recurrent_backward(
    kept: Kept,
    by_state: &mut [f32],
    dstate: &mut [f32],
    dmemory: &mut [f32],
    dy: &[f32],
    w_hh: Right,
    (cell, h): (Cell, usize),
    (order, direction): (&TimeOrder, Direction),
) {
    let g = cell.gates() * h;
    for k in (0..order.steps()).rev() {
        let rows = order.step(direction.step(k, order.steps()));
        let (a, one, wide) = (rows.len(), rows.start * h..rows.end * h, rows.start * g..rows.end * g);
        // The part of a tensor that a cell does not have is empty.
        let of = |range: &std::ops::Range<usize>, used: bool| if used { range.clone() } else { 0..0 };
        let (gru, lstm) = (cell == Cell::Gru, cell == Cell::Lstm);
        let step = StepBackward {
            gates: &mut kept.gates[wide.clone()],
            by_state: &mut by_state[of(&wide, gru)],
            candidate: &kept.candidates[of(&one, gru)],
            previous: &kept.previous[one.clone()],
            memory: &kept.memories[of(&one, lstm)],
            dy: &dy[one],
            dstate: &mut dstate[..a * h],
            dmemory: &mut dmemory[if lstm { 0..a * h } else { 0..0 }],
        };
        step_backward(cell, h, step);
        let dz = if gru { &by_state[wide] } else { &kept.gates[wide] };
        // Forward: z = h·W_hhᵀ + b. So dh += dz·W_hh.
        w_hh.product_on_team(
            MatMut::new(&mut dstate[..a * h], a, h),
            Mat::new(dz, a, g),
            cell.carry(),
            |_, _, _| {},
        );
    }
}
