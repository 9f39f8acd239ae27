//! The mean of the rows of each sequence.

use crate::kernels::attention::Span;
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;
use std::sync::Arc;

impl Tape<'_> {
    /// The mean row of each sequence: (n, c) -> (sequences, c).
    ///
    /// # Panics
    /// If a sequence is empty or ends behind x.
    #[track_caller]
    pub fn span_mean(&mut self, x: &Var, spans: &Arc<[Span]>) -> Var {
        let (n, c) = x.rows_cols();
        let fits = |span: &Span| span.len > 0 && span.start + span.len <= n;
        assert!(
            spans.iter().all(fits),
            "span mean: sequences that are not rows of x {}",
            x.shape()
        );
        let mut y = Tensor::zeros([spans.len(), c]);
        for (span, y) in spans.iter().zip(y.data_mut().chunks_mut(c.max(1))) {
            for row in x.data()[span.start * c..(span.start + span.len) * c].chunks(c.max(1)) {
                y.iter_mut().zip(row).for_each(|(y, x)| *y += x);
            }
            y.iter_mut().for_each(|y| *y /= span.len as f32);
        }
        self.trace(&[&y], || Operation::SpanMean { x: x.value().clone(), spans: spans.clone() });
        let (x, spans) = (x.id(), spans.clone());
        self.record("span_mean", y, move |dy, pass| {
            // Forward: y[s] = Σ x[row] / len. So dx[row] = dy[s] / len, and 0 for other rows.
            let mut dx = Tensor::zeros([n, c]);
            for (span, dy) in spans.iter().zip(dy.data().chunks(c.max(1))) {
                let rows = &mut dx.data_mut()[span.start * c..(span.start + span.len) * c];
                for row in rows.chunks_mut(c.max(1)) {
                    row.iter_mut().zip(dy).for_each(|(dx, dy)| *dx = dy / span.len as f32);
                }
            }
            pass.add_gradient(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::Params;

    #[test]
    fn gradients_agree_with_central_differences_and_the_mean_is_the_mean() {
        let spans: Arc<[Span]> = [Span { start: 0, len: 3 }, Span { start: 4, len: 1 }].into();
        GradCheck::new(Params::builder().build(0))
            .input(random_tensor([5, 3]))
            .assert(|t, x| t.span_mean(&x[0], &spans));
        let x = Var::constant(Tensor::new([5, 1], &[1.0, 2.0, 6.0, 9.0, 7.0]));
        let params = Params::builder().build(0);
        assert_eq!(Tape::inference(&params).span_mean(&x, &spans).data(), [3.0, 7.0]);
    }
}
