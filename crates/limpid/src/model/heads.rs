//! The loss of a sequence classifier, whatever computes the vector of a sequence.

use crate::data::batch::Targets;
use crate::model::config::{Labels, ProblemType};
use crate::nn::Linear;
use limpid_tensor::kernels::value_loss::ValueLoss;
use limpid_tensor::ops::LossSpec;
use limpid_tensor::tape::{Tape, Var};

/// weight · Σ over the sequences of their loss: cross-entropy with optional label smoothing, or the
/// mean over the labels of the squared error or of the binary cross-entropy. `x` is (sequences, c).
/// # Panics
/// If the targets are not those of the problem.
#[track_caller]
pub(super) fn label_loss(
    t: &mut Tape,
    x: &Var,
    output: &Linear,
    labels: &Labels,
    targets: &Targets,
    spec: LossSpec,
) -> Var {
    let loss = match (labels.problem(), targets) {
        (ProblemType::SingleLabel, Targets::Labels(targets)) => {
            return t.output_loss(x, output.w, output.b, targets, spec);
        }
        (ProblemType::Regression, Targets::Values(_)) => ValueLoss::SquaredError,
        (ProblemType::MultiLabel, Targets::Values(_)) => ValueLoss::BinaryCrossEntropy,
        (problem, _) => panic!("targets of another problem than {problem}"),
    };
    let Targets::Values(values) = targets else { unreachable!("matched above") };
    let weight = spec.weight / labels.names.len() as f32;
    t.output_value_loss(x, output.w, output.b, values, loss, weight)
}
