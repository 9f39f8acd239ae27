//! Changing a forward pass from outside: a head switched off, a state taken from another input.
//!
//! ```
//! use limpid_tensor::params::Params;
//! use limpid_tensor::tape::{Edit, Tape, Var};
//! use limpid_tensor::tensor::Tensor;
//!
//! struct Zero;
//! impl Edit for Zero {
//!     fn wants(&self, name: &str) -> bool {
//!         name == "layers.0.heads"
//!     }
//!     fn edit(&mut self, _: &str, value: &mut [f32], columns: usize) {
//!         assert_eq!(columns, 2);
//!         value.fill(0.0);
//!     }
//! }
//! let params = Params::builder().build(0);
//! let mut edit = Zero;
//! let mut tape = Tape::inference(&params).with_edit(&mut edit);
//! let x = Var::constant(Tensor::new([1, 2], &[3.0, 4.0]));
//! let y = tape.scope("layers.0", |t| t.edited("heads", x.clone()));
//! assert_eq!(y.data(), [0.0, 0.0]);
//! assert_eq!(tape.edited("other", x).data(), [3.0, 4.0]);
//! ```

use super::{Operation, Tape, Var};
use crate::tensor::Tensor;

/// Changes named intermediate tensors of a forward pass, like a PyTorch hook that returns a value.
pub trait Edit {
    /// Whether to call [`Edit::edit`] for this name.
    fn wants(&self, name: &str) -> bool;
    /// Changes the rows of the tensor with this name, each of so many columns.
    fn edit(&mut self, name: &str, value: &mut [f32], columns: usize);
}

impl<'a> Tape<'a> {
    /// Lets `edit` change intermediate tensors.
    ///
    /// # Panics
    /// If this tape records: an edit has no gradient.
    #[track_caller]
    pub fn with_edit(mut self, edit: &'a mut dyn Edit) -> Self {
        assert!(!self.is_recording(), "an edit of a pass that is recorded");
        self.edit = Some(edit);
        self
    }

    /// Whether somebody wants to change the tensor with this name.
    pub fn edits(&self, name: &str) -> bool {
        let Some(edit) = &self.edit else { return false };
        edit.wants(&format!("{}{name}", self.path))
    }

    /// x (n, c), or what the edit makes of it.
    #[track_caller]
    pub fn edited(&mut self, name: &str, x: Var) -> Var {
        if !self.edits(name) {
            return x;
        }
        let full = format!("{}{name}", self.path);
        let mut y = Tensor::new(x.shape(), x.data());
        let columns = x.rows_cols().1;
        if let Some(edit) = &mut self.edit {
            edit.edit(&full, y.data_mut(), columns);
        }
        self.trace(&[&y], || Operation::Edited { x: x.value().clone() });
        Var::constant(y)
    }
}
