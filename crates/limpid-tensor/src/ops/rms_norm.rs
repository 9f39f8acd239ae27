//! Root-mean-square normalization on the tape: of rows, alone or fused with the residual connection
//! before it, and of the heads of queries and keys.

use crate::kernels::layer_norm::{NormInput, partial_sums};
use crate::kernels::rms_norm::{
    Gain, HeadGains, head_norm_backward, head_norm_forward, rms_norm_backward, rms_norm_forward,
};
use crate::params::ParamId;
use crate::tape::{BackwardPass, Operation, Tape, Var, VarId};
use crate::tensor::Tensor;

/// The scale of a root-mean-square norm, and its ε.
#[derive(Clone, Copy, Debug)]
pub struct RmsNormParams {
    /// γ (c).
    pub gamma: ParamId,
    /// What x̂ is multiplied by.
    pub gain: Gain,
    /// ε, added to the mean square.
    pub eps: f32,
}

/// The norms of the heads at the start of each row of a fused projection: queries, then keys.
#[derive(Clone, Copy, Debug)]
pub struct HeadNormParams {
    /// Heads of queries and of keys.
    pub heads: [usize; 2],
    /// Their γ (d).
    pub gammas: [ParamId; 2],
    /// What x̂ is multiplied by.
    pub gain: Gain,
    /// ε, added to the mean square.
    pub eps: f32,
}

impl Tape<'_> {
    /// y = rms_norm(x)·γ: (n, c) -> (n, c).
    ///
    /// # Panics
    /// If γ is not (c).
    #[track_caller]
    pub fn rms_norm(&mut self, x: &Var, params: RmsNormParams) -> Var {
        let (y, _, saved) = self.rms_normalize(x, None, params);
        self.trace(&[&y], || Operation::RmsNorm { x: x.value().clone(), params });
        let x = x.id();
        self.record("rms_norm", y, move |dy, pass| {
            let dx = saved.backward(Some(dy), None, pass);
            pass.add_gradient(x, dx);
        })
    }

    /// (x, y) with x = a + b and y = rms_norm(x)·γ, in one pass over memory.
    ///
    /// # Panics
    /// If a and b differ in shape, or γ is not (c).
    #[track_caller]
    pub fn add_rms_norm(&mut self, a: &Var, b: &Var, params: RmsNormParams) -> (Var, Var) {
        let (y, sum, saved) = self.rms_normalize(a, Some(b), params);
        self.trace(&[&sum, &y], || {
            let (a, b) = (a.value().clone(), b.value().clone());
            Operation::AddRmsNorm { a, b, params }
        });
        let (a, b): (Option<VarId>, Option<VarId>) = (a.id(), b.id());
        let [x, y] = self.record_many("add_rms_norm", [sum, y], move |[dsum, dy], pass| {
            // Forward: x = a + b. So da = db = dx.
            let dx = saved.backward(dy, dsum, pass);
            pass.add_gradient(a, dx.clone());
            pass.add_gradient(b, dx);
        });
        (x, y)
    }

    #[track_caller]
    fn rms_normalize(
        &mut self,
        a: &Var,
        b: Option<&Var>,
        params: RmsNormParams,
    ) -> (Tensor, Tensor, Saved) {
        let (shape, g) = (a.shape(), self.param_shape(params.gamma));
        assert!(
            shape.rank() == 2 && g.len() == shape.dim(1),
            "rms norm: x {shape} does not fit gamma {g}"
        );
        if let Some(b) = b {
            assert_eq!(shape, b.shape(), "add_rms_norm: {shape} + {}", b.shape());
        }
        let n = shape.dim(0);
        let (mut y, mut rstd) = (Tensor::uninit(shape), Tensor::uninit([n]));
        let mut sum = Tensor::uninit([if b.is_some() { n } else { 0 }, shape.dim(1)]);
        let input = match b {
            None => NormInput::Plain(a.data()),
            Some(b) => NormInput::Residual(a.data(), b.data()),
        };
        let (gamma, RmsNormParams { gain, eps, .. }) = (self.param(params.gamma), params);
        let (out, sums) = (y.data_mut(), sum.data_mut());
        rms_norm_forward(out, sums, rstd.data_mut(), input, gamma, gain, eps);
        let x = if b.is_some() { sum.clone() } else { a.value().clone() };
        (y, sum, Saved { x, rstd, params })
    }

    /// Normalizes each head of queries and keys, the first columns of each row of x, by itself; the
    /// other columns stay as they are: (n, w) -> (n, w).
    ///
    /// # Panics
    /// If the heads do not fit the rows.
    #[track_caller]
    pub fn head_norm(&mut self, x: &Var, params: HeadNormParams) -> Var {
        let (n, stride) = x.rows_cols();
        let heads = params.heads[0] + params.heads[1];
        let mut y = Tensor::uninit([n, stride]);
        let mut rstd = Tensor::uninit([n, heads]);
        let gains = params.gains(|id| self.param(id));
        head_norm_forward(y.data_mut(), rstd.data_mut(), x.data(), stride, gains, params.eps);
        self.trace(&[&y], || Operation::HeadNorm { x: x.value().clone(), params });
        let x = x.clone();
        self.record("head_norm", y, move |dy, pass| {
            let d = pass.param(params.gammas[0]).len();
            let mut dx = Tensor::uninit([n, stride]);
            let mut dgammas = Tensor::uninit([2, d]);
            let mut partial = Tensor::uninit([2 * d * partial_sums(n)]);
            head_norm_backward(
                dx.data_mut(),
                dgammas.data_mut(),
                partial.data_mut(),
                dy.data(),
                x.data(),
                stride,
                params.gains(|id| pass.param(id)),
                rstd.data(),
            );
            for (gamma, dgamma) in params.gammas.into_iter().zip(dgammas.data().chunks_exact(d)) {
                pass.add_param_gradient(gamma, dgamma);
            }
            pass.add_gradient(x.id(), dx);
        })
    }
}

