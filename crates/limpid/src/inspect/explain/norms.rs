//! The terms of normalizations: y = (x − μ)·ρ·γ + β, where ρ = 1/√(σ² + ε).

use super::steps::operation_name;
use super::{Computed, Explainer, Output, constant, term};
use crate::error::{InspectError, Result};
use limpid_tensor::kernels::rms_norm::Gain;
use limpid_tensor::ops::RmsNormParams;
use limpid_tensor::params::ParamId;
use limpid_tensor::tape::{Operation, TracedStep};
use limpid_tensor::tensor::Tensor;

/// Mean, and 1/√(variance + ε).
fn statistics(x: &[f32], eps: f32) -> [f64; 2] {
    let count = x.len() as f64;
    let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / count;
    let variance = x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / count;
    [mean, 1.0 / (variance + f64::from(eps)).sqrt()]
}

/// 1/√(mean of x² + ε).
fn inverse_rms(x: &[f32], eps: f32) -> f64 {
    let square = x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>() / x.len() as f64;
    1.0 / (square + f64::from(eps)).sqrt()
}

impl Explainer<'_> {
    pub(super) fn normalized(&self, step: &TracedStep, at: Output) -> Result<Computed> {
        let name = operation_name(&step.operation);
        match &step.operation {
            Operation::AddNorm { a, b, .. } | Operation::AddRmsNorm { a, b, .. }
                if at.output == 0 =>
            {
                let terms = [a, b].map(|x| term([self.operand(x, at.row, at.column)]));
                Ok(Computed::sum(name, "x = a + b", terms.into()))
            }
            Operation::LayerNorm { x, gamma, beta, eps } => {
                self.layer_norm(name, x, (*gamma, *beta, *eps), at)
            }
            Operation::AddNorm { gamma, beta, eps, .. } => {
                self.layer_norm(name, &step.outputs[0], (*gamma, *beta, *eps), at)
            }
            Operation::RmsNorm { x, params } => self.rms_norm(name, x, *params, at),
            Operation::AddRmsNorm { params, .. } => {
                self.rms_norm(name, &step.outputs[0], *params, at)
            }
            Operation::HeadNorm { x, params } => {
                let d = self.params.shape(params.gammas[0]).len();
                let (head, within) = (at.column / d, at.column % d);
                let gamma = match head {
                    head if head < params.heads[0] => params.gammas[0],
                    head if head < params.heads[0] + params.heads[1] => params.gammas[1],
                    // Values are not normalized.
                    _ => {
                        let terms = vec![term([self.operand(x, at.row, at.column)])];
                        return Ok(Computed::sum(name, "y = x: a value", terms));
                    }
                };
                let rho = inverse_rms(&x.row(at.row)[head * d..(head + 1) * d], params.eps);
                self.scaled(
                    name,
                    self.operand(x, at.row, at.column),
                    rho,
                    (gamma, params.gain),
                    within,
                )
            }
            Operation::BatchNorm { x, params, eps } => {
                let (mean, variance) = params.running.ok_or(InspectError::NoElement)?;
                let [mean, variance] = [mean, variance].map(|id| self.param(id, 0, at.column));
                let rho = 1.0 / (variance?.value + f64::from(*eps)).sqrt();
                let x = self.operand(x, at.row, at.column);
                let (mean, gamma) = (mean?, self.param(params.gamma, 0, at.column)?);
                let beta = Some(self.param(params.beta, 0, at.column)?);
                Ok(centred(name, x, mean, rho, gamma, beta))
            }
            _ => Err(InspectError::Unsupported { operation: name }.into()),
        }
    }

    fn layer_norm(
        &self,
        name: &'static str,
        x: &Tensor,
        (gamma, beta, eps): (ParamId, Option<ParamId>, f32),
        at: Output,
    ) -> Result<Computed> {
        let [mean, rho] = statistics(x.row(at.row), eps);
        let gamma = self.param(gamma, 0, at.column)?;
        let beta = beta.map(|beta| self.param(beta, 0, at.column)).transpose()?;
        let x = self.operand(x, at.row, at.column);
        Ok(centred(name, x, constant("μ", mean), rho, gamma, beta))
    }

    fn rms_norm(
        &self,
        name: &'static str,
        x: &Tensor,
        params: RmsNormParams,
        at: Output,
    ) -> Result<Computed> {
        let rho = inverse_rms(x.row(at.row), params.eps);
        let x = self.operand(x, at.row, at.column);
        self.scaled(name, x, rho, (params.gamma, params.gain), at.column)
    }

    /// x·ρ·γ, or x·ρ·(1 + γ).
    fn scaled(
        &self,
        name: &'static str,
        x: super::Factor,
        rho: f64,
        (gamma, gain): (ParamId, Gain),
        column: usize,
    ) -> Result<Computed> {
        let gamma = self.param(gamma, 0, column)?;
        let mut terms = vec![term([x.clone(), constant("ρ", rho), gamma])];
        if gain == Gain::OnePlusWeight {
            terms.insert(0, term([x, constant("ρ", rho)]));
        }
        Ok(Computed::sum(name, "y = x·ρ·γ, ρ = 1/√(mean x² + ε)", terms))
    }
}

/// (x − μ)·ρ·γ + β.
fn centred(
    name: &'static str,
    x: super::Factor,
    mean: super::Factor,
    rho: f64,
    gamma: super::Factor,
    beta: Option<super::Factor>,
) -> Computed {
    let rho = || constant("ρ", rho);
    let minus = super::Factor { value: -mean.value, ..mean };
    let mut terms = vec![term([x, rho(), gamma.clone()]), term([minus, rho(), gamma])];
    terms.extend(beta.map(|beta| term([beta])));
    Computed::sum(name, "y = (x − μ)·ρ·γ + β, ρ = 1/√(σ² + ε)", terms)
}
