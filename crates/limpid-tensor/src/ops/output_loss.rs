//! The output layer fused with a loss: L = weight · Σ_rows loss(x·Wᵀ + b, target), cross-entropy
//! with one target per row, or squared error or binary cross-entropy with one per logit.
//!
//! Shapes: `x` (n, c), `w` (v, c), `b` (v). The logits (n, v) are never stored
//! as a whole: a chunk of rows at a time is computed, replaced by its gradient and consumed.
//!
//! The gradient is computed in the forward pass, while the logits are in memory: the backward pass
//! would have to recompute them, a third more work in the largest product of the model. This is
//! possible because the backward pass starts at the loss, with dL = 1; scale a loss by `weight`,
//! not by operations after it.

use super::linear::add_bias;
use crate::kernels::cross_entropy::{Gradient, cross_entropy};
use crate::kernels::elementwise::column_sums;
use crate::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use crate::kernels::value_loss::{ValueLoss, value_loss};
use crate::params::ParamId;
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;
use std::ops::Range;

/// Number of logits computed at a time: 32 MB, which still shares the cache with the weights.
const LOGITS_AT_A_TIME: usize = 8 << 20;

/// Label smoothing and reduction of a cross-entropy loss.
#[derive(Clone, Copy, Debug)]
pub struct LossSpec {
    /// Label smoothing ε in [0, 1).
    pub smoothing: f32,
    /// Factor on the sum over rows: 1 for the sum, 1 / (number of targets) for the mean.
    pub weight: f32,
}

