//! The lab without a page: one model, its passes and their numbers, as the page would be told.

use super::guard::Hosts;
use super::opened::Opened;
use super::passes::{self, KeptPass};
use super::problem::LabProblem;
use super::types::{Element, Explained, Pass, PassRequest};
use super::{Commands, LabSettings, State, routes};
use crate::error::ServeError;
use std::path::Path;
use std::sync::Arc;

/// A model that is open to its numbers.
pub struct Inspector {
    state: Arc<State>,
    opened: Arc<Opened>,
}

fn failed(problem: LabProblem) -> ServeError {
    ServeError::Lab { message: problem.message }
}

impl Inspector {
    /// Opens a model folder, a run folder or a file.
    /// # Errors
    /// If it holds no model that can be used.
    pub fn open(path: &Path, commands: Box<dyn Commands>) -> Result<Self, ServeError> {
        let (sources, data) = (vec![path.to_path_buf()], Vec::new());
        let settings = LabSettings { port: 0, assets: None, sources, data, commands };
        let state = Arc::new(State::new(settings, Hosts::of_port(0))?);
        let model = state.registry.models().into_iter().next();
        let id = model.map(|model| model.id).ok_or(ServeError::NoModels)?;
        let opened = state.model(&id).map_err(failed)?;
        Ok(Self { state, opened })
    }

    /// Runs a forward pass; the model of the request is this one.
    /// # Errors
    /// If the text cannot be read, or an edit names a place that the model has not.
    pub fn pass(&self, request: PassRequest) -> Result<Inspected, ServeError> {
        let request = PassRequest { model: self.opened.model.id.clone(), ..request };
        passes::run(&self.state, &self.opened, request).map(Inspected).map_err(failed)
    }
}

/// A pass that is open to its numbers.
pub struct Inspected(Arc<KeptPass>);

impl Inspected {
    /// What there is.
    pub fn pass(&self) -> &Pass {
        &self.0.shown
    }

    /// Where a number comes from, with so many of its largest terms.
    /// # Errors
    /// If there is no such number, or it cannot be opened.
    pub fn explain(&self, element: &Element, largest: usize) -> Result<Explained, ServeError> {
        routes::explain(&self.0, element, largest).map_err(failed)
    }

    /// A number by the name of its tensor: `layers.0.ffn.up[2, 17]` is an element of what that
    /// parameter makes, `layers.0.self_attention.weights[1][2, 0]` the weight of head 1 from row 2
    /// to row 0, `layers.0.self_attention.scores[1][2, 0]` its score. A name alone that is the end
    /// of one tensor's is enough.
    /// # Errors
    /// If it is not of this form, or there is no such tensor.
    pub fn element(&self, text: &str) -> Result<Element, ServeError> {
        let wrong = || ServeError::Element { text: text.into() };
        let (name, rest) = text.split_once('[').ok_or_else(wrong)?;
        let rest = rest.strip_suffix(']').ok_or_else(wrong)?;
        let numbers: Vec<usize> = rest
            .replace("][", ",")
            .split(',')
            .map(|number| number.trim().parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let name = name.trim();
        let weights = name.strip_suffix(".weights").map(|site| (site, false));
        let scores = name.strip_suffix(".scores").map(|site| (site, true));
        match (weights.or(scores), &numbers[..]) {
            (Some((site, is_score)), &[head, query, key]) => {
                let found = self.pass().attentions.iter().find(|attention| {
                    let kind = attention.name.rsplit('.').next().unwrap_or("");
                    format!("{}.{}.{kind}", attention.stack, attention.layer) == site
                });
                let step = found.ok_or_else(wrong)?.step;
                Ok(match is_score {
                    false => Element::Weight { step, head, query, key },
                    true => Element::Score { step, head, query, key },
                })
            }
            (None, &[row, column]) => {
                let tensors = &self.pass().tensors;
                let logits = self.pass().logits.filter(|_| name == "logits");
                let exact = || tensors.iter().rev().find(|tensor| tensor.name == name);
                let ending = || tensors.iter().rev().find(|tensor| tensor.name.ends_with(name));
                let place = logits
                    .map(|place| (place.step, place.output))
                    .or_else(|| exact().map(|tensor| (tensor.step, tensor.output)))
                    .or_else(|| ending().map(|tensor| (tensor.step, tensor.output)));
                let (step, output) = place.ok_or_else(wrong)?;
                Ok(Element::Output { step, output, row, column })
            }
            _ => Err(wrong()),
        }
    }
}
