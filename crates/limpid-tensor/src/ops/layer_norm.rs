//! Layer normalisation on the tape, alone or with the residual it follows.

use crate::kernels::layer_norm::{Input, layer_norm_backward, layer_norm_forward, partial_sums};
use crate::params::ParamId;
use crate::tape::{Sweep, Tape, Var, VarId};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// y = layer_norm(x)·γ + β.
    #[track_caller]
    pub fn layer_norm(&mut self, x: &Var, gamma: ParamId, beta: ParamId, eps: f32) -> Var {
        let (y, _, saved) = self.normalise(x, None, gamma, beta, eps);
        let x = x.id();
        self.record("layer_norm", y, move |dy, sweep| {
            let dx = saved.backward(Some(dy), None, sweep);
            sweep.give(x, dx);
        })
    }

    /// (x, y) with x = a + b and y = layer_norm(x)·γ + β: the residual and the normalisation after it, in one sweep.
    ///
    /// A post-norm model goes on with y alone; a pre-norm model keeps x as its residual stream.
    #[track_caller]
    pub fn add_norm(&mut self, a: &Var, b: &Var, gamma: ParamId, beta: ParamId, eps: f32) -> (Var, Var) {
        let (y, sum, saved) = self.normalise(a, Some(b), gamma, beta, eps);
        let (a, b): (Option<VarId>, Option<VarId>) = (a.id(), b.id());
        let [x, y] = self.record_many("add_norm", [sum, y], move |[dsum, dy], sweep| {
            // Forward: x = a + b. So da = db = dx.
            let dx = saved.backward(dy, dsum, sweep);
            sweep.give(a, dx.clone());
            sweep.give(b, dx);
        });
        (x, y)
    }

    #[track_caller]
    fn normalise(
        &mut self,
        a: &Var,
        b: Option<&Var>,
        gamma: ParamId,
        beta: ParamId,
        eps: f32,
    ) -> (Tensor, Tensor, Saved) {
        let shape = a.shape();
        let (g, bt) = (self.param_shape(gamma), self.param_shape(beta));
        assert!(
            shape.rank() == 2 && g.len() == shape.dim(1) && bt.len() == g.len(),
            "layer norm: x {shape} does not fit gamma {g} and beta {bt}"
        );
        if let Some(b) = b {
            assert_eq!(shape, b.shape(), "add_norm: {shape} + {}", b.shape());
        }
        let n = shape.dim(0);
        let mut y = Tensor::uninit(shape);
        let (mut mean, mut rstd) = (Tensor::uninit([n]), Tensor::uninit([n]));
        let mut sum = Tensor::uninit([if b.is_some() { n } else { 0 }, shape.dim(1)]);
        let input = match b {
            None => Input::Plain(a.data()),
            Some(b) => Input::Residual(a.data(), b.data()),
        };
        layer_norm_forward(
            y.data_mut(),
            sum.data_mut(),
            mean.data_mut(),
            rstd.data_mut(),
            input,
            self.param(gamma),
            self.param(beta),
            eps,
        );
        let x = if b.is_some() { sum.clone() } else { a.value().clone() };
        (y, sum, Saved { x, mean, rstd, gamma, beta })
    }
}

/// What the backward pass needs.
struct Saved {
    x: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma: ParamId,
    beta: ParamId,
}

impl Saved {
    fn backward(self, dy: Option<Tensor>, dsum: Option<Tensor>, sweep: &mut Sweep) -> Tensor {
        let Some(dy) = dy else {
            // The normalised output was not used: only the sum's gradient goes back.
            return dsum.expect("one of the two outputs has a gradient");
        };
        let (n, c) = self.x.rows_cols();
        let mut dx = Tensor::uninit([n, c]);
        let mut partial = Tensor::uninit([2 * c * partial_sums(n)]);
        let mut own = Tensor::uninit([2, c]);
        let (dgamma, dbeta) = own.data_mut().split_at_mut(c);
        layer_norm_backward(
            dx.data_mut(),
            dgamma,
            dbeta,
            partial.data_mut(),
            dy.data(),
            dsum.as_ref().map_or(&[], Tensor::data),
            self.x.data(),
            sweep.param(self.gamma),
            self.mean.data(),
            self.rstd.data(),
        );
        sweep.give_param(self.gamma, dgamma);
        sweep.give_param(self.beta, dbeta);
        dx
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, ramp};
    use crate::params::{Init, ParamId, Params};

    fn gamma_beta(c: usize) -> (Params, ParamId, ParamId) {
        let mut builder = Params::builder();
        let gamma = builder.add("gamma", [c], Init::Normal(0.7));
        let beta = builder.add("beta", [c], Init::Normal(0.7));
        (builder.build(2), gamma, beta)
    }

    #[test]
    fn every_gradient_agrees_with_central_differences() {
        for (n, c) in [(1, 2), (3, 5), (9, 16), (20, 17)] {
            let (params, gamma, beta) = gamma_beta(c);
            GradCheck::new(params).input(ramp([n, c])).assert(|t, x| t.layer_norm(&x[0], gamma, beta, 0.1));
        }
    }

    #[test]
    fn both_outputs_of_add_norm_send_their_gradients_to_both_inputs() {
        for (n, c) in [(1, 2), (3, 5), (20, 17)] {
            let (params, gamma, beta) = gamma_beta(c);
            GradCheck::new(params).input(ramp([n, c])).input(ramp([n, c])).assert(|t, x| {
                let (sum, y) = t.add_norm(&x[0], &x[1], gamma, beta, 0.1);
                // Unequal use of the two, so that one cannot stand in for the other.
                let sum = t.scale(&sum, 0.3);
                t.add(&sum, &y)
            });
        }
    }

    #[test]
    fn an_unused_output_of_add_norm_sends_nothing() {
        let check = |which: usize| {
            let (params, gamma, beta) = gamma_beta(4);
            GradCheck::new(params).input(ramp([3, 4])).input(ramp([3, 4])).assert(|t, x| {
                let (sum, y) = t.add_norm(&x[0], &x[1], gamma, beta, 0.1);
                if which == 0 { sum } else { y }
            });
        };
        check(0);
        check(1);
    }
}
