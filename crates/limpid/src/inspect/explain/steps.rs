//! The terms of every operation but norms and attention.

use super::{Computed, Explainer, Origin, Output, constant, term};
use crate::error::{InspectError, Result};
use limpid_tensor::kernels::activation::{Activation, activate};
use limpid_tensor::params::ParamId;
use limpid_tensor::tape::{Operation, TracedStep, TracedTable};
use limpid_tensor::tensor::Tensor;

/// What an operation is called.
pub fn operation_name(operation: &Operation) -> &'static str {
    match operation {
        Operation::Add { .. } => "add",
        Operation::Scale { .. } => "scale",
        Operation::Embedding { .. } => "embedding",
        Operation::Rows { .. } => "rows",
        Operation::Positions { .. } => "positions",
        Operation::Linear { .. } => "linear",
        Operation::Gated { .. } => "gated",
        Operation::LayerNorm { .. } => "layer_norm",
        Operation::AddNorm { .. } => "add_norm",
        Operation::RmsNorm { .. } => "rms_norm",
        Operation::AddRmsNorm { .. } => "add_rms_norm",
        Operation::HeadNorm { .. } => "head_norm",
        Operation::BatchNorm { .. } => "batch_norm",
        Operation::Rotary { .. } => "rotary",
        Operation::Attention { .. } => "attention",
        Operation::Softmax { .. } => "softmax",
        Operation::Concat { .. } => "concat",
        Operation::Recurrent(_) => "recurrent",
        Operation::Edited { .. } => "edited",
        Operation::SpanMean { .. } => "span_mean",
        _ => "operation",
    }
}

/// φ(z), as the model computes it.
fn activated(phi: Activation, z: f64) -> f64 {
    let mut y = [z as f32];
    activate(&mut y, phi);
    f64::from(y[0])
}

