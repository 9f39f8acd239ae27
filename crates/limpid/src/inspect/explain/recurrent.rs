//! The terms of recurrent layers, and of the additive attention before their steps.
//!
//! ```text
//! tanh   h' = tanh(u)                       u = Σ x·w + b + Σ h·w + b, of each gate
//! GRU    h' = n + z·h − z·n                 r, z = σ(u),  n = tanh(Σ x·w + b + r·m),
//!                                           m = Σ h·w + b
//! LSTM   h' = o·tanh(c'),  c' = f·c + i·g   i, f, o = σ(u),  g = tanh(u)
//! additive attention: context = Σ α·h,  α = softmax of v·tanh(q + u),  q = Σ s·w
//! ```

use super::{
    Computed, Element, Explainer, Explanation, Factor, Origin, Output, RecurrentPart, Term,
    constant, term,
};
use crate::error::{InspectError, Result};
use limpid_tensor::kernels::attention::Span;
use limpid_tensor::kernels::recurrent::{Cell, Direction, TimeOrder};
use limpid_tensor::tape::{Operation, TracedAdditive, TracedRecurrence};
use limpid_tensor::tensor::Tensor;

const NAME: &str = "recurrent";

/// A recurrent layer of the pass.
#[derive(Clone, Copy)]
pub(super) struct Recurrence<'a> {
    step: usize,
    layer: &'a TracedRecurrence,
    states: &'a Tensor,
}

/// The letter of a gate, in PyTorch's order.
pub(super) fn gate_letter(cell: Cell, gate: usize) -> &'static str {
    let letters: &[&str] = match cell {
        Cell::Tanh => &["h"],
        Cell::Gru => &["r", "z", "n"],
        Cell::Lstm => &["i", "f", "g", "o"],
    };
    letters.get(gate).copied().unwrap_or("?")
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// The row of a step in the order of time, and which of the active sequences it is.
fn time_of(order: &TimeOrder, row: usize) -> Option<(usize, usize)> {
    let at = |t: usize| order.step(t).contains(&row).then(|| (t, row - order.step(t).start));
    (0..order.steps()).find_map(at)
}

impl<'a> Explainer<'a> {
    pub(super) fn recurrence(&self, step: usize) -> Result<Recurrence<'a>> {
        let traced = self.step(step)?;
        match &traced.operation {
            Operation::Recurrent(layer) => {
                Ok(Recurrence { step, layer, states: &traced.outputs[0] })
            }
            _ => Err(InspectError::NoElement.into()),
        }
    }
}

