//! The operations of a forward pass with their operands, so that any number of it can be followed
//! back to what it was computed from.
//!
//! ```
//! use limpid_tensor::kernels::activation::Activation;
//! use limpid_tensor::params::{Init, Params};
//! use limpid_tensor::tape::{Operation, Tape, Trace, Var};
//! use limpid_tensor::tensor::Tensor;
//!
//! let mut builder = Params::builder();
//! let w = builder.add("w", [3, 2], Init::Normal(1.0));
//! let params = builder.build(1);
//! let mut trace = Trace::default();
//! let mut tape = Tape::inference(&params).with_trace(&mut trace);
//! let x = Var::constant(Tensor::new([1, 2], &[1.0, -1.0]));
//! let y = tape.linear(&x, w, None, Activation::None);
//! drop(tape);
//! assert!(matches!(trace.steps[0].operation, Operation::Linear { .. }));
//! assert_eq!(trace.producer(y.value()), Some((0, 0)));
//! assert_eq!(trace.producer(x.value()), None);
//! ```

use super::{Tape, Var};
use crate::kernels::activation::Activation;
use crate::kernels::attention::Span;
use crate::kernels::recurrent::{Direction, TimeOrder};
use crate::kernels::rotary::RotaryShape;
use crate::ops::{
    AdditiveWeights, AttentionPlan, BatchNormParams, HeadNormParams, RecurrentWeights,
    RmsNormParams,
};
use crate::params::ParamId;
use crate::tensor::Tensor;
use std::sync::Arc;

/// Adjacent heads in some columns of a tensor.
#[derive(Clone, Debug)]
pub struct TracedHeads {
    /// The matrix.
    pub of: Tensor,
    /// The first column of the first head.
    pub first: usize,
    /// Columns of one head: d.
    pub width: usize,
}

/// The table of position embeddings that was added.
#[derive(Clone, Debug)]
pub enum TracedTable {
    /// A trained table (longest, c).
    Learned(ParamId),
    /// A computed one.
    Fixed(Tensor),
}

/// A recurrent layer in one direction. Rows are by time, those of states by sequence.
#[derive(Clone, Debug)]
pub struct TracedRecurrence {
    /// The inputs (n, i), without the context of attention.
    pub x: Tensor,
    /// Its parameters.
    pub weights: RecurrentWeights,
    /// Which row is which step of which sequence.
    pub order: Arc<TimeOrder>,
    /// In which direction it runs.
    pub direction: Direction,
    /// h before the first step (b, h), and c of an LSTM.
    pub initial: (Tensor, Option<Tensor>),
    /// The gates after their activations (n, g·h), in PyTorch's order.
    pub gates: Tensor,
    /// h before each step (n, h).
    pub previous: Tensor,
    /// c before each step (n, h) of an LSTM; empty of others.
    pub cell_states: Tensor,
    /// Additive attention before each step.
    pub attention: Option<TracedAdditive>,
}

/// Additive attention: α = softmax(vᵀ·tanh(W·s + u)), context = Σ α·h.
#[derive(Clone, Debug)]
pub struct TracedAdditive {
    /// W and v.
    pub weights: AdditiveWeights,
    /// u (n_source, k).
    pub keys: Tensor,
    /// h (n_source, m).
    pub values: Tensor,
    /// The rows of each source.
    pub spans: Arc<[Span]>,
    /// W·s (n, k).
    pub queries: Tensor,
    /// α (n, s), s the longest source.
    pub alphas: Tensor,
    /// Contexts (n, m).
    pub contexts: Tensor,
}

