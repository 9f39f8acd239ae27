//! Layer normalization on the tape, alone or fused with the residual connection before it.

use crate::kernels::layer_norm::{
    NormInput, layer_norm_backward, layer_norm_forward, partial_sums,
};
use crate::params::ParamId;
use crate::tape::{BackwardPass, Operation, Tape, Var, VarId};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// y = layer_norm(x)·γ + β: (n, c) -> (n, c); without β, y = layer_norm(x)·γ.
    ///
    /// # Panics
    /// If γ or β is not (c).
    #[track_caller]
    pub fn layer_norm(
        &mut self,
        x: &Var,
        gamma: ParamId,
        beta: impl Into<Option<ParamId>>,
        eps: f32,
    ) -> Var {
        let beta = beta.into();
        let (y, _, saved) = self.normalize(x, None, gamma, beta, eps);
        self.trace(&[&y], || Operation::LayerNorm { x: x.value().clone(), gamma, beta, eps });
        let x = x.id();
        self.record("layer_norm", y, move |dy, pass| {
            let dx = saved.backward(Some(dy), None, pass);
            pass.add_gradient(x, dx);
        })
    }

    /// (x, y) with x = a + b and y = layer_norm(x)·γ + β: the residual connection and the
    /// normalization after it, in one pass over memory.
    ///
    /// A post-norm model continues with y alone; a pre-norm model keeps x as its residual stream.
    ///
    /// # Panics
    /// If a and b differ in shape, or γ or β is not (c).
    #[track_caller]
    pub fn add_norm(
        &mut self,
        a: &Var,
        b: &Var,
        gamma: ParamId,
        beta: impl Into<Option<ParamId>>,
        eps: f32,
    ) -> (Var, Var) {
        let beta = beta.into();
        let (y, sum, saved) = self.normalize(a, Some(b), gamma, beta, eps);
        self.trace(&[&sum, &y], || {
            let (a, b) = (a.value().clone(), b.value().clone());
            Operation::AddNorm { a, b, gamma, beta, eps }
        });
        let (a, b): (Option<VarId>, Option<VarId>) = (a.id(), b.id());
        let [x, y] = self.record_many("add_norm", [sum, y], move |[dsum, dy], pass| {
            // Forward: x = a + b. So da = db = dx.
            let dx = saved.backward(dy, dsum, pass);
            pass.add_gradient(a, dx.clone());
            pass.add_gradient(b, dx);
        });
        (x, y)
    }

    #[track_caller]
    fn normalize(
        &mut self,
        a: &Var,
        b: Option<&Var>,
        gamma: ParamId,
        beta: Option<ParamId>,
        eps: f32,
    ) -> (Tensor, Tensor, Saved) {
        let shape = a.shape();
        let g = self.param_shape(gamma);
        let bt = beta.map_or(g, |beta| self.param_shape(beta));
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
            None => NormInput::Plain(a.data()),
            Some(b) => NormInput::Residual(a.data(), b.data()),
        };
        let zeros = Tensor::zeros([if beta.is_some() { 0 } else { shape.dim(1) }]);
        layer_norm_forward(
            y.data_mut(),
            sum.data_mut(),
            mean.data_mut(),
            rstd.data_mut(),
            input,
            self.param(gamma),
            beta.map_or(zeros.data(), |beta| self.param(beta)),
            eps,
        );
        let x = if b.is_some() { sum.clone() } else { a.value().clone() };
        (y, sum, Saved { x, mean, rstd, gamma, beta })
    }
}

/// Saved for the backward pass.
struct Saved {
    x: Tensor,
    mean: Tensor,
    rstd: Tensor,
    gamma: ParamId,
    beta: Option<ParamId>,
}

impl Saved {
    fn backward(self, dy: Option<Tensor>, dsum: Option<Tensor>, pass: &mut BackwardPass) -> Tensor {
        let Some(dy) = dy else {
            // The normalized output was not used: only the sum has a gradient.
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
            pass.param(self.gamma),
            self.mean.data(),
            self.rstd.data(),
        );
        pass.add_param_gradient(self.gamma, dgamma);
        if let Some(beta) = self.beta {
            pass.add_param_gradient(beta, dbeta);
        }
        dx
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::{Init, ParamId, Params};
    use crate::tape::{Tape, Var};

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
            GradCheck::new(params)
                .input(random_tensor([n, c]))
                .assert(|t, x| t.layer_norm(&x[0], gamma, beta, 0.1));
        }
    }

    #[test]
    fn without_a_shift_it_is_the_norm_whose_shift_is_zero() {
        let (mut params, gamma, beta) = gamma_beta(5);
        params.get_mut(beta).fill(0.0);
        let x = random_tensor([3, 5]);
        let mut t = Tape::inference(&params);
        let x = Var::constant(x);
        let [with, without] = [Some(beta), None].map(|beta| t.layer_norm(&x, gamma, beta, 0.1));
        assert_eq!(with.data(), without.data());
        let mut builder = Params::builder();
        let gamma = builder.add("gamma", [5], Init::Normal(0.7));
        GradCheck::new(builder.build(2))
            .input(random_tensor([3, 5]))
            .input(random_tensor([3, 5]))
            .assert(|t, x| t.add_norm(&x[0], &x[1], gamma, None, 0.1).1);
    }

    #[test]
    fn the_gradients_of_both_outputs_of_add_norm_reach_both_inputs() {
        for (n, c) in [(1, 2), (3, 5), (20, 17)] {
            let (params, gamma, beta) = gamma_beta(c);
            GradCheck::new(params)
                .input(random_tensor([n, c]))
                .input(random_tensor([n, c]))
                .assert(|t, x| {
                    let (sum, y) = t.add_norm(&x[0], &x[1], gamma, beta, 0.1);
                    // Different factors, so that swapping the two outputs would be detected.
                    let sum = t.scale(&sum, 0.3);
                    t.add(&sum, &y)
                });
        }
    }

    #[test]
    fn an_unused_output_of_add_norm_contributes_no_gradient() {
        let check = |which: usize| {
            let (params, gamma, beta) = gamma_beta(4);
            GradCheck::new(params)
                .input(random_tensor([3, 4]))
                .input(random_tensor([3, 4]))
                .assert(|t, x| {
                    let (sum, y) = t.add_norm(&x[0], &x[1], gamma, beta, 0.1);
                    if which == 0 { sum } else { y }
                });
        };
        check(0);
        check(1);
    }
}
