//! Recurrent cells and additive attention on small matrices, by the kernels that training uses.

use super::Matrix;
use limpid_tensor::kernels::additive::{AttendedSource, additive_forward};
use limpid_tensor::kernels::attention::Span;
use limpid_tensor::kernels::recurrent::{
    Cell, StepBackward, StepForward, TimeOrder, step_backward, step_forward,
};

/// The weights of a recurrent cell, gates stacked as PyTorch stacks them: r, z, n and i, f, g, o.
pub struct RecurrentWeights {
    /// Which cell.
    pub cell: Cell,
    /// (g·h, i).
    pub w_x: Matrix,
    /// (g·h, h).
    pub w_h: Matrix,
    /// (g·h), added to the input's term.
    pub bias: Vec<f32>,
}

/// The state of a recurrent cell.
#[derive(Clone)]
pub struct RecurrentState {
    /// The hidden state, (h).
    pub h: Vec<f32>,
    /// The cell state of an LSTM, (h).
    pub c: Vec<f32>,
}

impl RecurrentState {
    /// The state before the first token.
    pub fn zeros(h: usize) -> Self {
        Self { h: vec![0.0; h], c: vec![0.0; h] }
    }
}

impl RecurrentWeights {
    /// One time step: the new state, and the gates after their activations.
    pub fn step(&self, x: &[f32], state: &RecurrentState) -> (RecurrentState, Vec<f32>) {
        let h = self.w_h.cols;
        let mut next = state.clone();
        let mut gates = Matrix::row_of(x).times_transposed(&self.w_x).plus_row(&self.bias).data;
        let from_state = Matrix::row_of(&state.h).times_transposed(&self.w_h).data;
        let (mut candidate, mut y) = (vec![0.0; h], vec![0.0; h]);
        let step = StepForward {
            gates: &mut gates,
            from_state: &from_state,
            candidate: if self.cell == Cell::Gru { &mut candidate } else { &mut [] },
            state: &mut next.h,
            cell_state: if self.cell == Cell::Lstm { &mut next.c } else { &mut [] },
            y: &mut y,
        };
        step_forward(self.cell, h, step);
        (next, gates)
    }
}

/// The gradient by the state before a step of a tanh cell, given its gates and the gradient by the
/// state after it.
pub fn gradient_by_state(weights: &RecurrentWeights, gates: &[f32], gradient: &[f32]) -> Vec<f32> {
    let h = weights.w_h.cols;
    let (mut gates, mut dstate) = (gates.to_vec(), gradient.to_vec());
    let step = StepBackward {
        gates: &mut gates,
        by_state: &mut [],
        candidate: &[],
        previous: &[],
        cell_state: &[],
        dy: &vec![0.0; h],
        dstate: &mut dstate,
        dcell_state: &mut [],
    };
    step_backward(weights.cell, h, step);
    Matrix::row_of(&gates).times(&weights.w_h).data
}

/// Additive attention of one query over keys and values.
pub struct AdditiveOutput {
    /// (1, s).
    pub weights: Matrix,
    /// The context vector, (1, m).
    pub z: Matrix,
}

/// softmax(v·tanh(query + key_j))·values, by the kernel that recurrent decoders use.
pub fn additive_attention(
    query: &[f32],
    keys: &Matrix,
    values: &Matrix,
    v: &[f32],
) -> AdditiveOutput {
    let spans = [Span { start: 0, len: keys.rows }];
    let order = TimeOrder::new(&[Span { start: 0, len: 1 }]);
    let (mut weights, mut z) =
        (Matrix::filled(1, keys.rows, 0.0), Matrix::filled(1, values.cols, 0.0));
    let source = AttendedSource {
        keys: &keys.data,
        values: &values.data,
        v,
        spans: &spans,
        order: &order,
        width: values.cols,
        longest: keys.rows,
    };
    additive_forward(&mut z.data, &mut weights.data, query, source);
    AdditiveOutput { weights, z }
}
