//! The residual stream, to which each sub-layer adds its output.
//!
//! ```text
//! post-norm:  x = norm(x + f(x))                    pre-norm:  x = x + f(norm(x))
//! ```
//!
//! Without residual connections the sum is f(…) alone. In a pre-norm model the sum of one sub-layer
//! is followed by the norm of the next, and both are one fused operation: the stream keeps the
//! output of a sub-layer as `pending` until then.

use super::{LayerConfig, Norm, NormPlacement, Residual};
use limpid_tensor::tape::{Tape, Var};

/// x, and the branch that is still to be added to it.
pub(super) struct Stream<'a> {
    x: Var,
    pending: Option<Var>,
    config: &'a LayerConfig,
}

impl<'a> Stream<'a> {
    /// A stream that starts with embeddings.
    pub fn new(x: Var, config: &'a LayerConfig) -> Self {
        Self { x, pending: None, config }
    }

    /// The stream: after a post-norm layer its output, after a pre-norm layer without the pending
    /// branch.
    pub fn x(&self) -> &Var {
        &self.x
    }

    /// The branch that is still to be added to x, after a pre-norm layer.
    pub fn pending(&self) -> Option<&Var> {
        self.pending.as_ref()
    }

    /// x, and the pending branch if there is one.
    pub fn vars(&self) -> Vec<Var> {
        std::iter::once(&self.x).chain(&self.pending).cloned().collect()
    }

    /// The stream of [`Stream::vars`].
    pub fn from_vars(vars: &[Var], config: &'a LayerConfig) -> Self {
        Self { x: vars[0].clone(), pending: vars.get(1).cloned(), config }
    }

    /// The stream as an edit of `stream` changes it; then the pending branch has been added.
    #[track_caller]
    pub fn edited(self, t: &mut Tape) -> Self {
        if !t.edits("stream") {
            return self;
        }
        let x = match &self.pending {
            Some(branch) => t.add(&self.x, branch),
            None => self.x,
        };
        Self::new(t.edited("stream", x), self.config)
    }

    /// The same, named `stream` on the trace.
    pub fn marked(self, t: &mut Tape) -> Self {
        t.mark("stream", &self.x, self.pending.as_ref());
        self
    }

    /// Its configuration.
    pub fn config(&self) -> &'a LayerConfig {
        self.config
    }

    /// Whether a layer leaves a branch pending.
    pub fn leaves_pending(&self) -> bool {
        let LayerConfig { norm, options, .. } = self.config;
        *norm == NormPlacement::Pre && options.residual == Residual::Added
    }

    /// Runs one sub-layer `f` with its norm, dropout on its output, and the residual around it.
    #[track_caller]
    pub fn sublayer(
        self,
        t: &mut Tape,
        norm: &Norm,
        f: impl FnOnce(&mut Tape, &Var) -> Var,
    ) -> Self {
        let config = self.config;
        let branch = |t: &mut Tape, x: &Var| {
            let branch = f(t, x);
            t.dropout(&branch, config.dropout)
        };
        match (config.norm, config.options.residual) {
            (NormPlacement::Post, Residual::Added) => {
                let branch = branch(t, &self.x);
                Self::new(norm.add(t, &self.x, &branch).1, config)
            }
            (NormPlacement::Pre, Residual::Added) => {
                let (x, normed) = self.normed(t, norm);
                Self { x, pending: Some(branch(t, &normed)), config }
            }
            (NormPlacement::Post, Residual::None) => {
                let branch = branch(t, &self.x);
                Self::new(norm.forward(t, &branch), config)
            }
            (NormPlacement::Pre, Residual::None) => {
                let normed = norm.forward(t, &self.x);
                Self::new(branch(t, &normed), config)
            }
        }
    }

    /// Runs two sub-layers on the same x, each through its norm, and adds both: pre-norm, with
    /// dropout on both outputs. The two norms may be one.
    #[track_caller]
    pub fn parallel(
        self,
        t: &mut Tape,
        [first_norm, second_norm]: [&Norm; 2],
        first: impl FnOnce(&mut Tape, &Var) -> Var,
        second: impl FnOnce(&mut Tape, &Var) -> Var,
    ) -> Self {
        let config = self.config;
        let (x, normed) = self.normed(t, first_norm);
        let other = match std::ptr::eq(first_norm, second_norm) {
            true => normed.clone(),
            false => second_norm.forward(t, &x),
        };
        let [a, b] = [first(t, &normed), second(t, &other)].map(|y| t.dropout(&y, config.dropout));
        Self { x, pending: Some(t.add(&a, &b)), config }
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
    /// one, which leaves nothing pending.
    #[track_caller]
    pub fn finish(self, t: &mut Tape, norm: Option<&Norm>) -> Var {
        match norm {
            Some(norm) => self.normed(t, norm).1,
            None => self.x,
        }
    }
}
