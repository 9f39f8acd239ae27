//! Softmax of each row, on the tape: y = exp(x) / Σ exp(x).

use crate::kernels::matmul::Accumulate;
use crate::kernels::softmax::{softmax_backward, softmax_forward};
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// Softmax of each row of x (n, c). A row of −∞ alone gives zeros.
    ///
    /// # Panics
    /// If x is not a matrix.
    #[track_caller]
    pub fn softmax(&mut self, x: &Var) -> Var {
        let (_, c) = x.rows_cols();
        let mut y = Tensor::uninit(x.shape());
        softmax_forward(y.data_mut(), x.data(), c);
        self.trace(&[&y], || Operation::Softmax { x: x.value().clone() });
        let (x, kept) = (x.id(), y.clone());
        self.record("softmax", y, move |dy, pass| {
            let mut dx = Tensor::uninit(dy.shape());
            softmax_backward(dx.data_mut(), dy.data(), kept.data(), c, Accumulate::Overwrite);
            pass.add_gradient(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::Params;

    #[test]
    fn the_gradient_agrees_with_central_differences() {
        for (n, c) in [(1, 2), (3, 5), (2, 33)] {
            GradCheck::new(Params::builder().build(0))
                .input(random_tensor([n, c]))
                .assert(|t, x| t.softmax(&x[0]));
        }
    }
}
