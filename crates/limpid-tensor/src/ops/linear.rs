//! A linear layer with its bias and activation: y = φ(x·Wᵀ + b).
//!
//! Shapes: `x` (n, i), `w` (o, i), `b` (o), `y` (n, o).
//! Saved for the backward pass: `x`, and nothing, y or φ′, depending on φ.

use super::lora::SavedAdapter;
use crate::kernels::activation::{self, Activation, SavedForBackward};
use crate::kernels::elementwise::column_sums;
use crate::kernels::matmul::{Accumulate, Mat, MatMut, product_on_team};
use crate::params::ParamId;
use crate::simd::vectorized;
use crate::tape::{BackwardPass, Operation, Tape, Var};
use crate::team::Parts;
use crate::tensor::Tensor;

vectorized! {
    pub(super) fn add_bias(y: &mut [f32], bias: &[f32]) {
        y.iter_mut().zip(bias).for_each(|(y, b)| *y += b);
    }
}

/// What the backward pass of a linear layer needs, besides its input.
pub(super) struct SavedLinear {
    w: ParamId,
    b: Option<ParamId>,
    phi: Activation,
    /// Nothing, y or φ′, depending on φ.
    activation: Option<Tensor>,
    adapters: Vec<SavedAdapter>,
}

impl Tape<'_> {
    /// y = φ(x·Wᵀ + b): one product, with bias and activation applied while the rows are in cache.
    ///
    /// # Panics
    /// If the shapes of x, W and b do not fit.
    #[track_caller]
    pub fn linear(&mut self, x: &Var, w: ParamId, b: Option<ParamId>, phi: Activation) -> Var {
        let (y, saved) = self.linear_forward(x.value(), w, b, phi);
        self.trace(&[&y], || Operation::Linear { x: x.value().clone(), w, b, phi });
        let x = x.clone();
        self.record("linear", y, move |dy, pass| {
            let needs_dx = pass.needs_gradient(x.id());
            if let Some(dx) = saved.backward(dy, x.value(), needs_dx, pass) {
                pass.add_gradient(x.id(), dx);
            }
        })
    }

    /// The output of a linear layer, and what its backward pass needs.
    #[track_caller]
    pub(super) fn linear_forward(
        &mut self,
        x: &Tensor,
        w: ParamId,
        b: Option<ParamId>,
        phi: Activation,
    ) -> (Tensor, SavedLinear) {
        let (w_shape, x_shape) = (self.param_shape(w), x.shape());
        assert!(
            w_shape.rank() == 2 && x_shape.rank() == 2 && x_shape.dim(1) == w_shape.dim(1),
            "linear: x {x_shape} does not fit W {w_shape} (out, in)"
        );
        let (n, i, o) = (x_shape.dim(0), x_shape.dim(1), w_shape.dim(0));
        let bias = b.map_or(&[][..], |b| self.param(b));
        assert!(
            b.is_none() || bias.len() == o,
            "linear: bias of {} elements for W {w_shape} (out, in)",
            bias.len()
        );

        let mut y = Tensor::uninit([n, o]);
        // φ′ is stored only if a backward pass may follow.
        let keep_derivative =
            self.is_recording() && phi.saved_for_backward() == SavedForBackward::Derivative;
        let mut derivative = Tensor::uninit([if keep_derivative { n } else { 0 }, o]);
        // Adapters are added before the activation, which then follows in a pass of its own.
        let is_adapted = !self.adapters(w).is_empty();
        let derivatives = Parts::new(derivative.data_mut());
        self.weight(w).product_on_team(
            MatMut::new(y.data_mut(), n, o),
            Mat::new(x.data(), n, i),
            Accumulate::Overwrite,
            |row, first, part| {
                if !bias.is_empty() {
                    add_bias(part, &bias[first..]);
                }
                if is_adapted {
                    return;
                }
                if keep_derivative {
                    // SAFETY: every element of y is in exactly one part, and so is the element of
                    // `derivative` with the same index.
                    let derivative = unsafe { derivatives.part(row * o + first, part.len()) };
                    activation::activate_and_derive(part, derivative, phi);
                } else {
                    activation::activate(part, phi);
                }
            },
        );

        let adapters = self.add_adapters(&mut y, x, w);
        if is_adapted && keep_derivative {
            activation::activate_and_derive(y.data_mut(), derivative.data_mut(), phi);
        } else if is_adapted {
            activation::activate(y.data_mut(), phi);
        }
        let activation = match phi.saved_for_backward() {
            SavedForBackward::Nothing => None,
            SavedForBackward::Output => Some(y.clone()),
            SavedForBackward::Derivative => Some(derivative),
        };
        (y, SavedLinear { w, b, phi, activation, adapters })
    }
}

