//! Softmax of each row, on the tape: y = exp(x) / Σ exp(x).

use crate::kernels::matmul::Accumulate;
use crate::kernels::softmax::{softmax_backward, softmax_forward};
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// Each row of x (n, c) as probabilities. A row of −∞ alone gives zeros.
    #[track_caller]
    pub fn softmax(&mut self, x: &Var) -> Var {
        let (_, c) = x.rows_cols();
        let mut y = Tensor::uninit(x.shape());
        softmax_forward(y.data_mut(), x.data(), c);
        let (x, kept) = (x.id(), y.clone());
        self.record("softmax", y, move |dy, sweep| {
            let mut dx = Tensor::uninit(dy.shape());
            softmax_backward(dx.data_mut(), dy.data(), kept.data(), c, Accumulate::Overwrite);
            sweep.give(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, ramp};
    use crate::params::Params;

    #[test]
    fn the_gradient_agrees_with_central_differences() {
        for (n, c) in [(1, 2), (3, 5), (2, 33)] {
            GradCheck::new(Params::builder().build(0)).input(ramp([n, c])).assert(|t, x| t.softmax(&x[0]));
        }
    }
}