impl Explainer<'_> {
    pub(super) fn output(&self, step: &TracedStep, at: Output) -> Result<Computed> {
        let Output { row, column, .. } = at;
        let name = operation_name(&step.operation);
        let copy = |formula, x: &Tensor, row, column| {
            Computed::sum(name, formula, vec![term([self.operand(x, row, column)])])
        };
        Ok(match &step.operation {
            Operation::Add { a, b } => {
                let terms = [a, b].map(|x| term([self.operand(x, row, column)]));
                Computed::sum(name, "y = a + b", terms.into())
            }
            Operation::Scale { x, factor } => {
                let factor = constant("factor", f64::from(*factor));
                let terms = vec![term([factor, self.operand(x, row, column)])];
                Computed::sum(name, "y = factor·x", terms)
            }
            Operation::Embedding { ids, table, scale } => {
                let weight = self.param(*table, ids[row] as usize, column)?;
                let terms = vec![term([constant("scale", f64::from(*scale)), weight])];
                let token = Some(ids[row]);
                Computed { token, ..Computed::sum(name, "y[i] = scale·table[id[i]]", terms) }
            }
            Operation::Rows { x, rows } => copy("y[i] = x[rows[i]]", x, rows[row] as usize, column),
            Operation::Positions { x, positions, table } => {
                let position = positions[row] as usize;
                let added = match table {
                    TracedTable::Learned(id) => self.param(*id, position, column)?,
                    TracedTable::Fixed(table) => {
                        constant("position", f64::from(table.row(position)[column]))
                    }
                };
                let terms = vec![term([self.operand(x, row, column)]), term([added])];
                Computed::sum(name, "y[i] = x[i] + table[position[i]]", terms)
            }
            Operation::Linear { x, w, b, phi } => self.linear(x, (*w, *b, *phi), at)?,
            Operation::Gated { x, phi } => {
                let f = x.rows_cols().1 / 2;
                let [gate, up] = [column, f + column].map(|column| self.operand(x, row, column));
                let value = activated(*phi, gate.value) * up.value;
                let terms = vec![super::Term { value, factors: vec![gate, up] }];
                Computed::sum(name, "y = φ(g)·u", terms)
            }
            Operation::Rotary { x, table, shape } => {
                let (head, within) = (column / shape.width, column % shape.width);
                if head >= shape.heads || within >= shape.rotated {
                    return Ok(copy("y = x: a column that is not turned", x, row, column));
                }
                let half = shape.rotated / 2;
                let (cos, sin) = table.row(row).split_at(half);
                let (i, other, sign) = match within < half {
                    true => (within, column + half, -1.0),
                    false => (within - half, column - half, 1.0),
                };
                let terms = vec![
                    term([self.operand(x, row, column), constant("cos", f64::from(cos[i]))]),
                    term([self.operand(x, row, other), constant("sin", sign * f64::from(sin[i]))]),
                ];
                Computed::sum(name, "y = x·cos(p·ω) ∓ x′·sin(p·ω)", terms)
            }
            Operation::Softmax { x } => {
                let exps = softmax_terms(x.row(row).iter().map(|x| f64::from(*x)));
                let (sum, own) = (exps.iter().sum::<f64>(), exps[column]);
                let terms = exps.into_iter().enumerate().map(|(j, value)| {
                    let factors = vec![self.operand(x, row, j)];
                    super::Term { value, factors }
                });
                let terms = terms.collect();
                let again = own / sum;
                let formula = "y = exp(x − max)/Σ exp(x − max)";
                Computed { sum, again, magnitude: again, ..Computed::sum(name, formula, terms) }
            }
            Operation::Concat { parts } => {
                let mut first = 0;
                let part = parts.iter().find(|part| {
                    let width = part.rows_cols().1;
                    let found = column < first + width;
                    first += if found { 0 } else { width };
                    found
                });
                let part = part.ok_or(InspectError::NoElement)?;
                copy("y = [a | b | …]", part, row, column - first)
            }
            Operation::SpanMean { x, spans } => {
                let span = spans[row];
                let share = || constant("1/length", 1.0 / span.len as f64);
                let rows = span.start..span.start + span.len;
                let terms = rows.map(|row| term([share(), self.operand(x, row, column)]));
                Computed::sum(name, "y = Σ x[row]/length", terms.collect())
            }
            Operation::Attention { .. } => {
                return self.attention(at.step)?.output(self, at);
            }
            Operation::Recurrent(_) => return self.recurrence(at.step)?.output(self, at),
            Operation::Edited { x } => {
                let value = f64::from(step.outputs[at.output].row(row)[column]);
                match value == f64::from(x.row(row)[column]) {
                    true => copy("y = x: not changed by the edit", x, row, column),
                    false => {
                        let terms = vec![term([constant("edit", value)])];
                        Computed::sum(name, "y: set by the edit", terms)
                    }
                }
            }
            _ => return self.normalized(step, at),
        })
    }

    fn linear(
        &self,
        x: &Tensor,
        (w, b, phi): (ParamId, Option<ParamId>, Activation),
        at: Output,
    ) -> Result<Computed> {
        if !self.params.adapters(w).is_empty() {
            let param = self.params.spec(w).name.clone();
            return Err(InspectError::Adapted { param }.into());
        }
        let Output { row, column, .. } = at;
        let products = (0..x.rows_cols().1)
            .map(|k| Ok(term([self.operand(x, row, k), self.param(w, column, k)?])));
        let bias = b.map(|b| Ok(term([self.param(b, 0, column)?])));
        let terms = products.chain(bias).collect::<Result<Vec<_>>>()?;
        let formula = match phi {
            Activation::None => "y = Σ x·w + b",
            _ => "y = φ(Σ x·w + b)",
        };
        let computed = Computed::sum("linear", formula, terms);
        Ok(Computed { again: activated(phi, computed.sum), ..computed })
    }
}

/// exp(x − max) of each element.
pub(super) fn softmax_terms(x: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let largest = x.clone().fold(f64::NEG_INFINITY, f64::max);
    x.map(|x| if largest.is_finite() { (x - largest).exp() } else { 0.0 }).collect()
}

impl Origin {
    /// The element to explain next, if there is one.
    pub fn element(&self) -> Option<super::Element> {
        match self {
            Origin::Element(element) => Some(*element),
            Origin::Param { .. } | Origin::Constant(_) => None,
        }
    }
}
