//! Concatenation of columns: y = [a | b | …], (n, i), (n, j), … -> (n, i + j + …).

use crate::tape::{Operation, Tape, Var, VarId};
use crate::team::{for_each_chunk, rows_per_task};
use crate::tensor::Tensor;

/// The largest number of matrices: a state, a context and an embedding.
const MOST: usize = 3;

impl Tape<'_> {
    /// Concatenates the columns of matrices: both directions of a recurrent encoder; a state, a
    /// context and an embedding.
    ///
    /// # Panics
    /// If the numbers of rows differ, or there are no matrices or more than three.
    #[track_caller]
    pub fn concat(&mut self, parts: &[&Var]) -> Var {
        assert!(
            (1..=MOST).contains(&parts.len()),
            "concat: one to {MOST} matrices, not {}",
            parts.len()
        );
        let n = parts[0].rows_cols().0;
        let mut from: [Option<(Option<VarId>, usize)>; MOST] = [None; MOST];
        for (from, part) in from.iter_mut().zip(parts) {
            let (rows, width) = part.rows_cols();
            assert_eq!(rows, n, "concat: {} beside {}", parts[0].shape(), part.shape());
            *from = Some((part.id(), width));
        }
        let total: usize = from.iter().flatten().map(|(_, width)| width).sum();
        let mut y = Tensor::uninit([n, total]);
        let rows = rows_per_task(total);
        for_each_chunk(y.data_mut(), rows * total, |task, y| {
            for (i, mut row) in y.chunks_exact_mut(total).enumerate() {
                for part in parts {
                    let (to, rest) = row.split_at_mut(part.rows_cols().1);
                    to.copy_from_slice(part.value().row(task * rows + i));
                    row = rest;
                }
            }
        });
        self.trace(&[&y], || Operation::Concat {
            parts: parts.iter().map(|part| part.value().clone()).collect(),
        });
        self.record("concat", y, move |dy, pass| {
            // Forward: columns first..first + width of y are the part. So its gradient is those
            // columns of dy.
            let mut first = 0;
            for (id, width) in from.into_iter().flatten() {
                if pass.needs_gradient(id) {
                    let mut dx = Tensor::uninit([n, width]);
                    for_each_chunk(dx.data_mut(), rows * width, |task, dx| {
                        for (i, dx) in dx.chunks_exact_mut(width).enumerate() {
                            dx.copy_from_slice(&dy.row(task * rows + i)[first..first + width]);
                        }
                    });
                    pass.add_gradient(id, dx);
                }
                first += width;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::Params;
    use crate::tape::{Tape, Var};
    use crate::tensor::Tensor;

    #[test]
    fn columns_and_their_gradients_are_in_the_order_of_the_operands() {
        let check = GradCheck::new(Params::builder().build(0));
        check
            .input(random_tensor([3, 2]))
            .input(random_tensor([3, 4]))
            .input(random_tensor([3, 1]))
            .assert(|t, x| {
                let all = t.concat(&[&x[0], &x[1], &x[2]]);
                t.concat(&[&all, &x[0]])
            });
        let params = Params::builder().build(0);
        let row = |data: &[f32]| Var::constant(Tensor::new([1, data.len()], data));
        let y = Tape::inference(&params).concat(&[&row(&[1.0, 2.0]), &row(&[3.0])]);
        assert_eq!(y.data(), [1.0, 2.0, 3.0]);
    }

    #[test]
    #[should_panic(expected = "concat: (2,3) beside (1,3)")]
    fn different_numbers_of_rows_panic_and_name_both() {
        let params = Params::builder().build(0);
        let [a, b] = [2, 1].map(|n| Var::constant(Tensor::zeros([n, 3])));
        Tape::inference(&params).concat(&[&a, &b]);
    }
}
