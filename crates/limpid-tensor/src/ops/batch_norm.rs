//! Batch normalisation on the tape: by the batch's own statistics in training, by remembered ones in use.

use crate::kernels::batch_norm::{batch_norm_backward, batch_norm_forward, batch_norm_remembered};
use crate::params::ParamId;
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

/// The parameters of a batch normalisation.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormParams {
    /// γ (c).
    pub gamma: ParamId,
    /// β (c).
    pub beta: ParamId,
    /// Mean and variance (c) of what has passed in training, of the role [`crate::params::Role::Statistic`].
    pub remembered: Option<(ParamId, ParamId)>,
}

impl Tape<'_> {
    /// y = (x − μ)/√(σ² + ε)·γ + β with mean and variance of the columns of x: (n, c) -> (n, c).
    ///
    /// The way back gives μ and n/(n−1)·σ² (as PyTorch remembers it) to the statistics, if there are any, in place of a gradient.
    #[track_caller]
    pub fn batch_norm(&mut self, x: &Var, params: BatchNormParams, eps: f32) -> Var {
        let (n, c) = x.rows_cols();
        let BatchNormParams { gamma, beta, remembered } = params;
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
        self.record("batch_norm", y, move |dy, sweep| {
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
                sweep.param(gamma),
            );
            sweep.give_param(gamma, dgamma);
            sweep.give_param(beta, dbeta);
            if let Some((means, variances)) = remembered {
                let unbiased = n as f32 / (n as f32 - 1.0).max(1.0);
                variance.data_mut().iter_mut().for_each(|variance| *variance *= unbiased);
                sweep.give_param(means, mean.data());
                sweep.give_param(variances, variance.data());
            }
            sweep.give(x, dx);
        })
    }

    /// The same by the remembered statistics, for a model in use. Not recorded: nothing is trained through it.
    ///
    /// # Panics
    /// If the tape records, or nothing is remembered.
    #[track_caller]
    pub fn batch_norm_remembered(&mut self, x: &Var, params: BatchNormParams, eps: f32) -> Var {
        assert!(!self.is_recording(), "batch norm: remembered statistics are for use, not for training");
        let (mean, variance) = params.remembered.expect("batch norm: nothing is remembered");
        let (n, c) = x.rows_cols();
        let mut y = Tensor::uninit([n, c]);
        batch_norm_remembered(
            y.data_mut(),
            x.data(),
            self.param(mean),
            self.param(variance),
            self.param(params.gamma),
            self.param(params.beta),
            eps,
        );
        Var::constant(y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, ramp};
    use crate::params::{Init, Params};
    use crate::tape::Gradients;

    #[test]
    fn every_gradient_agrees_with_central_differences() {
        for (n, c) in [(2, 1), (3, 5), (9, 16), (20, 70)] {
            let mut builder = Params::builder();
            let gamma = builder.add("gamma", [c], Init::Normal(0.7));
            let beta = builder.add("beta", [c], Init::Normal(0.7));
            let params = BatchNormParams { gamma, beta, remembered: None };
            GradCheck::new(builder.build(2))
                .input(ramp([n, c]))
                .assert(|t, x| t.batch_norm(&x[0], params, 0.1));
        }
    }

    #[test]
    fn the_way_back_gives_the_statistics_of_the_batch() {
        let mut builder = Params::builder();
        let gamma = builder.add("gamma", [1], Init::Ones);
        let beta = builder.add("beta", [1], Init::Zeros);
        let mean = builder.add_statistic("mean", [1], Init::Zeros);
        let variance = builder.add_statistic("variance", [1], Init::Ones);
        let params = builder.build(0);
        let norm = BatchNormParams { gamma, beta, remembered: Some((mean, variance)) };
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(Tensor::new([3, 1], &[1.0, 2.0, 6.0]));
        let y = tape.batch_norm(&x, norm, 1e-5);
        let loss = tape.weighted_sum(&y, &ramp([3, 1]));
        tape.backward(&loss);
        // Σ (x − 3)² = 4 + 1 + 9, over n − 1 = 2.
        assert_eq!(gradients.get(&params, mean).unwrap(), [3.0]);
        assert_eq!(gradients.get(&params, variance).unwrap(), [7.0]);
        assert_eq!(params.count(), 2, "statistics are not learnt");
        let mut tape = Tape::inference(&params);
        let x = Var::constant(Tensor::new([2, 1], &[1.0, -2.0]));
        let y = tape.batch_norm_remembered(&x, norm, 0.0);
        assert_eq!(y.data(), [1.0, -2.0], "by mean 0 and variance 1");
    }
}
