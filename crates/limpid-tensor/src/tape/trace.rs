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

use super::Tape;
use crate::kernels::activation::Activation;
use crate::kernels::attention::Span;
use crate::kernels::rotary::RotaryShape;
use crate::ops::{AttentionPlan, BatchNormParams, HeadNormParams, RmsNormParams};
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
    /// A recurrent layer, with or without additive attention: its operands are not kept.
    Recurrent,
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
}

impl Trace {
    /// The step and the number of its output that a tensor is; `None` for an input of the pass.
    pub fn producer(&self, tensor: &Tensor) -> Option<(usize, usize)> {
        self.steps.iter().enumerate().find_map(|(i, step)| {
            let output = step.outputs.iter().position(|output| output.shares_data(tensor))?;
            Some((i, output))
        })
    }
}

impl<'a> Tape<'a> {
    /// Keeps every operation with its operands in `trace`.
    pub fn with_trace(mut self, trace: &'a mut Trace) -> Self {
        self.trace = Some(trace);
        self
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
