//! Batch normalization on the tape: with the statistics of the batch in training, with running
//! statistics at inference.

use crate::kernels::batch_norm::{batch_norm_backward, batch_norm_forward, batch_norm_inference};
use crate::params::ParamId;
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;

/// The parameters of a batch normalization.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormParams {
    /// γ (c).
    pub gamma: ParamId,
    /// β (c).
    pub beta: ParamId,
    /// Running mean and variance (c), parameters of the role [`crate::params::Role::Statistic`].
    pub running: Option<(ParamId, ParamId)>,
}

impl Tape<'_> {
    /// y = (x − μ)/√(σ² + ε)·γ + β with mean and variance of the columns of x: (n, c) -> (n, c).
    ///
    /// If there are running statistics, the backward pass writes μ and n/(n−1)·σ² (unbiased, as in
    /// PyTorch) to their gradients; the optimizer moves the running statistics towards them.
    ///
    /// # Panics
    /// If x is not (n, c), or γ or β is not (c).
    #[track_caller]
    pub fn batch_norm(&mut self, x: &Var, params: BatchNormParams, eps: f32) -> Var {
        let (n, c) = x.rows_cols();
        let BatchNormParams { gamma, beta, running } = params;
        let mut y = Tensor::uninit([n, c]);
        let (mut mean, mut variance, mut rstd) =
            (Tensor::uninit([c]), Tensor::uninit([c]), Tensor::uninit([c]));
        batch_norm_forward(
            y.data_mut(),
            mean.data_mut(),
            variance.data_mut(),
            rstd.data_mut(),
            x.data(),
            self.param(gamma),
            self.param(beta),
            eps,
        );
        let (value, x) = (x.value().clone(), x.id());
        self.record("batch_norm", y, move |dy, pass| {
            let mut dx = Tensor::uninit([n, c]);
            let mut own = Tensor::uninit([2, c]);
            let (dgamma, dbeta) = own.data_mut().split_at_mut(c);
            batch_norm_backward(
                dx.data_mut(),
                dgamma,
                dbeta,
                dy.data(),
                value.data(),
                mean.data(),
                rstd.data(),
                pass.param(gamma),
            );
            pass.add_param_gradient(gamma, dgamma);
            pass.add_param_gradient(beta, dbeta);
            if let Some((means, variances)) = running {
                let unbiased = n as f32 / (n as f32 - 1.0).max(1.0);
                variance.data_mut().iter_mut().for_each(|variance| *variance *= unbiased);
                pass.add_param_gradient(means, mean.data());
                pass.add_param_gradient(variances, variance.data());
            }
            pass.add_gradient(x, dx);
        })
    }

    /// Batch normalization with the running statistics, for inference: not recorded.
    ///
    /// # Panics
    /// If the tape records, or there are no running statistics.
    #[track_caller]
    pub fn batch_norm_inference(&mut self, x: &Var, params: BatchNormParams, eps: f32) -> Var {
        assert!(
            !self.is_recording(),
            "batch norm: running statistics are for inference, not for training"
        );
        let (mean, variance) = params.running.expect("batch norm: no running statistics");
        let (n, c) = x.rows_cols();
        let mut y = Tensor::uninit([n, c]);
        batch_norm_inference(
            y.data_mut(),
            x.data(),
            self.param(mean),
            self.param(variance),
            self.param(params.gamma),
            self.param(params.beta),
            eps,
        );
        self.trace(&[&y], || Operation::BatchNorm { x: x.value().clone(), params, eps });
        Var::constant(y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::{Init, Params};
    use crate::tape::Gradients;

    #[test]
    fn every_gradient_agrees_with_central_differences() {
        for (n, c) in [(2, 1), (3, 5), (9, 16), (20, 70)] {
            let mut builder = Params::builder();
            let gamma = builder.add("gamma", [c], Init::Normal(0.7));
            let beta = builder.add("beta", [c], Init::Normal(0.7));
            let params = BatchNormParams { gamma, beta, running: None };
            GradCheck::new(builder.build(2))
                .input(random_tensor([n, c]))
                .assert(|t, x| t.batch_norm(&x[0], params, 0.1));
        }
    }

    #[test]
    fn the_backward_pass_gives_the_statistics_of_the_batch() {
        let mut builder = Params::builder();
        let gamma = builder.add("gamma", [1], Init::Ones);
        let beta = builder.add("beta", [1], Init::Zeros);
        let mean = builder.add_statistic("mean", [1], Init::Zeros);
        let variance = builder.add_statistic("variance", [1], Init::Ones);
        let params = builder.build(0);
        let norm = BatchNormParams { gamma, beta, running: Some((mean, variance)) };
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(Tensor::new([3, 1], &[1.0, 2.0, 6.0]));
        let y = tape.batch_norm(&x, norm, 1e-5);
        let loss = tape.weighted_sum(&y, &random_tensor([3, 1]));
        tape.backward(&loss);
        // Σ (x − 3)² = 4 + 1 + 9, over n − 1 = 2.
        assert_eq!(gradients.get(&params, mean).unwrap(), [3.0]);
        assert_eq!(gradients.get(&params, variance).unwrap(), [7.0]);
        assert_eq!(params.count(), 2, "statistics are not trained");
        let mut tape = Tape::inference(&params);
        let x = Var::constant(Tensor::new([2, 1], &[1.0, -2.0]));
        let y = tape.batch_norm_inference(&x, norm, 0.0);
        assert_eq!(y.data(), [1.0, -2.0], "by mean 0 and variance 1");
    }
}
