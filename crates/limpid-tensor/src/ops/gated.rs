//! The gate of a gated feed-forward network on the tape.

use crate::kernels::activation::Activation;
use crate::kernels::gated::{gated_backward, gated_forward};
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// φ(g)·u, where x = (g, u) side by side: (n, 2f) -> (n, f).
    ///
    /// # Panics
    /// If x has an odd number of columns.
    #[track_caller]
    pub fn gated(&mut self, x: &Var, phi: Activation) -> Var {
        let (n, width) = x.rows_cols();
        assert!(width.is_multiple_of(2), "gated: x {} has an odd number of columns", x.shape());
        let f = width / 2;
        let mut y = Tensor::uninit([n, f]);
        gated_forward(y.data_mut(), x.data(), f, phi);
        self.trace(&[&y], || Operation::Gated { x: x.value().clone(), phi });
        let x = x.clone();
        self.record("gated", y, move |dy, pass| {
            let mut dx = Tensor::uninit([n, width]);
            gated_backward(dx.data_mut(), dy.data(), x.data(), f, phi);
            pass.add_gradient(x.id(), dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::Params;

    #[test]
    fn gradients_agree_with_central_differences_for_every_activation() {
        for phi in Activation::ALL {
            for (n, f) in [(1, 1), (3, 5), (9, 17)] {
                // Off the kinks of ReLU at 0.
                let mut x = random_tensor([n, 2 * f]);
                x.data_mut().iter_mut().for_each(|x| *x += 0.06 * x.signum());
                GradCheck::new(Params::builder().build(0))
                    .input(x)
                    .assert(|t, x| t.gated(&x[0], phi));
            }
        }
    }
}
