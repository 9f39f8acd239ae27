//! The weights of a traced attention, any range of them: the attention itself keeps none.
//!
//! ```
//! use limpid_tensor::kernels::attention::{Causality, Span};
//! use limpid_tensor::ops::{AttentionPlan, AttentionWeights, Columns};
//! use limpid_tensor::params::Params;
//! use limpid_tensor::tape::{Tape, Trace, Var};
//! use limpid_tensor::tensor::Tensor;
//! use std::sync::Arc;
//!
//! let params = Params::builder().build(0);
//! let mut trace = Trace::default();
//! let spans: Arc<[Span]> = [Span { start: 0, len: 2 }].into();
//! let plan = AttentionPlan::new(1, 1.0, Causality::Causal, &spans, &spans);
//! let x = Var::constant(Tensor::new([2, 1], &[0.0, 0.0]));
//! let columns = || Columns { of: x.clone(), first: 0, width: 1 };
//! let mut tape = Tape::inference(&params).with_trace(&mut trace);
//! tape.attention(columns(), columns(), columns(), &plan);
//! drop(tape);
//!
//! let weights = AttentionWeights::of(&trace.steps[0].operation, &params).expect("an attention");
//! let mut rows = vec![0.0; 4];
//! weights.rows(&mut rows, 0, 0..2);
//! assert_eq!(rows, [1.0, 0.0, 0.5, 0.5]);
//! ```

use super::attention::AttentionPlan;
use super::relative_bias::Distances;
use crate::kernels::attention::{Heads, attention_weights};
use crate::params::Params;
use crate::tape::{Operation, Tape, TracedAdditive, TracedHeads};
use std::ops::Range;

/// The attention weights of the first sequence of a traced pass.
pub struct AttentionWeights<'a> {
    source: Source<'a>,
    /// h.
    pub heads: usize,
    /// t: queries.
    pub queries: usize,
    /// s: keys.
    pub keys: usize,
}

enum Source<'a> {
    /// Computed from queries and keys.
    Scaled {
        q: &'a TracedHeads,
        k: &'a TracedHeads,
        plan: &'a AttentionPlan,
        distances: Option<Distances>,
    },
    /// Kept by a recurrent layer.
    Additive(&'a TracedAdditive),
}

fn heads(of: &TracedHeads) -> Heads<'_> {
    Heads { data: of.of.data(), stride: of.of.rows_cols().1, first: of.first, width: of.width }
}

impl<'a> AttentionWeights<'a> {
    /// Those of an operation; `None` if it does not attend, or is a recurrent layer over several
    /// sequences.
    pub fn of(operation: &'a Operation, params: &Params) -> Option<Self> {
        match operation {
            Operation::Attention { q, k, plan, .. } => {
                let distances = Tape::inference(params).distances(plan);
                let length = |spans: &[crate::kernels::attention::Span]| {
                    spans.first().map_or(0, |span| span.len)
                };
                Some(Self {
                    heads: plan.heads,
                    queries: length(&plan.q_spans),
                    keys: length(&plan.k_spans),
                    source: Source::Scaled { q, k, plan, distances },
                })
            }
            Operation::Recurrent(traced) => {
                let additive = traced.attention.as_ref()?;
                if additive.spans.len() != 1 {
                    return None;
                }
                Some(Self {
                    heads: 1,
                    queries: additive.alphas.rows_cols().0,
                    keys: additive.spans.first().map_or(0, |span| span.len),
                    source: Source::Additive(additive),
                })
            }
            _ => None,
        }
    }

    /// The weights of some queries of a head, (rows, s).
    ///
    /// # Panics
    /// If there is no such head or row, or `to` has another length.
    #[track_caller]
    pub fn rows(&self, to: &mut [f32], head: usize, rows: Range<usize>) {
        match &self.source {
            Source::Scaled { q, k, plan, distances } => {
                let spec = plan.spec(distances.as_ref());
                attention_weights(to, heads(q), heads(k), &spec, (0, head, rows));
            }
            Source::Additive(additive) => {
                assert!(
                    head == 0 && rows.end <= self.queries && to.len() == rows.len() * self.keys,
                    "attention weights: head {head}, rows {rows:?} of {}",
                    self.queries
                );
                for (to, row) in to.chunks_exact_mut(self.keys.max(1)).zip(rows) {
                    to.copy_from_slice(&additive.alphas.row(row)[..self.keys]);
                }
            }
        }
    }
}
