//! Embedding lookup, and rows of a matrix by index.

use crate::kernels::embedding::{embedding_backward, embedding_forward, embedding_of_quantized};
use crate::kernels::matmul::Accumulate;
use crate::params::ParamId;
use crate::tape::{Operation, Tape, Var};
use crate::tensor::Tensor;
use std::sync::Arc;

impl Tape<'_> {
    /// `scale · table[ids[i]]` for each token: (n) -> (n, c).
    ///
    /// # Panics
    /// If the table is not a matrix, or an id is not below its number of rows.
    #[track_caller]
    pub fn embedding(&mut self, ids: &Arc<[u32]>, table: ParamId, scale: f32) -> Var {
        let shape = self.param_shape(table);
        assert!(shape.rank() == 2, "embedding: a table (rows, width) was expected, not {shape}");
        let c = shape.dim(1);
        let mut y = Tensor::uninit([ids.len(), c]);
        match self.quantized(table) {
            Some(table) => embedding_of_quantized(y.data_mut(), table, ids, scale),
            None => embedding_forward(y.data_mut(), self.param(table), ids, c, scale),
        }
        self.trace(&[&y], || Operation::Embedding { ids: ids.clone(), table, scale });
        if !self.trains(table) {
            return Var::constant(y);
        }
        let ids = ids.clone();
        self.record("embedding", y, move |dy, pass| {
            let Some((dtable, accumulate)) = pass.slot(table) else { return };
            embedding_backward(dtable, accumulate, dy.data(), &ids, c, scale);
        })
    }

    /// Rows `rows` of x: (n, c) -> (rows, c), such as the CLS positions, the masked positions or
    /// the last tokens.
    ///
    /// # Panics
    /// If x is not a matrix, or a row is not below n.
    #[track_caller]
    pub fn rows(&mut self, x: &Var, rows: &Arc<[u32]>) -> Var {
        let (n, c) = x.rows_cols();
        let mut y = Tensor::uninit([rows.len(), c]);
        embedding_forward(y.data_mut(), x.data(), rows, c, 1.0);
        self.trace(&[&y], || Operation::Rows { x: x.value().clone(), rows: rows.clone() });
        let (x, rows) = (x.id(), rows.clone());
        self.record("rows", y, move |dy, pass| {
            // Forward: y[i] = x[rows[i]]. So dx[rows[i]] += dy[i], and 0 elsewhere.
            let mut dx = Tensor::uninit([n, c]);
            embedding_backward(dx.data_mut(), Accumulate::Overwrite, dy.data(), &rows, c, 1.0);
            pass.add_gradient(x, dx);
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::gradcheck::{GradCheck, random_tensor};
    use crate::params::{Init, Params};

    #[test]
    fn gradients_agree_with_central_differences_for_repeated_tokens_and_rows() {
        let mut builder = Params::builder();
        let table = builder.add("table", [5, 3], Init::Normal(1.0));
        GradCheck::new(builder.build(1)).input(random_tensor([4, 3])).assert(|t, x| {
            let words = t.embedding(&[4, 1, 4, 0].into(), table, 2.5);
            let sum = t.add(&words, &x[0]);
            t.rows(&sum, &[3, 3, 0].into())
        });
    }
}
