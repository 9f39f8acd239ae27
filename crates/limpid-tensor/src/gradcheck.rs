//! Gradient checking: the backward pass against central differences of the forward pass.
//!
//! ```text
//! ∂L/∂x ≈ (L(x + h) − L(x − h)) / 2h          L = Σ w · f(x), with a different w per element
//! ```
//!
//! Public, so that a new operation or model is checked in three lines:
//!
//! ```
//! use limpid_tensor::gradcheck::{GradCheck, random_tensor};
//! use limpid_tensor::params::Params;
//!
//! GradCheck::new(Params::builder().build(0))
//!     .input(random_tensor([3, 4]))
//!     .assert(|tape, x| tape.scale(&x[0], 2.0));
//! ```

use crate::params::Params;
use crate::rng::Stream;
use crate::tape::{DropoutStream, Gradients, Tape, Var};
use crate::tensor::{Shape, Tensor};
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks the gradients of a function of parameters and inputs.
pub struct GradCheck {
    params: Params,
    inputs: Vec<Tensor>,
    dropout: Option<DropoutStream>,
    step: f32,
    tolerance: f64,
}

impl GradCheck {
    /// Checks the gradients of `params`.
    pub fn new(params: Params) -> Self {
        Self { params, inputs: Vec::new(), dropout: None, step: 1e-2, tolerance: 1e-3 }
    }

    /// Checks the gradient of an input as well.
    pub fn input(mut self, value: Tensor) -> Self {
        self.inputs.push(value);
        self
    }

    /// Enables dropout, with the same masks in every forward pass.
    pub fn dropout(mut self, stream: DropoutStream) -> Self {
        self.dropout = Some(stream);
        self
    }

    /// Largest difference between a gradient and its numerical value, relative to the largest
    /// gradient of the tensor. Default 1e-3: f32 has seven digits, and the difference quotient
    /// loses half of them.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Checks every element of every parameter and input of `f`.
    ///
    /// # Panics
    /// If a gradient differs from the numerical one, naming the tensor, the element and both
    /// values.
    #[track_caller]
    pub fn assert(mut self, f: impl Fn(&mut Tape, &[Var]) -> Var) {
        let (analytic, names) = self.analytic(&f);
        let h = self.step;
        for (tensor, (gradient, name)) in analytic.iter().zip(&names).enumerate() {
            let largest =
                gradient.iter().fold(0.0_f64, |largest, g| largest.max(f64::from(g.abs())));
            // Below 1 rounding errors of the forward pass dominate, not the size of the gradient.
            let bound = self.tolerance * largest.max(1.0);
            for (i, got) in gradient.iter().enumerate() {
                let mut at = |by: f32| {
                    let before = self.perturb(tensor, i, by);
                    let loss = self.loss(&f);
                    *self.element(tensor, i) = before;
                    loss
                };
                // Fourth order: the error falls with h⁴, so that h can be large enough for f32.
                let (near, far) = (at(h) - at(-h), at(2.0 * h) - at(-2.0 * h));
                let numerical = (8.0 * near - far) / (12.0 * f64::from(h));
                assert!(
                    (f64::from(*got) - numerical).abs() <= bound,
                    "gradient of {name}[{i}] is {got}, the numerical gradient is {numerical} \
                     (largest gradient {largest})"
                );
            }
        }
    }

