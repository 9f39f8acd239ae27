//! Where a number comes from.

use super::{Answer, Shared, body, json};
use crate::lab::passes::{self, KeptPass};
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::tokens;
use crate::lab::types::{
    self, Element, ExplainRequest, Explained, Factor, FilePlace, Of, Origin, Rest, Term, Token,
};
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::Request;
use limpid::hub;
use limpid::inspect::{self, Explainer, RecurrentPart};
use std::sync::Arc;

/// Terms that are listed, and the most that may be asked for.
const LISTED: usize = 12;
const MAX_LISTED: usize = 512;

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: ExplainRequest = body(request).await?;
    let kept = passes::find(&state, &request.pass)?;
    let listed = request.largest.unwrap_or(LISTED);
    if listed > MAX_LISTED {
        return Err(LabProblem::invalid("largest", format!("at most {MAX_LISTED}")));
    }
    let found = state.work.light(move || explain(&kept, &request.element, listed));
    Ok(json(&found.await?))
}

/// Where a number of a pass comes from, with so many of its largest terms.
pub fn explain(
    kept: &Arc<KeptPass>,
    element: &Element,
    listed: usize,
) -> Result<Explained, LabProblem> {
    if let Element::Param { name, row, column } = element {
        return param(kept, element, name, [*row, *column]);
    }
    let params = &kept.opened.pipeline.model().params;
    let found = Explainer::new(&kept.pass.trace, params).explain(opened(element)?)?;
    let mut order: Vec<usize> = (0..found.terms.len()).collect();
    order.sort_by(|a, b| {
        let size = |i: &usize| found.terms[*i].value.abs();
        size(b).total_cmp(&size(a)).then(a.cmp(b))
    });
    let others = order.split_off(listed.min(order.len()));
    let rest =
        Rest { count: others.len(), sum: others.iter().map(|i| found.terms[*i].value).sum() };
    let name = |element: &inspect::Element| tensor_name(kept, element);
    let factor = |factor: &inspect::Factor| Factor {
        value: factor.value,
        origin: match &factor.origin {
            inspect::Origin::Element(element) => {
                Origin::Element { name: name(element), element: shown(*element) }
            }
            inspect::Origin::Param { name, row, column } => Origin::Param {
                name: format!("{name}[{row}, {column}]"),
                element: Element::Param { name: name.clone(), row: *row, column: *column },
            },
            inspect::Origin::Constant(symbol) => Origin::Constant { symbol: (*symbol).into() },
        },
    };
    let term = |index: usize| {
        let term = &found.terms[index];
        Term { value: term.value, index, factors: term.factors.iter().map(factor).collect() }
    };
    let (row_token, column_token) = tokens_of(kept, &found.element);
    let tokenizer = kept.opened.tokenizer();
    Ok(Explained {
        element: element.clone(),
        name: found.name.clone(),
        operation: found.operation.into(),
        formula: found.formula.into(),
        value: f64::from(found.value),
        terms: order.iter().map(|i| term(*i)).collect(),
        rest,
        count: found.terms.len(),
        sum: found.sum,
        again: found.again,
        ulps: found.ulps(),
        token: found.token.map(|id| tokens::one(tokenizer, id)),
        row_token,
        column_token,
        file: None,
    })
}

/// A number of a parameter, and where it lies in a file.
fn param(
    kept: &KeptPass,
    element: &Element,
    name: &str,
    [row, column]: [usize; 2],
) -> Result<Explained, LabProblem> {
    let model = kept.opened.pipeline.model();
    let missing = || LabProblem::new(Kind::NoElement, "the model has no such weight");
    let (id, _) = model.params.iter().find(|(_, spec)| spec.name == name).ok_or_else(missing)?;
    let shape = model.params.shape(id);
    let columns = if shape.rank() == 2 { shape.dim(1) } else { shape.len() };
    let rows = shape.len() / columns.max(1);
    if row >= rows || column >= columns {
        return Err(missing());
    }
    if model.params.quantized(id).is_some() {
        let message = format!("{name} is quantized: only weights in f32 can be opened");
        return Err(LabProblem::new(Kind::Unsupported, message));
    }
    let value = f64::from(model.params.get(id)[row * columns + column]);
    // A table of embeddings has a row for each token.
    let is_table = name.ends_with("token_embedding.weight")
        || name.ends_with("shared_embedding.weight")
        || (name == "output.weight" && rows == kept.opened.scored_tokens());
    let token = is_table.then(|| tokens::one(kept.opened.tokenizer(), row as u32));
    let file = hub::file_place(&kept.opened.folder, name, [row, column]).ok().flatten();
    Ok(Explained {
        element: element.clone(),
        name: name.into(),
        operation: "parameter".into(),
        formula: String::new(),
        value,
        terms: Vec::new(),
        rest: Rest { count: 0, sum: 0.0 },
        count: 0,
        sum: value,
        again: value,
        ulps: 0.0,
        token,
        row_token: None,
        column_token: None,
        file: file.map(|place| FilePlace {
            file: place.file,
            tensor: place.tensor,
            row: place.row,
            column: place.column,
            dtype: place.dtype,
        }),
    })
}