impl SavedLinear {
    /// Adds the gradients of the parameters, given dy (n, o) and x (n, i); returns dx if needed.
    pub(super) fn backward(
        self,
        dy: Tensor,
        x: &Tensor,
        needs_dx: bool,
        pass: &mut BackwardPass,
    ) -> Option<Tensor> {
        let Self { w, b, phi, activation, adapters } = self;
        let ((n, i), (_, o)) = (x.rows_cols(), dy.rows_cols());
        // Forward: y = φ(z). So dz = dy·φ′(z).
        let mut dz = dy;
        if let Some(saved) = activation {
            if dz.try_data_mut().is_none() {
                dz = Tensor::new(dz.shape(), dz.data());
            }
            activation::activation_backward(dz.data_mut(), saved.data(), phi);
        }
        // Forward: z = x·Wᵀ + b. So db = Σ_rows dz, dW = dzᵀ·x and dx = dz·W.
        if let Some((db, accumulate)) = b.and_then(|b| pass.slot(b)) {
            column_sums(db, dz.data(), accumulate);
        }
        let dz_no = Mat::new(dz.data(), n, o);
        if let Some((dw, accumulate)) = pass.slot(w) {
            let x_ni = Mat::new(x.data(), n, i);
            product_on_team(MatMut::new(dw, o, i), dz_no.t(), x_ni, accumulate, |_, _, _| {});
        }
        let mut dx = needs_dx.then(|| {
            let mut dx = Tensor::uninit([n, i]);
            product_on_team(
                MatMut::new(dx.data_mut(), n, i),
                dz_no,
                Mat::new(pass.param(w), o, i),
                Accumulate::Overwrite,
                |_, _, _| {},
            );
            dx
        });
        adapters.into_iter().for_each(|saved| saved.backward(&dz, x, dx.as_mut(), pass));
        dx
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::quantized::{Format, QuantizedMatrix};
    use crate::params::{Init, Params, Role};
    use crate::tape::Gradients;
    use std::sync::Arc;

    #[test]
    fn every_gradient_agrees_with_central_differences_for_every_activation_and_shape() {
        for (n, i, o) in [(1, 1, 1), (1, 5, 3), (7, 4, 2), (13, 17, 31)] {
            for phi in Activation::ALL {
                let mut builder = Params::builder();
                let w = builder.add("w", [o, i], Init::Uniform(0.11));
                let b = builder.add("b", [o], Init::Normal(0.5));
                let mut params = builder.build(7);
                if phi == Activation::Relu {
                    // ReLU has no derivative at 0: with |b| = 2 no z is near it, and both signs
                    // occur.
                    params
                        .get_mut(b)
                        .iter_mut()
                        .enumerate()
                        .for_each(|(j, b)| *b = if j % 2 == 0 { 2.0 } else { -2.0 });
                }
                GradCheck::new(params)
                    .input(random_tensor([n, i]))
                    .assert(|t, x| t.linear(&x[0], w, Some(b), phi));
            }
        }
    }

    #[test]
    fn without_a_bias_and_with_the_weight_used_twice_gradients_add_up() {
        let mut builder = Params::builder();
        let w = builder.add("w", [4, 4], Init::Normal(0.5));
        GradCheck::new(builder.build(3)).input(random_tensor([3, 4])).assert(|t, x| {
            let once = t.linear(&x[0], w, None, Activation::Tanh);
            t.linear(&once, w, None, Activation::None)
        });
    }

    fn quantized(format: Format) -> (Params, ParamId, ParamId) {
        let mut builder = Params::builder();
        let w = builder.add_weight("w", [40, 64], Init::Normal(0.5));
        let b = builder.add("b", [40], Init::Normal(0.5));
        let mut params = builder.build(7);
        let matrix = QuantizedMatrix::quantize(format, params.get(w), (40, 64)).unwrap();
        params.set_quantized(w, Some(Arc::new(matrix)));
        (params, w, b)
    }

    #[test]
    fn quantized_weights_give_their_product_with_bias_and_activation() {
        for format in Format::ALL {
            let (params, w, b) = quantized(format);
            let x = random_tensor([3, 64]);
            let mut want = vec![f32::NAN; 3 * 40];
            params.quantized(w).unwrap().product_on_team(
                MatMut::new(&mut want, 3, 40),
                Mat::new(x.data(), 3, 64),
                |_, first, part| {
                    part.iter_mut().zip(&params.get(b)[first..]).for_each(|(y, b)| *y += b);
                    activation::activate(part, Activation::GeluTanh);
                },
            );
            let x = Var::constant(x);
            let y = Tape::inference(&params).linear(&x, w, Some(b), Activation::GeluTanh);
            assert_eq!(y.data(), want);
        }
    }

    #[test]
    #[should_panic(expected = "w is stored as int8: no gradient")]
    fn a_tape_that_records_refuses_quantized_weights() {
        let (mut params, w, _) = quantized(Format::Int8);
        params.set_roles(|_| Role::Fixed);
        let mut gradients = Gradients::new(&params);
        let x = Var::constant(random_tensor([1, 64]));
        Tape::training(&params, &mut gradients).linear(&x, w, None, Activation::None);
    }

    #[test]
    #[should_panic(expected = "linear: x (2,3) does not fit W (5,4) (out, in)")]
    fn shapes_that_do_not_fit_panic_and_name_both() {
        let mut builder = Params::builder();
        let w = builder.add("w", [5, 4], Init::Zeros);
        let params = builder.build(0);
        Tape::inference(&params).linear(
            &Var::constant(Tensor::zeros([2, 3])),
            w,
            None,
            Activation::None,
        );
    }
}