    /// The gradients of the backward pass: first of all parameters, then of all inputs.
    fn analytic(&mut self, f: &impl Fn(&mut Tape, &[Var]) -> Var) -> (Vec<Vec<f32>>, Vec<String>) {
        let mut gradients = Gradients::new(&self.params);
        let mut tape = Tape::training(&self.params, &mut gradients);
        if let Some(stream) = self.dropout {
            tape = tape.with_dropout(stream);
        }
        let inputs: Vec<Var> = self.inputs.iter().map(|value| tape.leaf(value.clone())).collect();
        let output = f(&mut tape, &inputs);
        // A loss is differentiated as it is; anything else through a weighted sum of its elements.
        let loss = if output.shape().len() == 1 {
            output
        } else {
            tape.weighted_sum(&output, &weights(output.shape()))
        };
        tape.backward(&loss);
        let or_zeros =
            |found: Option<&[f32]>, len: usize| found.map_or(vec![0.0; len], <[f32]>::to_vec);
        let params = self
            .params
            .iter()
            .map(|(id, spec)| or_zeros(gradients.get(&self.params, id), spec.shape.len()));
        let leaves = inputs.iter().map(|x| {
            or_zeros(x.id().and_then(|id| gradients.of(id)).map(Tensor::data), x.shape().len())
        });
        let names = self.params.iter().map(|(_, spec)| spec.name.clone());
        let names = names.chain((0..inputs.len()).map(|i| format!("input {i}"))).collect();
        (params.chain(leaves).collect(), names)
    }

    /// L, summed in f64 from the f32 outputs.
    fn loss(&self, f: &impl Fn(&mut Tape, &[Var]) -> Var) -> f64 {
        let mut tape = Tape::inference(&self.params);
        if let Some(stream) = self.dropout {
            tape = tape.with_dropout(stream);
        }
        let inputs: Vec<Var> = self.inputs.iter().cloned().map(Var::constant).collect();
        let output = f(&mut tape, &inputs);
        if output.shape().len() == 1 {
            return f64::from(output.data()[0]);
        }
        let weights = weights(output.shape());
        output.data().iter().zip(weights.data()).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum()
    }

    /// Adds `by` to one element and returns its value before.
    fn perturb(&mut self, tensor: usize, i: usize, by: f32) -> f32 {
        let element = self.element(tensor, i);
        let before = *element;
        *element += by;
        before
    }

    /// Element i of a parameter or, from the number of parameters on, of an input.
    fn element(&mut self, tensor: usize, i: usize) -> &mut f32 {
        let count = self.params.iter().len();
        if tensor < count {
            let (id, _) = self.params.iter().nth(tensor).expect("below the number of parameters");
            &mut self.params.get_mut(id)[i]
        } else {
            &mut self.inputs[tensor - count].data_mut()[i]
        }
    }
}

/// Weights in ±1 that differ from element to element.
fn weights(shape: Shape) -> Tensor {
    let mut rng = Stream::new(0x5eed, 1);
    let values: Vec<f32> = (0..shape.len()).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    Tensor::new(shape, &values)
}

/// A tensor of random numbers in ±1. Two calls give two different tensors: with equal operands, an
/// operation that confused them would pass the check.
pub fn random_tensor(shape: impl Into<Shape>) -> Tensor {
    static CALLS: AtomicU64 = AtomicU64::new(2);
    let shape = shape.into();
    let mut rng = Stream::new(0x5eed, CALLS.fetch_add(1, Ordering::Relaxed));
    let values: Vec<f32> = (0..shape.len()).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    Tensor::new(shape, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checker itself can fail: a derivative that is 1% off is detected.
    #[test]
    #[should_panic(expected = "gradient of input 0[0]")]
    fn a_wrong_factor_in_a_derivative_is_detected() {
        GradCheck::new(Params::builder().build(0)).input(random_tensor([3, 4])).assert(
            |tape, x| {
                let value =
                    Tensor::new([3, 4], &x[0].data().iter().map(|x| 2.0 * x).collect::<Vec<_>>());
                let id = x[0].id();
                tape.record("wrong", value, move |dy, pass| {
                    let wrong: Vec<f32> = dy.data().iter().map(|dy| 2.02 * dy).collect();
                    pass.add_gradient(id, Tensor::new(dy.shape(), &wrong));
                })
            },
        );
    }

    #[test]
    #[should_panic(expected = "gradient of w[0] is 0")]
    fn a_gradient_that_is_never_added_is_detected() {
        let mut builder = Params::builder();
        let w = builder.add("w", [2], crate::params::Init::Ones);
        GradCheck::new(builder.build(0)).assert(|tape, _| {
            let value = Tensor::new([2], tape.param(w));
            tape.record("no_backward", value, |_, _| {})
        });
    }
}
