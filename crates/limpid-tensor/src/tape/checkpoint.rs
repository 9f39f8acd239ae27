//! Activation checkpointing: a part of the forward pass whose intermediate tensors are dropped and
//! computed again in the backward pass (Chen et al. 2016; PyTorch's `checkpoint`).
//!
//! ```text
//! forward:   x ──────────── f ────────────▶ y        nothing inside f is kept
//! backward:  x ──f, recorded──▶ y,  then  dx ◀── the steps of f in reverse ◀── dy
//! ```
//!
//! The gradients have the same bits as without: dropout masks are a function of their number, and
//! the steps run in the same order.

use super::{BackwardPass, Tape, Var};
use crate::tensor::Tensor;

impl<'a> Tape<'a> {
    /// Keeps only what goes into and out of [`Tape::checkpoint`], instead of all activations.
    pub fn with_activation_checkpointing(mut self) -> Self {
        self.checkpoints = self.recording.is_some();
        self
    }

    /// Whether parts of the forward pass are to be computed again in the backward pass.
    pub fn checkpoints_activations(&self) -> bool {
        self.checkpoints
    }

    /// f(inputs), computed again in the backward pass. All variables that f uses must be among its
    /// inputs, and it must compute the same when it is called again.
    pub fn checkpoint<const N: usize>(
        &mut self,
        inputs: Vec<Var>,
        f: impl Fn(&mut Tape, &[Var]) -> [Var; N] + 'static,
    ) -> [Var; N] {
        let Some(gradients) = self.recording.take() else { return f(self, &inputs) };
        let (dropout, mask_count) = (self.dropout, self.mask_count);
        let constants: Vec<Var> = inputs.iter().map(|x| Var::constant(x.value().clone())).collect();
        // The same kernels run as in a recorded pass, and what they save is dropped at once.
        self.discards = true;
        let outputs = f(self, &constants).map(|y| y.value);
        self.discards = false;
        self.recording = Some(gradients);
        let again = move |tape: &mut Tape, inputs: &[Var]| {
            (tape.dropout, tape.mask_count) = (dropout, mask_count);
            f(tape, inputs)
        };
        // In a box: a step has little room.
        let again = Box::new((inputs, again));
        self.record_many("checkpoint", outputs, move |dys, pass| {
            let (inputs, again) = *again;
            pass.differentiate(&inputs, dys, again);
        })
    }
}

impl BackwardPass<'_> {
    /// Runs f on these inputs, recorded, and adds the gradients that follow from those of its
    /// outputs.
    fn differentiate<const N: usize>(
        &mut self,
        inputs: &[Var],
        dys: [Option<Tensor>; N],
        f: impl Fn(&mut Tape, &[Var]) -> [Var; N],
    ) {
        let gradients = &mut *self.gradients;
        let (steps, vars) = (gradients.steps.len(), gradients.by_var.len());
        let mut tape = Tape { recording: Some(gradients), ..Tape::inference(self.params) };
        let mut leaf = |x: &Var| match x.id() {
            Some(_) => tape.leaf(x.value().clone()),
            None => x.clone(),
        };
        let leaves: Vec<Var> = inputs.iter().map(&mut leaf).collect();
        let outputs = f(&mut tape, &leaves);
        for (y, dy) in outputs.iter().zip(dys) {
            if let Some(dy) = dy {
                self.add_gradient(y.id(), dy);
            }
        }
        self.gradients.run_down_to(self.params, steps);
        for (x, leaf) in inputs.iter().zip(leaves) {
            if let Some(dx) = leaf.id().and_then(|id| self.take(id)) {
                self.add_gradient(x.id(), dx);
            }
        }
        self.gradients.by_var.truncate(vars);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::activation::Activation;
    use crate::params::{Init, ParamId, Params};
    use crate::tape::{DropoutStream, Gradients};

    /// Two layers with dropout, of which the second uses a constant and the input of the first.
    fn layers(t: &mut Tape, x: &[Var], w: [ParamId; 2]) -> [Var; 2] {
        let h = t.linear(&x[0], w[0], None, Activation::Gelu);
        let h = t.dropout(&h, 0.3);
        let sum = t.add(&h, &x[0]);
        let sum = t.add(&sum, &x[1]);
        let y = t.linear(&sum, w[1], None, Activation::Tanh);
        [t.dropout(&y, 0.2), sum]
    }

    fn params() -> (Params, [ParamId; 2]) {
        let mut builder = Params::builder();
        let w = ["a", "b"].map(|name| builder.add(name, [5, 5], Init::Normal(0.5)));
        (builder.build(1), w)
    }

    fn forward(t: &mut Tape, x: &Var, w: [ParamId; 2], is_checkpointed: bool) -> Var {
        let constant = Var::constant(Tensor::new([3, 5], &[0.25; 15]));
        let run = |t: &mut Tape, x: &Var| -> [Var; 2] {
            let inputs = vec![x.clone(), constant.clone()];
            match is_checkpointed {
                true => t.checkpoint(inputs, move |t, x| layers(t, x, w)),
                false => layers(t, &inputs, w),
            }
        };
        let [y, sum] = run(t, x);
        let [z, _] = run(t, &y);
        t.add(&z, &sum)
    }

    #[test]
    fn gradients_agree_with_central_differences() {
        let (params, w) = params();
        GradCheck::new(params)
            .input(random_tensor([3, 5]))
            .dropout(DropoutStream { seed: 3, pass: 2 })
            .assert(|t, x| forward(t, &x[0], w, true));
    }

    #[test]
    fn values_and_gradients_have_the_same_bits_as_without() {
        let (params, w) = params();
        let x = random_tensor([3, 5]);
        let weights = random_tensor([3, 5]);
        let run = |is_checkpointed| {
            let mut gradients = Gradients::new(&params);
            let mut tape = Tape::training(&params, &mut gradients)
                .with_dropout(DropoutStream { seed: 3, pass: 2 });
            let x = tape.leaf(x.clone());
            let y = forward(&mut tape, &x, w, is_checkpointed);
            let loss = tape.weighted_sum(&y, &weights);
            tape.backward(&loss);
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
            let dx = gradients.of(x.id().unwrap()).unwrap();
            [bits(y.data()), bits(gradients.flat()), bits(dx.data())]
        };
        assert_eq!(run(true), run(false));
    }

    #[test]
    fn nothing_of_a_checkpoint_is_kept_until_the_backward_pass() {
        let (params, w) = params();
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients);
        let x = tape.leaf(random_tensor([3, 5]));
        let before = x.value().clone();
        tape.checkpoint(vec![x], move |t, x| {
            let h = t.linear(&x[0], w[0], None, Activation::Gelu);
            [t.linear(&h, w[1], None, Activation::None)]
        });
        assert_eq!(tape.recording.as_ref().unwrap().steps.len(), 1);
        assert_eq!(before.shape().len(), 15);
    }
}
