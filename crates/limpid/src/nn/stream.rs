//! The residual stream, to which each sub-layer adds its output.
//!
//! ```text
//! post-norm:  x = norm(x + f(x))                    pre-norm:  x = x + f(norm(x))
//! ```
//!
//! In a pre-norm model the sum of one sub-layer is followed by the norm of the next, and both are
//! one fused operation: the stream keeps the output of a sub-layer as `pending` until then.

use super::Norm;
use crate::nn::{NormPlacement, Residual};
use limpid_tensor::tape::{Tape, Var};

/// x, and the branch that is still to be added to it.
pub struct Stream {
    x: Var,
    pending: Option<Var>,
    residual: Residual,
}

impl Stream {
    /// A stream that starts with embeddings.
    pub fn new(x: Var) -> Self {
        Self::with(x, Residual::Added)
    }

    /// The same with or without residual connections; without, post-norm is x = norm(f(x)) and
    /// pre-norm x = f(norm(x)).
    pub fn with(x: Var, residual: Residual) -> Self {
        Self { x, pending: None, residual }
    }

    /// The stream: after a post-norm layer its output, after a pre-norm layer without the pending
    /// branch.
    pub fn x(&self) -> &Var {
        &self.x
    }

    /// Runs one sub-layer `f` with its norm, dropout on its output, and the residual around it.
    #[track_caller]
    pub fn sublayer(
        self,
        t: &mut Tape,
        placement: NormPlacement,
        norm: &Norm,
        dropout: f32,
        f: impl FnOnce(&mut Tape, &Var) -> Var,
    ) -> Self {
        let residual = self.residual;
        match (placement, residual) {
            (NormPlacement::Post, Residual::Added) => {
                let branch = f(t, &self.x);
                let branch = t.dropout(&branch, dropout);
                Self::new(norm.add(t, &self.x, &branch).1)
            }
            (NormPlacement::Pre, Residual::Added) => {
                let (x, normed) = self.normed(t, norm);
                let branch = f(t, &normed);
                Self { x, pending: Some(t.dropout(&branch, dropout)), residual }
            }
            (NormPlacement::Post, Residual::None) => {
                let branch = f(t, &self.x);
                let branch = t.dropout(&branch, dropout);
                Self::with(norm.forward(t, &branch), residual)
            }
            (NormPlacement::Pre, Residual::None) => {
                let normed = norm.forward(t, &self.x);
                let branch = f(t, &normed);
                Self::with(t.dropout(&branch, dropout), residual)
            }
        }
    }

    /// (x, norm(x)), with the pending branch added to x first.
    #[track_caller]
    fn normed(self, t: &mut Tape, norm: &Norm) -> (Var, Var) {
        match self.pending {
            Some(branch) => norm.add(t, &self.x, &branch),
            None => {
                let normed = norm.forward(t, &self.x);
                (self.x, normed)
            }
        }
    }

    /// The output of the stack: after the final norm of a pre-norm stack, x itself of a post-norm
    /// one.
    #[track_caller]
    pub fn finish(self, t: &mut Tape, norm: Option<&Norm>) -> Var {
        match (norm, self.pending) {
            (Some(norm), pending) => Self { pending, ..Self::new(self.x) }.normed(t, norm).1,
            (None, Some(branch)) => t.add(&self.x, &branch),
            (None, None) => self.x,
        }
    }
}