impl HeadNormParams {
    fn gains<'a>(&self, param: impl Fn(ParamId) -> &'a [f32]) -> HeadGains<'a> {
        HeadGains { heads: self.heads, gammas: self.gammas.map(param), gain: self.gain }
    }
}

/// Saved for the backward pass.
struct Saved {
    x: Tensor,
    rstd: Tensor,
    params: RmsNormParams,
}

impl Saved {
    fn backward(self, dy: Option<Tensor>, dsum: Option<Tensor>, pass: &mut BackwardPass) -> Tensor {
        let Some(dy) = dy else {
            // The normalized output was not used: only the sum has a gradient.
            return dsum.expect("one of the two outputs has a gradient");
        };
        let (n, c) = self.x.rows_cols();
        let mut dx = Tensor::uninit([n, c]);
        let mut partial = Tensor::uninit([c * partial_sums(n)]);
        let mut dgamma = Tensor::uninit([c]);
        rms_norm_backward(
            dx.data_mut(),
            dgamma.data_mut(),
            partial.data_mut(),
            dy.data(),
            dsum.as_ref().map_or(&[], Tensor::data),
            self.x.data(),
            pass.param(self.params.gamma),
            self.params.gain,
            self.rstd.data(),
        );
        pass.add_param_gradient(self.params.gamma, dgamma.data());
        dx
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::{Init, Params};

    fn one(c: usize, gain: Gain) -> (Params, RmsNormParams) {
        let mut builder = Params::builder();
        let gamma = builder.add("gamma", [c], Init::Normal(0.7));
        (builder.build(2), RmsNormParams { gamma, gain, eps: 0.1 })
    }

    #[test]
    fn every_gradient_agrees_with_central_differences() {
        for (n, c) in [(1, 2), (3, 5), (9, 16), (20, 17)] {
            for gain in [Gain::Weight, Gain::OnePlusWeight] {
                let (params, norm) = one(c, gain);
                GradCheck::new(params)
                    .input(random_tensor([n, c]))
                    .assert(|t, x| t.rms_norm(&x[0], norm));
            }
        }
    }

    #[test]
    fn the_gradients_of_both_outputs_reach_both_inputs() {
        for (n, c) in [(1, 2), (3, 5), (20, 17)] {
            let (params, norm) = one(c, Gain::Weight);
            GradCheck::new(params)
                .input(random_tensor([n, c]))
                .input(random_tensor([n, c]))
                .assert(|t, x| {
                    let (sum, y) = t.add_rms_norm(&x[0], &x[1], norm);
                    // Different factors, so that swapping the two outputs would be detected.
                    let sum = t.scale(&sum, 0.3);
                    t.add(&sum, &y)
                });
        }
    }

    #[test]
    fn the_gradients_of_normalized_heads_agree_with_central_differences() {
        for (n, heads, d) in [(1, [1, 1], 2), (11, [3, 1], 5), (4, [2, 2], 16)] {
            let mut builder = Params::builder();
            let gammas = ["q", "k"].map(|name| builder.add(name, [d], Init::Normal(0.7)));
            let norm = HeadNormParams { heads, gammas, gain: Gain::Weight, eps: 0.1 };
            let width = (heads[0] + 2 * heads[1]) * d;
            GradCheck::new(builder.build(2))
                .input(random_tensor([n, width]))
                .assert(|t, x| t.head_norm(&x[0], norm));
        }
    }

    #[test]
    #[should_panic(expected = "rms norm: x (2,3) does not fit gamma (4)")]
    fn shapes_that_do_not_fit_panic_and_name_both() {
        let (params, norm) = one(4, Gain::Weight);
        Tape::inference(&params).rms_norm(&Var::constant(Tensor::zeros([2, 3])), norm);
    }
}
