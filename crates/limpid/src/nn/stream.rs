//! The residual stream: what runs through all layers, and what each sub-layer adds to it.
//!
//! ```text
//! post-norm:  x = norm(x + f(x))                    pre-norm:  x = x + f(norm(x))
//! ```
//!
//! In a pre-norm model the sum of one sub-layer and the norm of the next stand side by side, so they are one operation:
//! the stream keeps what a sub-layer has made as `pending` until the next norm adds it.

use super::Norm;
use crate::config::{NormPlacement, Residual};
use limpid_tensor::tape::{Tape, Var};

/// x, and a branch that has not been added to it yet.
pub struct Stream {
    x: Var,
    pending: Option<Var>,
    residual: Residual,
}

impl Stream {
    /// A stream that begins with embeddings.
    pub fn new(x: Var) -> Self {
        Self::with(x, Residual::Added)
    }

    /// The same; without residuals nothing is added: post-norm x = norm(f(x)), pre-norm x = f(norm(x)).
    pub fn with(x: Var, residual: Residual) -> Self {
        Self { x, pending: None, residual }
    }

    /// The stream as it stands: after a post-norm layer what it has made, of a pre-norm one without the branch that is pending.
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
                let made = f(t, &self.x);
                let made = t.dropout(&made, dropout);
                Self::with(norm.forward(t, &made), residual)
            }
            (NormPlacement::Pre, Residual::None) => {
                let normed = norm.forward(t, &self.x);
                let made = f(t, &normed);
                Self::with(t.dropout(&made, dropout), residual)
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

    /// The end of the stack: a final norm where there is one (pre-norm), x itself where there is none (post-norm).
    #[track_caller]
    pub fn finish(self, t: &mut Tape, norm: Option<&Norm>) -> Var {
        match (norm, self.pending) {
            (Some(norm), pending) => Self { pending, ..Self::new(self.x) }.normed(t, norm).1,
            (None, Some(branch)) => t.add(&self.x, &branch),
            (None, None) => self.x,
        }
    }
}
