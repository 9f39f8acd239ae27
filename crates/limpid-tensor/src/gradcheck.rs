//! Proof of a derivative: the backward pass against central differences of the forward pass.
//!
//! ```text
//! ∂L/∂x ≈ (L(x + h) − L(x − h)) / 2h          L = Σ weights · f(x), with weights that differ from element to element
//! ```
//!
//! A public tool: whoever adds an operation or a model proves it with three lines.
//!
//! ```
//! use limpid_tensor::gradcheck::{GradCheck, ramp};
//! use limpid_tensor::params::Params;
//!
//! GradCheck::new(Params::builder().build(0)).input(ramp([3, 4])).assert(|tape, x| tape.scale(&x[0], 2.0));
//! ```

use crate::params::Params;
use crate::rng::Stream;
use crate::tape::{DropoutStream, Gradients, Tape, Var};
use crate::tensor::{Shape, Tensor};
use std::sync::atomic::{AtomicU64, Ordering};

/// A function of parameters and inputs whose derivatives are to be checked.
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

    /// Runs with dropout; the masks are the same in every run.
    pub fn dropout(mut self, stream: DropoutStream) -> Self {
        self.dropout = Some(stream);
        self
    }

    /// How far a gradient may be from the slope, relative to the largest gradient of its tensor (1e-3 if not set:
    /// f32 has seven digits and the step takes half of them).
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Checks every element of every parameter and input of `f`.
    ///
    /// # Panics
    /// If a gradient differs from the slope, naming the tensor, the element and both numbers.
    #[track_caller]
    pub fn assert(mut self, f: impl Fn(&mut Tape, &[Var]) -> Var) {
        let (analytic, names) = self.analytic(&f);
        let h = self.step;
        for (place, (gradient, name)) in analytic.iter().zip(&names).enumerate() {
            let largest = gradient.iter().fold(0.0_f64, |largest, g| largest.max(f64::from(g.abs())));
            // Below 1 the noise of the forward pass sets the bound, not the size of the gradient.
            let bound = self.tolerance * largest.max(1.0);
            for (i, got) in gradient.iter().enumerate() {
                let mut at = |by: f32| {
                    let before = self.nudge(place, i, by);
                    let loss = self.loss(&f);
                    self.restore(place, i, before);
                    loss
                };
                // Fourth order: the error falls with h⁴, so that h can be large enough for f32.
                let (near, far) = (at(h) - at(-h), at(2.0 * h) - at(-2.0 * h));
                let slope = (8.0 * near - far) / (12.0 * f64::from(h));
                assert!(
                    (f64::from(*got) - slope).abs() <= bound,
                    "gradient of {name}[{i}] is {got}, the slope is {slope} (largest gradient {largest})"
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
        let or_zeros = |found: Option<&[f32]>, len: usize| found.map_or(vec![0.0; len], <[f32]>::to_vec);
        let params =
            self.params.iter().map(|(id, spec)| or_zeros(gradients.get(&self.params, id), spec.shape.len()));
        let leaves = inputs
            .iter()
            .map(|x| or_zeros(x.id().and_then(|id| gradients.of(id)).map(Tensor::data), x.shape().len()));
        let names = self.params.iter().map(|(_, spec)| spec.name.clone());
        let names = names.chain((0..inputs.len()).map(|i| format!("input {i}"))).collect();
        (params.chain(leaves).collect(), names)
    }

    /// L, in f64 from the f32 outputs.
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

    /// Changes one number and returns what it was.
    fn nudge(&mut self, place: usize, i: usize, by: f32) -> f32 {
        let number = self.number(place, i);
        let before = *number;
        *number += by;
        before
    }

    fn restore(&mut self, place: usize, i: usize, before: f32) {
        *self.number(place, i) = before;
    }

    fn number(&mut self, place: usize, i: usize) -> &mut f32 {
        let count = self.params.iter().len();
        if place < count {
            let (id, _) = self.params.iter().nth(place).expect("place is below count");
            &mut self.params.get_mut(id)[i]
        } else {
            &mut self.inputs[place - count].data_mut()[i]
        }
    }
}

/// Weights in ±1 that differ from element to element.
fn weights(shape: Shape) -> Tensor {
    let mut rng = Stream::new(0x5eed, 1);
    let values: Vec<f32> = (0..shape.len()).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    Tensor::new(shape, &values)
}

/// A tensor of numbers in ±1 without a pattern that could hide an error. Two calls give two different tensors: were the operands
/// of an operation equal, one could stand in for the other unseen.
pub fn ramp(shape: impl Into<Shape>) -> Tensor {
    static CALLS: AtomicU64 = AtomicU64::new(2);
    let shape = shape.into();
    let mut rng = Stream::new(0x5eed, CALLS.fetch_add(1, Ordering::Relaxed));
    let values: Vec<f32> = (0..shape.len()).map(|_| 2.0 * rng.uniform() - 1.0).collect();
    Tensor::new(shape, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checker itself can fail: a derivative that is 1% off is found.
    #[test]
    #[should_panic(expected = "gradient of input 0[0]")]
    fn a_wrong_factor_in_a_derivative_is_found() {
        GradCheck::new(Params::builder().build(0)).input(ramp([3, 4])).assert(|tape, x| {
            let value = Tensor::new([3, 4], &x[0].data().iter().map(|x| 2.0 * x).collect::<Vec<_>>());
            let id = x[0].id();
            tape.record("wrong", value, move |dy, sweep| {
                let wrong: Vec<f32> = dy.data().iter().map(|dy| 2.02 * dy).collect();
                sweep.give(id, Tensor::new(dy.shape(), &wrong));
            })
        });
    }

    #[test]
    #[should_panic(expected = "gradient of w[0] is 0")]
    fn a_gradient_that_is_never_given_is_found() {
        let mut builder = Params::builder();
        let w = builder.add("w", [2], crate::params::Init::Ones);
        GradCheck::new(builder.build(0)).assert(|tape, _| {
            let value = Tensor::new([2], tape.param(w));
            tape.record("forgetful", value, |_, _| {})
        });
    }
}