/// The name of the tensor that an element belongs to.
fn tensor_name(kept: &KeptPass, element: &inspect::Element) -> String {
    let scope =
        |step: usize| kept.pass.trace.steps.get(step).map_or("", |step| step.scope.as_str());
    match element {
        inspect::Element::Output { step, output, .. } => {
            let mut tensors = kept.shown.tensors.iter();
            tensors
                .find(|tensor| tensor.step == *step && tensor.output == *output)
                .map_or_else(|| scope(*step).into(), |tensor| tensor.name.clone())
        }
        inspect::Element::AttentionWeight { step, .. } => format!("{}weights", scope(*step)),
        inspect::Element::AttentionScore { step, .. } => format!("{}scores", scope(*step)),
        inspect::Element::Recurrent { step, part, .. } => {
            format!("{}{}", scope(*step), part_name(*part))
        }
    }
}

/// The tokens of its row and its column.
fn tokens_of(kept: &KeptPass, element: &inspect::Element) -> (Option<Token>, Option<Token>) {
    let token = |of: Of, row: usize| passes::token_of(kept, of, row);
    match element {
        inspect::Element::Output { step, output, row, .. } => {
            let mut tensors = kept.shown.tensors.iter();
            let found = tensors.find(|t| t.step == *step && t.output == *output);
            (found.and_then(|found| token(found.of, *row)), None)
        }
        inspect::Element::AttentionWeight { step, query, key, .. }
        | inspect::Element::AttentionScore { step, query, key, .. } => {
            let found = kept.shown.attentions.iter().find(|place| place.step == *step);
            match found {
                Some(place) => (token(place.queries, *query), token(place.keys, *key)),
                None => (None, None),
            }
        }
        inspect::Element::Recurrent { step, row, .. } => {
            let found = kept.shown.tensors.iter().find(|t| t.step == *step && t.output == 0);
            (found.and_then(|found| token(found.of, *row)), None)
        }
    }
}

fn part_name(part: RecurrentPart) -> String {
    match part {
        RecurrentPart::Gate(gate) => format!("gate{gate}"),
        RecurrentPart::Candidate => "candidate".into(),
        RecurrentPart::Cell => "cell".into(),
        RecurrentPart::Query => "query".into(),
        RecurrentPart::Energy { .. } => "energy".into(),
    }
}

/// An element as the page names it.
fn shown(element: inspect::Element) -> types::Element {
    match element {
        inspect::Element::Output { step, output, row, column } => {
            Element::Output { step, output, row, column }
        }
        inspect::Element::AttentionWeight { step, head, query, key } => {
            Element::Weight { step, head, query, key }
        }
        inspect::Element::AttentionScore { step, head, query, key } => {
            Element::Score { step, head, query, key }
        }
        inspect::Element::Recurrent { step, part, row, column } => {
            let key = match part {
                RecurrentPart::Energy { key } => Some(key),
                _ => None,
            };
            Element::Recurrent { step, part: part_name(part), key, row, column }
        }
    }
}

/// An element that the page names.
fn opened(element: &Element) -> Result<inspect::Element, LabProblem> {
    Ok(match element {
        Element::Output { step, output, row, column } => {
            let (step, output, row, column) = (*step, *output, *row, *column);
            inspect::Element::Output { step, output, row, column }
        }
        Element::Weight { step, head, query, key } => {
            let (step, head, query, key) = (*step, *head, *query, *key);
            inspect::Element::AttentionWeight { step, head, query, key }
        }
        Element::Score { step, head, query, key } => {
            let (step, head, query, key) = (*step, *head, *query, *key);
            inspect::Element::AttentionScore { step, head, query, key }
        }
        Element::Recurrent { step, part, key, row, column } => {
            let unknown = || LabProblem::invalid("element", format!("there is no part {part:?}"));
            let part = match (part.as_str(), key) {
                ("candidate", _) => RecurrentPart::Candidate,
                ("cell", _) => RecurrentPart::Cell,
                ("query", _) => RecurrentPart::Query,
                ("energy", Some(key)) => RecurrentPart::Energy { key: *key },
                (text, _) => {
                    let number = text.strip_prefix("gate").and_then(|n| n.parse().ok());
                    RecurrentPart::Gate(number.ok_or_else(unknown)?)
                }
            };
            inspect::Element::Recurrent { step: *step, part, row: *row, column: *column }
        }
        Element::Param { .. } => {
            return Err(LabProblem::new(Kind::NoElement, "a parameter is no tensor of a pass"));
        }
    })
}
