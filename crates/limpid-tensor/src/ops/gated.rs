//! The second half of a gated feed-forward network on the tape: y = (φ(g)·u)·Wᵀ + b.
//!
//! Shapes: `x` (n, 2f), the gate g beside u; `w` (o, f), `b` (o), `y` (n, o).
//! Saved for the backward pass: `x`. The hidden values φ(g)·u, half as large again, are computed
//! anew there: a pass over memory, against three products.

use crate::kernels::activation::Activation;
use crate::kernels::gated::{gated_backward, gated_forward};
use crate::params::ParamId;
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// (φ(g)·u)·Wᵀ + b, where x = (g, u) side by side: (n, 2f) -> (n, o).
    ///
    /// # Panics
    /// If x has an odd number of columns, or the shapes of x, W and b do not fit.
    #[track_caller]
    pub fn gated_linear(
        &mut self,
        x: &Var,
        phi: Activation,
        w: ParamId,
        b: Option<ParamId>,
    ) -> Var {
        let (n, width) = x.rows_cols();
        assert!(width.is_multiple_of(2), "gated: x {} has an odd number of columns", x.shape());
        let hidden = move |x: &Tensor| {
            let mut hidden_nf = Tensor::uninit([n, width / 2]);
            gated_forward(hidden_nf.data_mut(), x.data(), width / 2, phi);
            hidden_nf
        };
        let hidden_nf = hidden(x.value());
        let (y, saved) = self.linear_forward(&hidden_nf, w, b, Activation::None);
        self.trace(&[&hidden_nf], || Operation::Gated { x: x.value().clone(), phi });
        self.trace(&[&y], || {
            let (x, phi) = (hidden_nf.clone(), Activation::None);
            Operation::Linear { x, w, b, phi }
        });
        let x = x.clone();
        self.record("gated_linear", y, move |dy, pass| {
            // Forward: y = h·Wᵀ + b with h = φ(g)·u. So dh comes first, then dg and du of it.
            let needs_dx = pass.needs_gradient(x.id());
            if let Some(dh) = saved.backward(dy, &hidden(x.value()), needs_dx, pass) {
                let mut dx = Tensor::uninit([n, width]);
                gated_backward(dx.data_mut(), dh.data(), x.data(), width / 2, phi);
                pass.add_gradient(x.id(), dx);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::{AdapterSpec, Init, Params};
    use crate::tape::DropoutStream;

    /// Off the kinks of ReLU at 0.
    fn input(n: usize, f: usize) -> Tensor {
        let mut x = random_tensor([n, 2 * f]);
        x.data_mut().iter_mut().for_each(|x| *x += 0.06 * x.signum());
        x
    }

    #[test]
    fn every_gradient_agrees_with_central_differences_for_every_activation() {
        for phi in Activation::ALL {
            for (n, f, o) in [(1, 1, 1), (3, 5, 2), (9, 17, 7)] {
                let mut builder = Params::builder();
                let w = builder.add("w", [o, f], Init::Normal(0.5));
                let b = builder.add("b", [o], Init::Normal(0.5));
                GradCheck::new(builder.build(3))
                    .input(input(n, f))
                    .assert(|t, x| t.gated_linear(&x[0], phi, w, Some(b)));
            }
        }
    }

    #[test]
    fn gradients_of_an_adapter_with_dropout_agree_with_central_differences() {
        let mut builder = Params::builder();
        let w = builder.add("w", [4, 5], Init::Normal(0.5));
        let mut params = builder.build(3);
        let names = ["a", "b"].map(String::from);
        let spec = AdapterSpec { weight: w, rows: 0..4, names, rank: 2, scale: 0.75, dropout: 0.3 };
        params.add_adapters(&[spec], 4);
        let b = params.all_adapters().next().unwrap().1.b;
        params.get_mut(b).copy_from_slice(random_tensor([8]).data());
        GradCheck::new(params)
            .input(input(3, 5))
            .dropout(DropoutStream { seed: 5, pass: 1 })
            .assert(|t, x| t.gated_linear(&x[0], Activation::Silu, w, None));
    }

    #[test]
    fn it_is_the_linear_layer_of_the_gated_values() {
        let mut builder = Params::builder();
        let w = builder.add("w", [3, 4], Init::Normal(0.5));
        let params = builder.build(3);
        let x = random_tensor([5, 8]);
        let silu = |z: f32| z / (1.0 + (-z).exp());
        let y = Tape::inference(&params).gated_linear(
            &Var::constant(x.clone()),
            Activation::Silu,
            w,
            None,
        );
        for (y, x) in y.data().chunks(3).zip(x.data().chunks(8)) {
            for (y, w) in y.iter().zip(params.get(w).chunks(4)) {
                let want: f32 = (0..4).map(|j| silu(x[j]) * x[4 + j] * w[j]).sum();
                assert!((y - want).abs() < 1e-5, "{y} is not {want}");
            }
        }
    }
}