impl Recurrence<'_> {
    fn h(&self) -> usize {
        self.states.rows_cols().1
    }

    /// The row before this one in the direction of the layer, or the rank of its sequence.
    fn before(&self, row: usize) -> Result<Before> {
        let order = &self.layer.order;
        let (t, rank) = time_of(order, row).ok_or(InspectError::NoElement)?;
        let other = match self.layer.direction {
            Direction::Forward => t.checked_sub(1),
            Direction::Backward => Some(t + 1).filter(|t| *t < order.steps()),
        };
        let found = other.map(|t| order.step(t)).filter(|rows| rank < rows.len());
        Ok(match found {
            Some(rows) => Before::Row(rows.start + rank),
            None => Before::Sequence(order.sequences()[rank] as usize),
        })
    }

    fn part(&self, part: RecurrentPart, row: usize, column: usize, value: f64) -> Factor {
        let element = Element::Recurrent { step: self.step, part, row, column };
        Factor { value, origin: Origin::Element(element) }
    }

    /// h before a step.
    fn previous(&self, explainer: &Explainer, row: usize, column: usize) -> Result<Factor> {
        Ok(match self.before(row)? {
            Before::Row(before) => {
                let step = self.step;
                let element = Element::Output { step, output: 0, row: before, column };
                let value = f64::from(self.states.row(before)[column]);
                Factor { value, origin: Origin::Element(element) }
            }
            Before::Sequence(i) => initial(explainer, &self.layer.initial.0, i, column),
        })
    }

    /// c before a step of an LSTM.
    fn cell_before(&self, explainer: &Explainer, row: usize, column: usize) -> Result<Factor> {
        let value = f64::from(self.layer.cell_states.row(row)[column]);
        Ok(match (self.before(row)?, &self.layer.initial.1) {
            (Before::Row(before), _) => self.part(RecurrentPart::Cell, before, column, value),
            (Before::Sequence(i), Some(c)) => initial(explainer, c, i, column),
            (Before::Sequence(_), None) => return Err(InspectError::NoElement.into()),
        })
    }

    fn gate(&self, gate: usize, row: usize, column: usize) -> Factor {
        let value = f64::from(self.layer.gates.row(row)[gate * self.h() + column]);
        self.part(RecurrentPart::Gate(gate), row, column, value)
    }

    /// Σ x·w + b of a row of the stacked weights; the context of attention follows x.
    fn input_terms(
        &self,
        explainer: &Explainer,
        (row, unit): (usize, usize),
        terms: &mut Vec<Term>,
    ) -> Result<()> {
        let (x, weights) = (&self.layer.x, self.layer.weights);
        let i = x.rows_cols().1;
        for k in 0..i {
            let w = explainer.param(weights.w_ih, unit, k)?;
            terms.push(term([explainer.operand(x, row, k), w]));
        }
        if let Some(attention) = &self.layer.attention {
            for k in 0..attention.contexts.rows_cols().1 {
                let w = explainer.param(weights.w_ih, unit, i + k)?;
                terms.push(term([explainer.operand(&attention.contexts, row, k), w]));
            }
        }
        terms.push(term([explainer.param(weights.b_ih, 0, unit)?]));
        Ok(())
    }

    /// Σ h·w + b.
    fn state_terms(
        &self,
        explainer: &Explainer,
        (row, unit): (usize, usize),
        terms: &mut Vec<Term>,
    ) -> Result<()> {
        let weights = self.layer.weights;
        for k in 0..self.h() {
            let h = self.previous(explainer, row, k)?;
            terms.push(term([h, explainer.param(weights.w_hh, unit, k)?]));
        }
        terms.push(term([explainer.param(weights.b_hh, 0, unit)?]));
        Ok(())
    }

    fn gate_terms(
        &self,
        explainer: &Explainer,
        gate: usize,
        row: usize,
        column: usize,
    ) -> Result<Computed> {
        let (cell, unit) = (self.layer.weights.cell, gate * self.h() + column);
        let mut terms = Vec::new();
        self.input_terms(explainer, (row, unit), &mut terms)?;
        if (cell, gate) == (Cell::Gru, 2) {
            let mut recurrent = Vec::new();
            self.state_terms(explainer, (row, unit), &mut recurrent)?;
            let m = recurrent.iter().map(|term| term.value).sum();
            let m = self.part(RecurrentPart::Candidate, row, column, m);
            terms.push(term([self.gate(0, row, column), m]));
        } else {
            self.state_terms(explainer, (row, unit), &mut terms)?;
        }
        let (formula, phi): (_, fn(f64) -> f64) = match (cell, gate) {
            (Cell::Tanh, _) => ("h′ = tanh(Σ x·w + b + Σ h·w + b)", f64::tanh),
            (Cell::Gru, 2) => ("n = tanh(Σ x·w + b + r·m)", f64::tanh),
            (Cell::Lstm, 2) => ("g = tanh(Σ x·w + b + Σ h·w + b)", f64::tanh),
            _ => ("σ(Σ x·w + b + Σ h·w + b)", sigmoid),
        };
        let computed = Computed::sum(NAME, formula, terms);
        Ok(Computed { again: phi(computed.sum), ..computed })
    }

    /// c′ = f·c + i·g.
    fn cell_terms(&self, explainer: &Explainer, row: usize, column: usize) -> Result<Computed> {
        if self.layer.weights.cell != Cell::Lstm {
            return Err(InspectError::NoElement.into());
        }
        let [i, f, g] = [0, 1, 2].map(|gate| self.gate(gate, row, column));
        let terms = vec![term([f, self.cell_before(explainer, row, column)?]), term([i, g])];
        Ok(Computed::sum(NAME, "c′ = f·c + i·g", terms))
    }

    /// The new state.
    fn state(&self, explainer: &Explainer, row: usize, column: usize) -> Result<Computed> {
        match self.layer.weights.cell {
            Cell::Tanh => self.gate_terms(explainer, 0, row, column),
            Cell::Gru => {
                let [z, n] = [1, 2].map(|gate| self.gate(gate, row, column));
                let h = self.previous(explainer, row, column)?;
                let minus = Factor { value: -n.value, ..n.clone() };
                let terms = vec![term([n]), term([z.clone(), h]), term([z, minus])];
                Ok(Computed::sum(NAME, "h′ = n + z·h − z·n", terms))
            }
            Cell::Lstm => {
                let cell = self.cell_terms(explainer, row, column)?;
                let squashed = self.part(RecurrentPart::Cell, row, column, cell.sum.tanh());
                let gate = self.gate(3, row, column);
                // c′ may be the small difference of large terms, and tanh′ ≤ 1.
                let magnitude = gate.value * cell.magnitude;
                let terms = vec![term([gate, squashed])];
                let computed = Computed::sum(NAME, "h′ = o·tanh(c′)", terms);
                Ok(Computed { magnitude: magnitude.max(computed.magnitude), ..computed })
            }
        }
    }

    /// An element of what the layer has computed: states, contexts, last states.
    pub(super) fn output(&self, explainer: &Explainer, at: Output) -> Result<Computed> {
        let attends = self.layer.attention.is_some();
        match (at.output, attends) {
            (0, _) => self.state(explainer, at.row, at.column),
            (1, true) => self.context(explainer, at),
            (output, _) => {
                let order = &self.layer.order;
                let rank = order.sequences().iter().position(|s| *s as usize == at.row);
                let rank = rank.ok_or(InspectError::NoElement)?;
                let mut steps = (0..order.steps()).filter(|t| rank < order.step(*t).len());
                let last = match self.layer.direction {
                    Direction::Forward => steps.next_back(),
                    Direction::Backward => steps.min(),
                };
                let last = last.map(|t| order.step(t).start + rank);
                let hidden = if attends { 2 } else { 1 };
                let mut magnitude = 0.0;
                let factor = match (last, output == hidden) {
                    (Some(row), true) => explainer.operand(self.states, row, at.column),
                    (Some(row), false) => {
                        let cell = self.cell_terms(explainer, row, at.column)?;
                        magnitude = cell.magnitude;
                        self.part(RecurrentPart::Cell, row, at.column, cell.sum)
                    }
                    // An empty sequence: its initial state.
                    (None, true) => initial(explainer, &self.layer.initial.0, at.row, at.column),
                    (None, false) => return Err(InspectError::NoElement.into()),
                };
                let computed = Computed::sum(NAME, "the last state", vec![term([factor])]);
                Ok(Computed { magnitude: magnitude.max(computed.magnitude), ..computed })
            }
        }
    }

    fn attention(&self) -> Result<&TracedAdditive> {
        Ok(self.layer.attention.as_ref().ok_or(InspectError::NoElement)?)
    }

    /// The rows of the source that a row attends to.
    fn span(&self, row: usize) -> Result<Span> {
        let (_, rank) = time_of(&self.layer.order, row).ok_or(InspectError::NoElement)?;
        Ok(self.attention()?.spans[self.layer.order.sequences()[rank] as usize])
    }

    fn context(&self, explainer: &Explainer, at: Output) -> Result<Computed> {
        let (attention, span) = (self.attention()?, self.span(at.row)?);
        let terms = (0..span.len).map(|j| {
            let key = span.start + j;
            let (step, query) = (self.step, at.row);
            let element = Element::AttentionWeight { step, head: 0, query, key };
            let value = f64::from(attention.alphas.row(at.row)[j]);
            let weight = Factor { value, origin: Origin::Element(element) };
            term([weight, explainer.operand(&attention.values, key, at.column)])
        });
        Ok(Computed::sum("additive_attention", "c = Σ α·h", terms.collect()))
    }

    /// q = Σ s·w, of the state before the step.
    fn query(&self, explainer: &Explainer, row: usize, column: usize) -> Result<Computed> {
        let w = self.attention()?.weights.query;
        let product = |k| {
            let s = self.previous(explainer, row, k)?;
            Ok(term([s, explainer.param(w, column, k)?]))
        };
        let terms = (0..self.h()).map(product).collect::<Result<Vec<_>>>()?;
        Ok(Computed::sum("additive_attention", "q = Σ s·w", terms))
    }

    /// The two summands inside of tanh(q + u).
    fn energy(&self, explainer: &Explainer, row: usize, key: usize, column: usize) -> Result<Term> {
        let attention = self.attention()?;
        let q = f64::from(attention.queries.row(row)[column]);
        let u = explainer.operand(&attention.keys, key, column);
        let factors = vec![self.part(RecurrentPart::Query, row, column, q), u];
        Ok(Term { value: factors.iter().map(|factor| factor.value).sum(), factors })
    }

    fn score_terms(&self, explainer: &Explainer, row: usize, key: usize) -> Result<Vec<Term>> {
        let attention = self.attention()?;
        let one = |column| {
            let z = self.energy(explainer, row, key, column)?.value;
            let squashed = self.part(RecurrentPart::Energy { key }, row, column, z.tanh());
            Ok(term([explainer.param(attention.weights.v, 0, column)?, squashed]))
        };
        (0..attention.queries.rows_cols().1).map(one).collect()
    }

    /// The checked span of a row, of which a key is one.
    fn seen(&self, [head, row, key]: [usize; 3]) -> Result<Span> {
        let span = self.span(row)?;
        match head == 0 && (span.start..span.start + span.len).contains(&key) {
            true => Ok(span),
            false => Err(InspectError::NoElement.into()),
        }
    }

    /// α = exp(score − max)/Σ exp(score − max).
    pub(super) fn weight(&self, explainer: &Explainer, at: [usize; 3]) -> Result<Explanation> {
        let (span, [head, query, key]) = (self.seen(at)?, at);
        let keys = span.start..span.start + span.len;
        let score = |key| {
            let terms = self.score_terms(explainer, query, key)?;
            Ok(terms.iter().map(|term| term.value).sum())
        };
        let scores = keys.clone().map(score).collect::<Result<Vec<f64>>>()?;
        let exps = super::steps::softmax_terms(scores.iter().copied());
        let total: f64 = exps.iter().sum();
        let step = self.step;
        let terms = keys.zip(scores.iter().zip(&exps)).map(|(key, (score, exp))| {
            let element = Element::AttentionScore { step, head, query, key };
            let score = Factor { value: *score, origin: Origin::Element(element) };
            Term { value: *exp, factors: vec![score] }
        });
        let again = exps[key - span.start] / total;
        let formula = "α = exp(score − max)/Σ exp(score − max)";
        let computed = Computed::sum("additive_attention", formula, terms.collect());
        let computed = Computed { sum: total, again, magnitude: again, ..computed };
        let value = self.attention()?.alphas.row(query)[key - span.start];
        let element = Element::AttentionWeight { step, head, query, key };
        let name = format!("{}weights", explainer.step(step)?.scope);
        Ok(computed.explanation(element, name, value))
    }

    /// score = Σ v·tanh(q + u).
    pub(super) fn score(&self, explainer: &Explainer, at: [usize; 3]) -> Result<Explanation> {
        let (_, [head, query, key]) = (self.seen(at)?, at);
        let terms = self.score_terms(explainer, query, key)?;
        let computed = Computed::sum("additive_attention", "score = Σ v·tanh(q + u)", terms);
        let element = Element::AttentionScore { step: self.step, head, query, key };
        let name = format!("{}scores", explainer.step(self.step)?.scope);
        let value = computed.sum as f32;
        Ok(computed.explanation(element, name, value))
    }

    /// A number inside of the layer.
    pub(super) fn inside(
        &self,
        explainer: &Explainer,
        part: RecurrentPart,
        row: usize,
        column: usize,
    ) -> Result<Explanation> {
        let columns = match part {
            RecurrentPart::Query | RecurrentPart::Energy { .. } => {
                self.attention()?.queries.rows_cols().1
            }
            _ => self.h(),
        };
        let cell = self.layer.weights.cell;
        let has_gate = !matches!(part, RecurrentPart::Gate(gate) if gate >= cell.gates());
        if row >= self.states.rows_cols().0 || column >= columns || !has_gate {
            return Err(InspectError::NoElement.into());
        }
        let (computed, value, what) = match part {
            RecurrentPart::Gate(gate) => {
                let computed = self.gate_terms(explainer, gate, row, column)?;
                let value = self.layer.gates.row(row)[gate * self.h() + column];
                (computed, value, gate_letter(cell, gate))
            }
            RecurrentPart::Candidate if cell == Cell::Gru => {
                let mut terms = Vec::new();
                self.state_terms(explainer, (row, 2 * self.h() + column), &mut terms)?;
                let computed = Computed::sum(NAME, "m = Σ h·w + b", terms);
                let value = computed.sum as f32;
                (computed, value, "m")
            }
            RecurrentPart::Candidate => return Err(InspectError::NoElement.into()),
            RecurrentPart::Cell => {
                let computed = self.cell_terms(explainer, row, column)?;
                let value = computed.sum as f32;
                (computed, value, "c")
            }
            RecurrentPart::Query => {
                let computed = self.query(explainer, row, column)?;
                (computed, self.attention()?.queries.row(row)[column], "q")
            }
            RecurrentPart::Energy { key } => {
                self.seen([0, row, key])?;
                let Term { value, factors } = self.energy(explainer, row, key, column)?;
                let terms = factors.into_iter().map(|factor| term([factor])).collect();
                let computed = Computed::sum("additive_attention", "tanh(q + u)", terms);
                let again = value.tanh();
                (Computed { again, ..computed }, again as f32, "tanh(q + u)")
            }
        };
        let element = Element::Recurrent { step: self.step, part, row, column };
        let name = format!("{}{what}", self.name(explainer));
        Ok(computed.explanation(element, name, value))
    }

    /// The name of the layer, from that of its weights: `encoder.rnn.l0.`
    fn name(&self, explainer: &Explainer) -> String {
        let name = &explainer.params.spec(self.layer.weights.w_ih).name;
        format!("{}.", name.replace("weight_ih_", ""))
    }
}

/// What a step follows.
enum Before {
    Row(usize),
    /// Nothing: the initial state of this sequence.
    Sequence(usize),
}

fn initial(explainer: &Explainer, states: &Tensor, sequence: usize, column: usize) -> Factor {
    match explainer.element(states, sequence, column) {
        Some(_) => explainer.operand(states, sequence, column),
        None => constant("initial state", f64::from(states.row(sequence)[column])),
    }
}
