//! Where a number comes from: any element of a traced forward pass, opened to its operands, and
//! those again, down to a weight of the file or a token id.
//!
//! ```
//! use limpid::data::batch::Packed;
//! use limpid::inspect::{Element, Explainer};
//! use limpid::model::Model;
//! use limpid::model::config::DecoderConfig;
//! use limpid::tensor::tape::{Tape, Trace};
//!
//! let model = Model::new(DecoderConfig::gpt2(50, 8, 1, 2, 8), 1)?;
//! let decoder = model.decoder().expect("a decoder");
//! let mut trace = Trace::default();
//! let mut tape = Tape::inference(&model.params).with_trace(&mut trace);
//! let hidden = decoder.hidden(&mut tape, &Packed::new(&[vec![3, 1, 4]]), None);
//! let logits = decoder.logits(&mut tape, &hidden);
//! drop(tape);
//!
//! let explainer = Explainer::new(&trace, &model.params);
//! let element = explainer.element(logits.value(), 2, 17).expect("made by this pass");
//! let logit = explainer.explain(element)?;
//! assert_eq!(logit.value, logits.value().row(2)[17]);
//! assert_eq!((logit.operation, logit.terms.len()), ("linear", 8));
//! // Added again in f64, it is the same number up to rounding.
//! assert!(logit.ulps() < 8.0);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod attention;
mod norms;
mod recurrent;
mod steps;

use crate::error::{InspectError, Result};
use limpid_tensor::params::{ParamId, Params};
use limpid_tensor::tape::{Operation, Trace, TracedStep};
use limpid_tensor::tensor::Tensor;
pub use steps::operation_name;

/// A number of a traced forward pass. `step` is an index of [`Trace::steps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// An element of what a step has computed.
    Output {
        /// The step.
        step: usize,
        /// Which of its outputs.
        output: usize,
        /// Row of the output.
        row: usize,
        /// Column of the output.
        column: usize,
    },
    /// An attention weight: of a row of queries to a row of keys.
    AttentionWeight {
        /// The step.
        step: usize,
        /// The head.
        head: usize,
        /// Row of the queries.
        query: usize,
        /// Row of the keys.
        key: usize,
    },
    /// An attention score, before the softmax.
    AttentionScore {
        /// The step.
        step: usize,
        /// The head.
        head: usize,
        /// Row of the queries.
        query: usize,
        /// Row of the keys.
        key: usize,
    },
    /// A number inside of a recurrent layer.
    Recurrent {
        /// The step.
        step: usize,
        /// Which.
        part: RecurrentPart,
        /// Row of the layer's output: a step of a sequence.
        row: usize,
        /// Column.
        column: usize,
    },
}

/// A number inside of a step of a recurrent layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecurrentPart {
    /// A gate after its activation, in PyTorch's order: r, z, n of a GRU; i, f, g, o of an LSTM.
    Gate(usize),
    /// The recurrent part of a GRU's candidate: m = Σ h·w + b.
    Candidate,
    /// The new cell state of an LSTM.
    Cell,
    /// The query of additive attention.
    Query,
    /// tanh(q + u) of additive attention.
    Energy {
        /// Row of the keys.
        key: usize,
    },
}

/// Where a factor comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// Computed in this pass: it can be explained in turn.
    Element(Element),
    /// A parameter, under its name in the model.
    Param {
        /// Its name: `layers.0.ffn.up.weight`, say.
        name: String,
        /// Row, 0 of a vector.
        row: usize,
        /// Column.
        column: usize,
    },
    /// A constant of the model or of the operation, or a statistic of a row, by its letter.
    Constant(&'static str),
}

/// A factor of a term.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Its value.
    pub value: f64,
    /// Where it comes from.
    pub origin: Origin,
}

/// A term of a sum: the product of its factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Its value.
    pub value: f64,
    /// What is multiplied.
    pub factors: Vec<Factor>,
}

/// How a number was computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Which number.
    pub element: Element,
    /// The tensor it belongs to: `layers.0.ffn.up`, say.
    pub name: String,
    /// The operation: "linear", "attention", …
    pub operation: &'static str,
    /// What was computed, in the letters of the operation.
    pub formula: &'static str,
    /// The number itself, as the model computed it.
    pub value: f32,
    /// What was added, in its order.
    pub terms: Vec<Term>,
    /// The terms added again, in f64.
    pub sum: f64,
    /// The number again, from the sum.
    pub again: f64,
    /// Sum of the absolute values of what was added, in units of the number: what rounding errors
    /// are measured by.
    pub magnitude: f64,
    /// The token id, where the number is an embedding of one.
    pub token: Option<u32>,
}

impl Explanation {
    /// The difference between the number and its recomputation, in units in the last place of its
    /// magnitude.
    pub fn ulps(&self) -> f64 {
        let scale = self.magnitude.max(f64::from(self.value.abs()));
        let difference = (f64::from(self.value) - self.again).abs();
        match scale > 0.0 {
            // A unit in the last place of an f32 with exponent e is 2^(e − 23).
            true => difference / (scale.log2().floor() - 23.0).exp2(),
            false => 0.0,
        }
    }

    /// The largest terms by absolute value, and the number and the sum of the others.
    pub fn largest(&self, count: usize) -> (Vec<&Term>, usize, f64) {
        let mut terms: Vec<&Term> = self.terms.iter().collect();
        terms.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
        let others = terms.split_off(count.min(terms.len()));
        let rest = others.iter().map(|term| term.value).sum();
        (terms, others.len(), rest)
    }
}