impl Tape<'_> {
    /// weight · Σ cross-entropy of the rows of x·Wᵀ + b against `targets` (those that are not
    /// [`IGNORE`](crate::kernels::cross_entropy::IGNORE)).
    ///
    /// # Panics
    /// If shapes do not fit, or (in the backward pass) if the result was scaled.
    #[track_caller]
    pub fn output_loss(
        &mut self,
        x: &Var,
        w: ParamId,
        b: Option<ParamId>,
        targets: &[u32],
        spec: LossSpec,
    ) -> Var {
        self.check_loss(x, w, targets.len());
        self.fused_loss(x, w, b, spec.weight, |losses, logits, rows, gradient| {
            let targets = &targets[rows];
            cross_entropy(losses, logits, targets, spec.smoothing, spec.weight, gradient);
        })
    }

    /// weight · Σ losses of the rows of x·Wᵀ + b, (n, k), against `targets` (n, k), row by row.
    ///
    /// # Panics
    /// If shapes do not fit, or (in the backward pass) if the result was scaled.
    #[track_caller]
    pub fn output_value_loss(
        &mut self,
        x: &Var,
        w: ParamId,
        b: Option<ParamId>,
        targets: &[f32],
        loss: ValueLoss,
        weight: f32,
    ) -> Var {
        let k = self.param_shape(w).dim(0);
        self.check_loss(x, w, targets.len() / k.max(1));
        self.fused_loss(x, w, b, weight, |losses, logits, rows, gradient| {
            let targets = &targets[rows.start * k..rows.end * k];
            value_loss(losses, logits, targets, loss, weight, gradient);
        })
    }

    #[track_caller]
    fn check_loss(&self, x: &Var, w: ParamId, targets: usize) {
        let ((n, c), w_shape) = (x.rows_cols(), self.param_shape(w));
        assert!(
            w_shape.rank() == 2 && w_shape.dim(1) == c && targets == n,
            "output loss: x {} and {targets} targets do not fit W {w_shape} (vocabulary, width)",
            x.shape(),
        );
    }

    /// weight · Σ of what `row_losses` makes of the logits: it writes the loss of each row of a
    /// range, and replaces its logits by their gradient times the weight.
    fn fused_loss(
        &mut self,
        x: &Var,
        w: ParamId,
        b: Option<ParamId>,
        weight: f32,
        row_losses: impl Fn(&mut [f32], &mut [f32], Range<usize>, Gradient),
    ) -> Var {
        let ((n, c), v) = (x.rows_cols(), self.param_shape(w).dim(0));
        let (weights, bias) = (self.weight(w), b.map_or(&[][..], |b| self.param(b)));
        let recording = self.is_recording();
        let gradient = if recording { Gradient::Compute } else { Gradient::Skip };

        let rows = (LOGITS_AT_A_TIME / v.max(1)).clamp(1, n.max(1));
        let mut logits = Tensor::uninit([rows.min(n), v]);
        let mut losses = Tensor::uninit([n]);
        let mut dx = Tensor::uninit([if recording { n } else { 0 }, c]);
        for first in (0..n).step_by(rows) {
            let count = rows.min(n - first);
            let x_chunk = Mat::new(&x.data()[first * c..], count, c);
            let logits = &mut logits.data_mut()[..count * v];
            weights.product_on_team(
                MatMut::new(logits, count, v),
                x_chunk,
                Accumulate::Overwrite,
                |_, first, part| {
                    if !bias.is_empty() {
                        add_bias(part, &bias[first..]);
                    }
                },
            );
            let rows = first..first + count;
            row_losses(&mut losses.data_mut()[rows.clone()], logits, rows, gradient);
            if recording {
                // Forward: z = x·Wᵀ + b, and logits is now dz. So db = Σ_rows dz, dW = dzᵀ·x, dx =
                // dz·W.
                if let Some((db, accumulate)) = b.and_then(|b| self.slot(b)) {
                    column_sums(db, logits, accumulate);
                }
                let dz = Mat::new(logits, count, v);
                if let Some((dw, accumulate)) = self.slot(w) {
                    product_on_team(
                        MatMut::new(dw, v, c),
                        dz.t(),
                        x_chunk,
                        accumulate,
                        |_, _, _| {},
                    );
                }
                let dx = MatMut::new(&mut dx.data_mut()[first * c..], count, c);
                product_on_team(
                    dx,
                    dz,
                    Mat::new(self.param(w), v, c),
                    Accumulate::Overwrite,
                    |_, _, _| {},
                );
            }
        }
        let total: f64 = losses.data().iter().map(|loss| f64::from(*loss)).sum();
        let loss = Tensor::scalar((f64::from(weight) * total) as f32);
        let x = x.id();
        self.record("output_loss", loss, move |dy, pass| {
            assert!(
                dy.item() == 1.0,
                "output loss: scale it with `weight`, not with operations after it"
            );
            pass.add_gradient(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::cross_entropy::IGNORE;
    use crate::params::{Init, Params};

    #[test]
    fn every_gradient_agrees_with_central_differences() {
        for (n, c, v) in [(1, 1, 2), (5, 3, 7), (4, 6, 33)] {
            for smoothing in [0.0, 0.1] {
                let mut builder = Params::builder();
                let w = builder.add("w", [v, c], Init::Normal(0.7));
                let b = builder.add("b", [v], Init::Normal(0.7));
                let targets: Vec<u32> =
                    (0..n).map(|i| if i == 1 { IGNORE } else { (i * 3 % v) as u32 }).collect();
                let spec = LossSpec { smoothing, weight: 0.37 };
                GradCheck::new(builder.build(4))
                    .input(random_tensor([n, c]))
                    .assert(|t, x| t.output_loss(&x[0], w, Some(b), &targets, spec));
            }
        }
    }

    #[test]
    fn gradients_of_losses_against_values_agree_with_central_differences() {
        for loss in [ValueLoss::SquaredError, ValueLoss::BinaryCrossEntropy] {
            for (n, c, k) in [(1, 1, 1), (5, 3, 1), (4, 6, 7)] {
                let mut builder = Params::builder();
                let w = builder.add("w", [k, c], Init::Normal(0.7));
                let b = builder.add("b", [k], Init::Normal(0.7));
                let targets: Vec<f32> = (0..n * k).map(|i| (i * 5 % 3) as f32 / 2.0).collect();
                GradCheck::new(builder.build(4))
                    .input(random_tensor([n, c]))
                    .assert(|t, x| t.output_value_loss(&x[0], w, Some(b), &targets, loss, 0.37));
            }
        }
    }

    #[test]
    fn chunks_of_rows_give_the_same_loss_as_one() {
        // v is large enough that two rows do not fit into one chunk.
        let v = LOGITS_AT_A_TIME / 2 + 1;
        let mut builder = Params::builder();
        let w = builder.add("w", [v, 1], Init::Zeros);
        let params = builder.build(0);
        let x = Var::constant(Tensor::new([3, 1], &[1.0, 2.0, 3.0]));
        let loss = Tape::inference(&params).output_loss(
            &x,
            w,
            None,
            &[0, 1, 2],
            LossSpec { smoothing: 0.0, weight: 1.0 / 3.0 },
        );
        // All logits are 0: the loss is ln v.
        assert!((loss.data()[0] - (v as f32).ln()).abs() < 1e-4);
    }

    #[test]
    fn a_fixed_bias_is_added_but_gets_no_gradient() {
        let mut builder = Params::builder();
        let w = builder.add("w", [4, 3], Init::Normal(0.5));
        let b = builder.add_fixed("b", [4], Init::Normal(1.0));
        let params = builder.build(4);
        let mut gradients = crate::tape::Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(random_tensor([2, 3]));
        let spec = LossSpec { smoothing: 0.0, weight: 1.0 };
        let with = tape.output_loss(&x, w, Some(b), &[0, 1], spec);
        tape.backward(&with);
        assert!(gradients.get(&params, b).is_none() && gradients.get(&params, w).is_some());
        let without = Tape::inference(&params).output_loss(&x, w, None, &[0, 1], spec);
        assert_ne!(with.data(), without.data());
    }
}
