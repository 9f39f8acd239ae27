//! y = a + b, and y = factor · x.

use crate::kernels::elementwise::{add_forward, scale_forward};
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// a + b, of the same shape.
    ///
    /// # Panics
    /// If the shapes differ.
    #[track_caller]
    pub fn add(&mut self, a: &Var, b: &Var) -> Var {
        assert_eq!(a.shape(), b.shape(), "add: {} + {}", a.shape(), b.shape());
        let mut y = Tensor::uninit(a.shape());
        add_forward(y.data_mut(), a.data(), b.data());
        self.trace(&[&y], || Operation::Add { a: a.value().clone(), b: b.value().clone() });
        let (a, b) = (a.id(), b.id());
        self.record("add", y, move |dy, pass| {
            // Forward: y = a + b. So da = db = dy.
            pass.add_gradient(a, dy.clone());
            pass.add_gradient(b, dy);
        })
    }

    /// factor · x.
    pub fn scale(&mut self, x: &Var, factor: f32) -> Var {
        let mut y = Tensor::uninit(x.shape());
        scale_forward(y.data_mut(), x.data(), factor);
        self.trace(&[&y], || Operation::Scale { x: x.value().clone(), factor });
        let x = x.id();
        self.record("scale", y, move |dy, pass| {
            // Forward: y = factor·x. So dx = factor·dy.
            let mut dx = Tensor::uninit(dy.shape());
            scale_forward(dx.data_mut(), dy.data(), factor);
            pass.add_gradient(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::Params;

    #[test]
    fn gradients_agree_with_central_differences_even_when_a_variable_is_used_twice() {
        GradCheck::new(Params::builder().build(0))
            .input(random_tensor([3, 5]))
            .input(random_tensor([3, 5]))
            .assert(|t, x| {
                let doubled = t.add(&x[0], &x[0]);
                let scaled = t.scale(&doubled, -0.7);
                t.add(&scaled, &x[1])
            });
    }
}
