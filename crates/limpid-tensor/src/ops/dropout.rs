//! Dropout on the tape: a no-op unless the tape has a dropout stream.

use crate::kernels::dropout::{DropoutMask, dropout_in_place};
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// x with each element dropped with probability `p` and the others divided by 1 − p. At
    /// inference, x itself.
    ///
    /// # Panics
    /// If p is not in [0, 1).
    #[track_caller]
    pub fn dropout(&mut self, x: &Var, p: f32) -> Var {
        assert!((0.0..1.0).contains(&p), "dropout: p = {p} is not in [0, 1)");
        if p == 0.0 {
            return x.clone();
        }
        let Some((seed, stream)) = self.next_mask() else { return x.clone() };
        let mask = DropoutMask { seed, stream, p };
        let mut y = Tensor::new(x.shape(), x.data());
        dropout_in_place(y.data_mut(), mask);
        let x = x.id();
        self.record("dropout", y, move |mut dy, pass| {
            // Forward: y = x·keep/(1−p). So dx = dy·keep/(1−p), with the same mask, recomputed.
            if dy.try_data_mut().is_none() {
                dy = Tensor::new(dy.shape(), dy.data());
            }
            dropout_in_place(dy.data_mut(), mask);
            pass.add_gradient(x, dy);
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::Params;
    use crate::tape::{DropoutStream, Gradients, Tape, Var};
    use crate::tensor::Tensor;

    #[test]
    fn the_backward_pass_uses_the_mask_of_the_forward_pass() {
        GradCheck::new(Params::builder().build(0))
            .input(random_tensor([7, 11]))
            .dropout(DropoutStream { seed: 5, pass: 1 })
            .assert(|t, x| {
                let once = t.dropout(&x[0], 0.4);
                let sum = t.add(&once, &x[0]);
                t.dropout(&sum, 0.2)
            });
    }

    #[test]
    fn nothing_is_dropped_without_a_stream_and_two_masks_of_a_pass_differ() {
        let params = Params::builder().build(0);
        let x = Var::constant(Tensor::new([1, 64], &[1.0; 64]));
        assert_eq!(Tape::inference(&params).dropout(&x, 0.5).data(), x.data());
        let mut gradients = Gradients::new(&params);
        let mut tape = Tape::training(&params, &mut gradients)
            .with_dropout(DropoutStream { seed: 1, pass: 0 });
        let (a, b) = (tape.dropout(&x, 0.5), tape.dropout(&x, 0.5));
        assert_ne!(a.data(), b.data());
    }
}
