//! Cross-entropy over the rows of each sequence: which token an answer begins and ends at.
//!
//! ```text
//! L = weight · Σ_sequences Σ_j cross_entropy(z[rows of the sequence][j], target[j])
//! ```
//!
//! Shapes: `z` (n, k), one target per sequence and column, counted from the first row of the
//! sequence. The gradient is computed in the forward pass: it is as large as z, and shares the
//! exponentials.

use crate::kernels::attention::Span;
use crate::kernels::cross_entropy::{Gradient, cross_entropy};
use crate::kernels::elementwise::scale_forward;
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// weight · Σ cross-entropy of each column of each sequence against `targets` (sequences, k),
    /// those that are not [`IGNORE`](crate::kernels::cross_entropy::IGNORE).
    ///
    /// # Panics
    /// If there is not one target per sequence and column, or a target is not below the length of
    /// its sequence.
    #[track_caller]
    pub fn span_loss(&mut self, z: &Var, spans: &[Span], targets: &[u32], weight: f32) -> Var {
        let (n, k) = z.rows_cols();
        assert_eq!(
            targets.len(),
            spans.len() * k,
            "span loss: {} targets for {} sequences of {k} columns",
            targets.len(),
            spans.len()
        );
        let gradient = if self.is_recording() { Gradient::Compute } else { Gradient::Skip };
        let (mut dz, mut total) = (Tensor::zeros([n, k]), 0.0_f64);
        let longest = spans.iter().map(|span| span.len).max().unwrap_or(0);
        let mut column = Tensor::uninit([longest]);
        for (span, targets) in spans.iter().zip(targets.chunks(k.max(1))) {
            for (j, target) in targets.iter().enumerate() {
                let column = &mut column.data_mut()[..span.len];
                let at = |row: usize| (span.start + row) * k + j;
                column.iter_mut().enumerate().for_each(|(row, x)| *x = z.data()[at(row)]);
                let mut loss = [0.0];
                cross_entropy(&mut loss, column, &[*target], 0.0, weight, gradient);
                total += f64::from(loss[0]);
                let dz = dz.data_mut();
                column.iter().enumerate().for_each(|(row, dx)| dz[at(row)] = *dx);
            }
        }
        let loss = Tensor::scalar((f64::from(weight) * total) as f32);
        let z = z.id();
        self.record("span_loss", loss, move |dy, pass| {
            // Forward: dz is ∂L/∂z already, times dL.
            let mut scaled = Tensor::uninit([n, k]);
            scale_forward(scaled.data_mut(), dz.data(), dy.item());
            pass.add_gradient(z, scaled);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::cross_entropy::IGNORE;
    use crate::params::Params;

    const SPANS: [Span; 3] =
        [Span { start: 0, len: 4 }, Span { start: 4, len: 1 }, Span { start: 5, len: 3 }];

    #[test]
    fn gradients_agree_with_central_differences() {
        let targets = [3, 0, 0, 0, IGNORE, 2];
        GradCheck::new(Params::builder().build(0))
            .input(random_tensor([8, 2]))
            .assert(|t, x| t.span_loss(&x[0], &SPANS, &targets, 0.37));
    }

    #[test]
    fn equal_scores_lose_the_logarithm_of_the_length() {
        let params = Params::builder().build(0);
        let z = Var::constant(Tensor::zeros([8, 2]));
        let loss = Tape::inference(&params).span_loss(&z, &SPANS, &[1, 2, 0, 0, 2, 1], 0.5);
        let want = 0.5 * (2.0 * 4.0_f32.ln() + 2.0 * 3.0_f32.ln());
        assert!((loss.data()[0] - want).abs() < 1e-6);
    }

    #[test]
    #[should_panic(expected = "cross-entropy: target 4 of 4 classes")]
    fn a_target_behind_its_sequence_panics() {
        let params = Params::builder().build(0);
        let z = Var::constant(Tensor::zeros([4, 1]));
        Tape::inference(&params).span_loss(&z, &SPANS[..1], &[4], 1.0);
    }
}
