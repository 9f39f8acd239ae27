//! Quantizing a model: weights as int8, int4 or bf16, and what that costs.
//!
//! ```
//! use limpid::model::Model;
//! use limpid::model::config::DecoderConfig;
//! use limpid::quantize::{choose, quantize};
//! use limpid::tensor::kernels::quantized::Format;
//!
//! let mut model = Model::new(DecoderConfig::gpt2(100, 16, 2, 4, 32), 0)?;
//! let before = model.params.bytes();
//! let choices = choose(&model, Format::Int8, &["layers.0".into()])?;
//! quantize(&mut model, &choices)?;
//! assert!(model.params.bytes() < before);
//! # Ok::<(), limpid::error::Error>(())
//! ```
//!
//! A quantized model runs wherever a model does; it cannot be trained. [`crate::hub::save`] writes
//! it, [`crate::hub::load`] reads it. The cost of each weight, measured on text, is in
//! `measure`; [`keep_within`] keeps those that cost most.

mod measure;

pub use measure::{Cost, Measure, Sample};

use crate::error::{ModelError, Result};
use crate::model::Model;
use limpid_tensor::kernels::quantized::{Format, QuantizedMatrix};
use limpid_tensor::params::{ParamId, ParamSpec, Use};
use std::sync::Arc;

/// The format of a weight matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The weight.
    pub param: ParamId,
    /// Its name.
    pub name: String,
    /// How it is stored; `None` keeps f32.
    pub format: Option<Format>,
}

/// A format for every weight matrix: `format`, but f32 for those in `keep`, which are names of
/// parameters or of modules (`layers.0`, `layers.0.feed_forward`).
///
/// Where `format` is int4, token tables and output layers become int8: they cost the most quality
/// and are read by every token. A matrix that would not get smaller stays f32.
///
/// # Errors
/// If the model is quantized already, or a name fits no weight.
pub fn choose(model: &Model, format: Format, keep: &[String]) -> Result<Vec<Choice>> {
    if let Some(found) = format_of(model) {
        let refused = "it cannot be quantized again";
        return Err(ModelError::AlreadyQuantized { format: found, refused }.into());
    }
    let weights = || model.params.iter().filter(|(_, spec)| spec.used_for == Use::Weight);
    let is_kept = |spec: &ParamSpec, name: &String| {
        spec.name.strip_prefix(name.as_str()).is_some_and(|r| r.is_empty() || r.starts_with('.'))
    };
    for name in keep {
        if !weights().any(|(_, spec)| is_kept(spec, name)) {
            let known = weights().map(|(_, spec)| spec.name.clone()).collect();
            return Err(ModelError::NoSuchWeight { name: name.clone(), known }.into());
        }
    }
    let choice = |(param, spec): (ParamId, &ParamSpec)| {
        let format = if is_table(spec) && format == Format::Int4 { Format::Int8 } else { format };
        let shrinks = packed_bytes(spec, format) < 4 * spec.shape.len();
        let kept = !shrinks || keep.iter().any(|name| is_kept(spec, name));
        Choice { param, name: spec.name.clone(), format: (!kept).then_some(format) }
    };
    Ok(weights().map(choice).collect())
}

/// Whether a weight has a row for every token.
fn is_table(spec: &ParamSpec) -> bool {
    spec.name.ends_with("embedding.weight") || spec.name == "output.weight"
}

fn packed_bytes(spec: &ParamSpec, format: Format) -> usize {
    let (o, i) = (spec.shape.dim(0), spec.shape.dim(1));
    format.weight_bytes(o, i) + format.scale_bytes(o, i)
}

/// The format of a quantized model's first quantized weight; `None` for a model in f32.
pub fn format_of(model: &Model) -> Option<Format> {
    model.params.iter().find_map(|(id, _)| model.params.quantized(id)).map(QuantizedMatrix::format)
}

/// Quantizes the weights as chosen.
///
/// # Errors
/// [`ModelError::CannotQuantize`], if a weight does not fit its format.
pub fn quantize(model: &mut Model, choices: &[Choice]) -> Result<()> {
    for (choice, matrix) in choices.iter().zip(matrices(model, choices)?) {
        model.params.set_quantized(choice.param, matrix);
    }
    Ok(())
}

/// The quantized form of each weight, computed from its f32 values.
fn matrices(model: &Model, choices: &[Choice]) -> Result<Vec<Option<Arc<QuantizedMatrix>>>> {
    let one = |choice: &Choice| {
        let Some(format) = choice.format else { return Ok(None) };
        let spec = model.params.spec(choice.param);
        let shape = (spec.shape.dim(0), spec.shape.dim(1));
        let matrix = QuantizedMatrix::quantize(format, model.params.get(choice.param), shape);
        matrix.map(|matrix| Some(Arc::new(matrix))).map_err(|source| {
            let parameter = choice.name.clone();
            ModelError::CannotQuantize { parameter, format, source }.into()
        })
    };
    choices.iter().map(one).collect()
}

/// What one weight costs when it alone is quantized.
#[derive(Clone, Debug)]
pub struct WeightCost {
    /// The choice for it.
    pub choice: Choice,
    /// Bytes in f32 and as chosen.
    pub bytes: [usize; 2],
    /// The cost; `None` for a weight in f32.
    pub cost: Option<Cost>,
}

/// Measures every chosen weight alone. The model is left in f32.
///
/// # Errors
/// Those of [`quantize`] and of the measurement.
pub fn measure_each(
    model: &mut Model,
    choices: &[Choice],
    measure: &Measure,
    mut done: impl FnMut(usize),
) -> Result<Vec<WeightCost>> {
    let mut costs = Vec::with_capacity(choices.len());
    for (i, (choice, matrix)) in choices.iter().zip(matrices(model, choices)?).enumerate() {
        let f32_bytes = 4 * model.params.spec(choice.param).shape.len();
        let bytes = [f32_bytes, matrix.as_ref().map_or(f32_bytes, |matrix| matrix.bytes())];
        let cost = match matrix {
            None => None,
            Some(matrix) => {
                model.params.set_quantized(choice.param, Some(matrix));
                let cost = measure.cost(model);
                model.params.set_quantized(choice.param, None);
                Some(cost?)
            }
        };
        costs.push(WeightCost { choice: choice.clone(), bytes, cost });
        done(i + 1);
    }
    Ok(costs)
}

/// Quantizes all weights of `costs`, then puts those back to f32 that cost most alone, one after
/// the other, until the whole costs at most `most`. Returns the cost that is left.
///
/// # Errors
/// Those of [`quantize`] and of the measurement.
pub fn keep_within(
    model: &mut Model,
    costs: &mut [WeightCost],
    measure: &Measure,
    most: Option<f64>,
) -> Result<Cost> {
    let choices: Vec<Choice> = costs.iter().map(|weight| weight.choice.clone()).collect();
    quantize(model, &choices)?;
    let mut order: Vec<usize> = (0..costs.len()).filter(|i| costs[*i].cost.is_some()).collect();
    let alone = |i: &usize| costs[*i].cost.as_ref().map_or(0.0, |cost| cost.increase);
    order.sort_by(|a, b| alone(b).total_cmp(&alone(a)));
    let mut total = measure.cost(model)?;
    for i in order {
        if most.is_none_or(|most| total.increase <= most) {
            break;
        }
        model.params.set_quantized(costs[i].choice.param, None);
        costs[i].choice.format = None;
        costs[i].bytes[1] = costs[i].bytes[0];
        total = measure.cost(model)?;
    }
    Ok(total)
}

#[cfg(test)]
mod tests;