/// Explains the numbers of one forward pass.
#[derive(Clone, Copy)]
pub struct Explainer<'a> {
    trace: &'a Trace,
    params: &'a Params,
}

impl<'a> Explainer<'a> {
    /// For the trace of a pass with these parameters.
    pub fn new(trace: &'a Trace, params: &'a Params) -> Self {
        Self { trace, params }
    }

    /// The element of a tensor that this pass has computed.
    pub fn element(&self, tensor: &Tensor, row: usize, column: usize) -> Option<Element> {
        let (step, output) = self.trace.producer(tensor)?;
        Some(Element::Output { step, output, row, column })
    }

    /// Explains a number.
    /// # Errors
    /// [`InspectError`] if there is no such element, or its operation cannot be opened.
    pub fn explain(&self, element: Element) -> Result<Explanation> {
        match element {
            Element::Output { step, output, row, column } => {
                let traced = self.step(step)?;
                let tensor = traced.outputs.get(output).ok_or(InspectError::NoElement)?;
                let (rows, columns) = tensor.rows_cols();
                if row >= rows || column >= columns {
                    return Err(InspectError::NoElement.into());
                }
                let value = tensor.row(row)[column];
                let found = Output { step, output, row, column };
                Ok(self.output(traced, found)?.explanation(element, self.name(traced), value))
            }
            Element::AttentionWeight { step, head, query, key } => match self.recurrence(step) {
                Ok(layer) => layer.weight(self, [head, query, key]),
                Err(_) => self.attention(step)?.weight(self, step, [head, query, key]),
            },
            Element::AttentionScore { step, head, query, key } => match self.recurrence(step) {
                Ok(layer) => layer.score(self, [head, query, key]),
                Err(_) => self.attention(step)?.score(self, step, [head, query, key]),
            },
            Element::Recurrent { step, part, row, column } => {
                self.recurrence(step)?.inside(self, part, row, column)
            }
        }
    }

    fn step(&self, step: usize) -> Result<&'a TracedStep> {
        Ok(self.trace.steps.get(step).ok_or(InspectError::NoElement)?)
    }

    /// An element of an operand: explained in turn if this pass has computed it.
    fn operand(&self, tensor: &Tensor, row: usize, column: usize) -> Factor {
        let origin = match self.element(tensor, row, column) {
            Some(element) => Origin::Element(element),
            None => Origin::Constant("input"),
        };
        Factor { value: f64::from(tensor.row(row)[column]), origin }
    }

    /// An element of a parameter; vectors have one row.
    fn param(&self, id: ParamId, row: usize, column: usize) -> Result<Factor> {
        let (spec, shape) = (self.params.spec(id), self.params.shape(id));
        if self.params.quantized(id).is_some() {
            return Err(InspectError::Quantized { param: spec.name.clone() }.into());
        }
        let columns = if shape.rank() == 2 { shape.dim(1) } else { shape.len() };
        let value = f64::from(self.params.get(id)[row * columns + column]);
        let origin = Origin::Param { name: spec.name.clone(), row, column };
        Ok(Factor { value, origin })
    }

    fn name(&self, step: &TracedStep) -> String {
        tensor_name(self.params, step)
    }
}

/// A name for what a step computes: that of its parameter, or of its scope.
pub(super) fn tensor_name(params: &Params, step: &TracedStep) -> String {
    let param = match &step.operation {
        Operation::Linear { w, .. } => Some(*w),
        Operation::Embedding { table, .. } => Some(*table),
        Operation::LayerNorm { gamma, .. } | Operation::AddNorm { gamma, .. } => Some(*gamma),
        Operation::RmsNorm { params, .. } | Operation::AddRmsNorm { params, .. } => {
            Some(params.gamma)
        }
        Operation::BatchNorm { params, .. } => Some(params.gamma),
        Operation::Recurrent(layer) => Some(layer.weights.w_ih),
        _ => None,
    };
    match param {
        Some(id) => {
            let name = &params.spec(id).name;
            name.strip_suffix(".weight").unwrap_or(name).to_string()
        }
        None => format!("{}{}", step.scope, steps::operation_name(&step.operation)),
    }
}

/// An element of an output.
#[derive(Clone, Copy)]
struct Output {
    step: usize,
    output: usize,
    row: usize,
    column: usize,
}

/// An explanation without the name of its element.
struct Computed {
    operation: &'static str,
    formula: &'static str,
    terms: Vec<Term>,
    sum: f64,
    again: f64,
    magnitude: f64,
    token: Option<u32>,
}

impl Computed {
    /// A sum of terms, and nothing else.
    fn sum(operation: &'static str, formula: &'static str, terms: Vec<Term>) -> Self {
        let sum = terms.iter().map(|term| term.value).sum();
        let magnitude = terms.iter().map(|term| term.value.abs()).sum();
        Self { operation, formula, terms, sum, again: sum, magnitude, token: None }
    }

    fn explanation(self, element: Element, name: String, value: f32) -> Explanation {
        let Self { operation, formula, terms, sum, again, magnitude, token } = self;
        Explanation {
            element,
            name,
            operation,
            formula,
            value,
            terms,
            sum,
            again,
            magnitude,
            token,
        }
    }
}

/// The product of some factors.
fn term(factors: impl Into<Vec<Factor>>) -> Term {
    let factors = factors.into();
    Term { value: factors.iter().map(|factor| factor.value).product(), factors }
}

/// A constant factor, by its letter.
fn constant(letter: &'static str, value: f64) -> Factor {
    Factor { value, origin: Origin::Constant(letter) }
}