/// What was computed, and from what. Letters are those of the operation's method of [`Tape`].
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields have the names of the operations' arguments")]
pub enum Operation {
    /// y = a + b.
    Add { a: Tensor, b: Tensor },
    /// y = factor·x.
    Scale { x: Tensor, factor: f32 },
    /// `y[i] = scale·table[ids[i]]`.
    Embedding { ids: Arc<[u32]>, table: ParamId, scale: f32 },
    /// `y[i] = x[rows[i]]`.
    Rows { x: Tensor, rows: Arc<[u32]> },
    /// `y[i] = x[i] + table[positions[i]]`.
    Positions { x: Tensor, positions: Arc<[u32]>, table: TracedTable },
    /// y = φ(x·Wᵀ + b).
    Linear { x: Tensor, w: ParamId, b: Option<ParamId>, phi: Activation },
    /// y = φ(g)·u, where x = (g, u) side by side.
    Gated { x: Tensor, phi: Activation },
    /// y = (x − μ)/√(σ² + ε)·γ + β.
    LayerNorm { x: Tensor, gamma: ParamId, beta: Option<ParamId>, eps: f32 },
    /// x = a + b, and y = (x − μ)/√(σ² + ε)·γ + β: two outputs.
    AddNorm { a: Tensor, b: Tensor, gamma: ParamId, beta: Option<ParamId>, eps: f32 },
    /// y = x/√(mean x² + ε)·γ.
    RmsNorm { x: Tensor, params: RmsNormParams },
    /// x = a + b, and y = x/√(mean x² + ε)·γ: two outputs.
    AddRmsNorm { a: Tensor, b: Tensor, params: RmsNormParams },
    /// The heads of queries and keys, each by its root mean square.
    HeadNorm { x: Tensor, params: HeadNormParams },
    /// y = (x − μ)/√(σ² + ε)·γ + β with running statistics.
    BatchNorm { x: Tensor, params: BatchNormParams, eps: f32 },
    /// Queries and keys turned by the angles of their positions; table (n, r).
    Rotary { x: Tensor, table: Tensor, shape: RotaryShape },
    /// z = softmax(scale·q·kᵀ + bias + mask)·v for each sequence and head.
    Attention { q: TracedHeads, k: TracedHeads, v: TracedHeads, plan: AttentionPlan },
    /// y = exp(x)/Σ exp(x), by row.
    Softmax { x: Tensor },
    /// y = [a | b | …].
    Concat { parts: Vec<Tensor> },
    /// A recurrent layer: outputs are its states by time, with attention the contexts, then the
    /// last h and c of each sequence.
    Recurrent(Box<TracedRecurrence>),
    /// Changed from outside.
    Edited { x: Tensor },
    /// The mean row of each sequence.
    SpanMean { x: Tensor, spans: Arc<[Span]> },
}

/// One operation of a forward pass.
#[derive(Clone, Debug)]
pub struct TracedStep {
    /// The scopes in which it ran, `layers.0.self_attention.` say; empty outside of all.
    pub scope: String,
    /// What was computed.
    pub operation: Operation,
    /// What came out.
    pub outputs: Vec<Tensor>,
}

/// The operations of a forward pass, in their order. It keeps all their tensors in memory.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// One for each operation.
    pub steps: Vec<TracedStep>,
    /// Places that the model names, in their order.
    pub marks: Vec<Mark>,
}

/// A place that the model names: a tensor, or two whose sum is meant and that a later operation
/// adds.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its scopes and its name: `layers.0.stream`.
    pub name: String,
    /// The tensor, or both.
    pub parts: Vec<Tensor>,
}

impl Trace {
    /// The step and the number of its output that a tensor is; `None` for an input of the pass.
    pub fn producer(&self, tensor: &Tensor) -> Option<(usize, usize)> {
        self.steps.iter().enumerate().find_map(|(i, step)| {
            let output = step.outputs.iter().position(|output| output.shares_data(tensor))?;
            Some((i, output))
        })
    }

    /// The step and the number of its output that a mark stands for.
    pub fn marked(&self, mark: &Mark) -> Option<(usize, usize)> {
        let [x, branch] = match &mark.parts[..] {
            [x] => return self.producer(x),
            [x, branch] => [x, branch],
            _ => return None,
        };
        let adds = |step: &TracedStep| match &step.operation {
            Operation::Add { a, b }
            | Operation::AddNorm { a, b, .. }
            | Operation::AddRmsNorm { a, b, .. } => a.shares_data(x) && b.shares_data(branch),
            _ => false,
        };
        self.steps.iter().position(adds).map(|step| (step, 0))
    }
}

impl<'a> Tape<'a> {
    /// Keeps every operation with its operands in `trace`.
    pub fn with_trace(mut self, trace: &'a mut Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Names a tensor on the trace, if there is one, or the sum of two that is still to be added.
    pub fn mark(&mut self, name: &str, x: &Var, branch: Option<&Var>) {
        if let Some(trace) = &mut self.trace {
            let parts = std::iter::once(x).chain(branch).map(|var| var.value().clone()).collect();
            trace.marks.push(Mark { name: format!("{}{name}", self.path), parts });
        }
    }

    /// Puts an operation on the trace, if there is one.
    pub(crate) fn trace(&mut self, outputs: &[&Tensor], operation: impl FnOnce() -> Operation) {
        if let Some(trace) = &mut self.trace {
            trace.steps.push(TracedStep {
                scope: self.path.clone(),
                operation: operation(),
                outputs: outputs.iter().map(|output| (*output).clone()).collect(),
            });
        }
    }
}
