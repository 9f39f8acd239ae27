//! Σ weights · x: a scalar loss for gradient checks and examples.

use crate::kernels::elementwise::scale_forward;
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// Σ weightsᵢ · xᵢ, whose gradient by x is `weights`.
    ///
    /// # Panics
    /// If the shapes differ.
    #[track_caller]
    pub fn weighted_sum(&mut self, x: &Var, weights: &Tensor) -> Var {
        assert_eq!(
            x.shape(),
            weights.shape(),
            "weighted sum: {} and weights {}",
            x.shape(),
            weights.shape()
        );
        let total: f64 =
            x.data().iter().zip(weights.data()).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
        let (x, weights) = (x.id(), weights.clone());
        self.record("weighted_sum", Tensor::scalar(total as f32), move |dy, pass| {
            // Forward: y = Σ w·x. So dx = dy·w.
            let mut dx = Tensor::uninit(weights.shape());
            scale_forward(dx.data_mut(), weights.data(), dy.item());
            pass.add_gradient(x, dx);
        })
    }
}
