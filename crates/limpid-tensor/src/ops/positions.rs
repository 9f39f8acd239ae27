//! Position embeddings: y[i] = x[i] + table[positions[i]].

use crate::kernels::elementwise::add_assign;
use crate::kernels::embedding::{embedding_backward, embedding_forward};
use crate::params::ParamId;
use crate::tape::{Operation, Tape, TracedTable, Var};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The table of position embeddings.
#[derive(Clone, Copy)]
pub enum PositionTable<'a> {
    /// A trained table (longest, c).
    Learned(ParamId),
    /// A fixed table (longest, c), such as the sinusoids of [`crate::kernels::positions`].
    Fixed(&'a Tensor),
}

impl Tape<'_> {
    /// `x[i] + table[positions[i]]`: (n, c) -> (n, c).
    ///
    /// # Panics
    /// If there is not one position per row, or a position is not below the length of the table.
    #[track_caller]
    pub fn add_positions(&mut self, x: &Var, positions: &Arc<[u32]>, table: PositionTable) -> Var {
        let (n, c) = x.rows_cols();
        assert_eq!(
            n,
            positions.len(),
            "positions: {} positions for x {}",
            positions.len(),
            x.shape()
        );
        let mut y = Tensor::uninit([n, c]);
        let rows = match table {
            PositionTable::Learned(id) => self.param(id),
            PositionTable::Fixed(tensor) => tensor.data(),
        };
        embedding_forward(y.data_mut(), rows, positions, c, 1.0);
        add_assign(y.data_mut(), x.data());
        self.trace(&[&y], || Operation::Positions {
            x: x.value().clone(),
            positions: positions.clone(),
            table: match table {
                PositionTable::Learned(id) => TracedTable::Learned(id),
                PositionTable::Fixed(tensor) => TracedTable::Fixed(tensor.clone()),
            },
        });
        let learned = match table {
            PositionTable::Learned(id) => Some((id, positions.clone())),
            PositionTable::Fixed(_) => None,
        };
        let x = x.id();
        self.record("positions", y, move |dy, pass| {
            // Forward: y[i] = x[i] + table[positions[i]]. So dx = dy, and dtable[positions[i]] +=
            // dy[i].
            if let Some((table, positions)) = learned
                && let Some((dtable, accumulate)) = pass.slot(table)
            {
                embedding_backward(dtable, accumulate, dy.data(), &positions, c, 1.0);
            }
            pass.add_gradient(x, dy);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::{Init, Params};

    #[test]
    fn gradients_agree_with_central_differences_for_learned_and_fixed_positions() {
        let mut builder = Params::builder();
        let table = builder.add("positions", [4, 3], Init::Normal(1.0));
        let fixed = random_tensor([4, 3]);
        let positions: Arc<[u32]> = [0, 1, 2, 0, 1].into();
        GradCheck::new(builder.build(1)).input(random_tensor([5, 3])).assert(|t, x| {
            let learned = t.add_positions(&x[0], &positions, PositionTable::Learned(table));
            t.add_positions(&learned, &positions, PositionTable::Fixed(&fixed))
        });
    }
}
