//! Rotary positions on the tape.

use crate::kernels::rotary::{RotaryShape, Turn, rotary};
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;

impl Tape<'_> {
    /// Turns the heads at the start of each row by the angles of its position, from `table` (n, r),
    /// which [`rotary_table`](crate::kernels::rotary::rotary_table) makes; the other columns stay
    /// as they are: (n, w) -> (n, w).
    ///
    /// # Panics
    /// If the heads do not fit the rows, or the table has other rows than x.
    #[track_caller]
    pub fn rotary(&mut self, x: &Var, table: &Tensor, shape: RotaryShape) -> Var {
        let (n, width) = x.rows_cols();
        let mut y = Tensor::uninit([n, width]);
        rotary(y.data_mut(), x.data(), table.data(), width, shape, Turn::Forward);
        self.trace(&[&y], || {
            let (x, table) = (x.value().clone(), table.clone());
            Operation::Rotary { x, table, shape }
        });
        let (x, table) = (x.id(), table.clone());
        self.record("rotary", y, move |dy, pass| {
            // Forward: y = R·x with a rotation R. So dx = Rᵀ·dy, the rotation back.
            let mut dx = Tensor::uninit([n, width]);
            rotary(dx.data_mut(), dy.data(), table.data(), width, shape, Turn::Back);
            pass.add_gradient(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::kernels::rotary::rotary_table;
    use crate::params::Params;

    #[test]
    fn gradients_agree_with_central_differences() {
        let positions = [0_u32, 1, 2, 0, 1, 40];
        // A factor on the table scales the rotation, and so its gradient.
        for (heads, width, rotated, factor) in [(1, 2, 2, 1.0), (3, 8, 4, 1.0), (2, 5, 2, 1.3)] {
            let frequencies: Vec<f32> = (0..rotated / 2).map(|i| 0.7_f32.powi(i)).collect();
            let mut table = Tensor::uninit([6, rotated as usize]);
            rotary_table(table.data_mut(), &positions, &frequencies, factor);
            let shape = RotaryShape { heads, width, rotated: rotated as usize };
            GradCheck::new(Params::builder().build(0))
                .input(random_tensor([6, heads * width + 3]))
                .assert(|t, x| t.rotary(&x[0], &table, shape));
        }
    }
}
