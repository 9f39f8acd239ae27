//! The right operand of a product in any of its forms: the weight of a layer, as it is stored.

use super::matmul::{Accumulate, Mat, MatMut, PackedOperand, product_on_team};
use super::quantized::QuantizedMatrix;

/// A right operand b (k, n).
#[derive(Clone, Copy)]
pub enum RightOperand<'a> {
    /// f32, not packed: for one product.
    Plain(Mat<'a>),
    /// f32, in the order in which the micro-kernel reads it: for many products.
    Packed(PackedOperand<'a>),
    /// Quantised; the matrix is (n, k).
    Quantized(&'a QuantizedMatrix),
}

impl RightOperand<'_> {
    /// c = a·b, or c += a·b, on the team; `finish` as for [`product_on_team`].
    ///
    /// # Panics
    /// If the shapes do not fit, or a product with quantised weights is to be added.
    #[track_caller]
    pub fn product_on_team(
        &self,
        c: MatMut,
        a: Mat,
        accumulate: Accumulate,
        finish: impl Fn(usize, usize, &mut [f32]) + Sync,
    ) {
        match self {
            Self::Plain(b) => product_on_team(c, a, *b, accumulate, finish),
            Self::Packed(b) => b.product_on_team(c, a, accumulate, finish),
            Self::Quantized(w) => {
                let overwrites = accumulate == Accumulate::Overwrite;
                assert!(overwrites, "a product with {} weights overwrites", w.format());
                w.product_on_team(c, a, finish);
            }
        }
    }
}
