//! The tape: reverse-mode automatic differentiation.
//!
//! An operation computes its outputs and passes them to [`Tape::record`] together with its backward
//! closure. That is the only way to make a [`Var`] that depends on others, so an operation without
//! a gradient does not compile. At inference the same model code runs on a tape that records
//! nothing and drops the closure at once. The example at the [crate root](crate) trains a linear
//! layer.
//!
//! ```text
//! forward:   x ──linear──▶ h ──layer_norm──▶ y ──output_loss──▶ L
//! backward:  dx ◀───────── dh ◀───────────── dy ◀────────────── 1      the steps in reverse
//! ```

mod checkpoint;
mod edit;
mod gradients;
mod step;
mod trace;

pub use edit::Edit;
pub use gradients::{BackwardPass, Gradients, Slot};
pub use trace::{
    Mark, Operation, Trace, TracedAdditive, TracedHeads, TracedRecurrence, TracedStep, TracedTable,
};

use crate::kernels::matmul::Mat;
use crate::kernels::quantized::QuantizedMatrix;
use crate::kernels::right_operand::RightOperand;
use crate::packed_weights::PackedWeights;
use crate::params::{Adapter, ParamId, Params, Role};
use crate::tensor::{Shape, Tensor};
use std::time::{Duration, Instant};
use step::Step;

/// The index of a variable on its tape, under which its gradient accumulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VarId(u32);

/// A tensor on a tape. Cloning is cheap: the data is shared.
#[derive(Clone, Debug)]
pub struct Var {
    value: Tensor,
    id: Option<VarId>,
}

impl Var {
    /// A constant: no gradient flows to it.
    pub fn constant(value: Tensor) -> Self {
        Self { value, id: None }
    }

    /// The tensor.
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// The elements, row by row.
    pub fn data(&self) -> &[f32] {
        self.value.data()
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.value.shape()
    }

    /// Rows and columns of a matrix.
    ///
    /// # Panics
    /// If the tensor does not have two dimensions.
    #[track_caller]
    pub fn rows_cols(&self) -> (usize, usize) {
        self.value.rows_cols()
    }

    /// The index of its gradient, `None` for a constant.
    pub fn id(&self) -> Option<VarId> {
        self.id
    }
}

/// Observes named intermediate tensors of a forward pass, like a PyTorch hook.
pub trait Probe {
    /// Whether to call [`Probe::take`] for this name; otherwise the tensor is not computed.
    fn wants(&self, name: &str) -> bool;
    /// Receives the tensor with this name.
    fn take(&mut self, name: &str, value: &Tensor);
}

/// The random stream of dropout: mask k of a forward pass is a function of the seed, the pass and
/// k.
#[derive(Clone, Copy, Debug)]
pub struct DropoutStream {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the forward pass within the run (of the micro-batch).
    pub pass: u64,
}

/// Wall time per operation, forward and backward, in the order of first use.
#[derive(Default, Debug)]
pub struct Profile {
    /// Name, forward, backward.
    pub by_operation: Vec<(&'static str, Duration, Duration)>,
}

impl Profile {
    fn entry(&mut self, name: &'static str) -> &mut (&'static str, Duration, Duration) {
        let at = self.by_operation.iter().position(|entry| entry.0 == name).unwrap_or_else(|| {
            self.by_operation.push((name, Duration::ZERO, Duration::ZERO));
            self.by_operation.len() - 1
        });
        &mut self.by_operation[at]
    }
}

/// One forward pass and, if it records, its backward pass.
pub struct Tape<'a> {
    params: &'a Params,
    packed: Option<&'a PackedWeights>,
    recording: Option<&'a mut Gradients>,
    dropout: Option<DropoutStream>,
    mask_count: u64,
    probe: Option<&'a mut dyn Probe>,
    edit: Option<&'a mut dyn Edit>,
    trace: Option<&'a mut Trace>,
    path: String,
    profile: Option<(&'a mut Profile, Instant)>,
    /// Whether layers are computed again in the backward pass.
    checkpoints: bool,
    /// Whether this is the first pass of what is computed again: nothing is recorded, but
    /// operations do what they do when they are.
    discards: bool,
}

impl<'a> Tape<'a> {
    /// A tape for inference: it records nothing.
    pub fn inference(params: &'a Params) -> Self {
        Self {
            params,
            packed: None,
            recording: None,
            dropout: None,
            mask_count: 0,
            probe: None,
            edit: None,
            trace: None,
            path: String::new(),
            profile: None,
            checkpoints: false,
            discards: false,
        }
    }

    /// A tape for training: it records, so that [`Tape::backward`] can add to `gradients`.
    pub fn training(params: &'a Params, gradients: &'a mut Gradients) -> Self {
        gradients.clear_tape();
        Self { recording: Some(gradients), ..Self::inference(params) }
    }

    /// Reads the weights of linear layers as they are packed there. Without effect in training.
    pub fn with_packed(mut self, packed: &'a PackedWeights) -> Self {
        self.packed = Some(packed).filter(|_| self.recording.is_none());
        self
    }

    /// Enables dropout, with masks from this stream. Without it, dropout is a no-op.
    pub fn with_dropout(mut self, stream: DropoutStream) -> Self {
        self.dropout = Some(stream);
        self
    }

    /// Passes named intermediate tensors to `probe`.
    pub fn with_probe(mut self, probe: &'a mut dyn Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Measures the time of each operation.
    pub fn with_profile(mut self, profile: &'a mut Profile) -> Self {
        self.profile = Some((profile, Instant::now()));
        self
    }

    /// The data of a parameter.
    pub fn param(&self, id: ParamId) -> &'a [f32] {
        self.params.get(id)
    }

    /// A parameter in its quantized form, if it has one.
    ///
    /// # Panics
    /// If it has one and this tape records: quantized weights have no gradient.
    #[track_caller]
    pub(crate) fn quantized(&self, id: ParamId) -> Option<&'a QuantizedMatrix> {
        let matrix = self.params.quantized(id)?;
        let name = &self.params.spec(id).name;
        assert!(!self.is_recording(), "{name} is stored as {}: no gradient", matrix.format());
        Some(matrix)
    }

    /// A weight matrix W (out, in) as the right operand of x·Wᵀ, in the form in which it is stored
    /// or packed.
    ///
    /// # Panics
    /// If it is not a matrix, or it is quantized and this tape records.
    #[track_caller]
    pub(crate) fn weight(&self, id: ParamId) -> RightOperand<'a> {
        match (self.quantized(id), self.packed) {
            (Some(matrix), _) => RightOperand::Quantized(matrix),
            (None, Some(packed)) => RightOperand::Packed(packed.get(self.params, id)),
            (None, None) => {
                let shape = self.param_shape(id);
                RightOperand::Plain(Mat::new(self.param(id), shape.dim(0), shape.dim(1)).t())
            }
        }
    }

    /// The shape of a parameter.
    pub fn param_shape(&self, id: ParamId) -> Shape {
        self.params.shape(id)
    }

    /// The adapters of a weight.
    pub(crate) fn adapters(&self, weight: ParamId) -> &'a [Adapter] {
        self.params.adapters(weight)
    }

    /// Whether a parameter receives a gradient (PyTorch's `requires_grad`).
    pub fn trains(&self, id: ParamId) -> bool {
        self.params.spec(id).role == Role::Trained
    }

    /// Whether a backward pass may follow, so that operations save what it needs.
    pub fn is_recording(&self) -> bool {
        self.recording.is_some() || self.discards
    }

    /// The gradient of a parameter, to be written, for the one operation that computes gradients in
    /// the forward pass: the loss.
    pub(crate) fn slot(&mut self, id: ParamId) -> Option<Slot<'_>> {
        let params = self.params;
        self.recording.as_deref_mut().and_then(|gradients| gradients.slot(params, id))
    }

    /// Seed and stream of the next dropout mask, if dropout is enabled.
    pub(crate) fn next_mask(&mut self) -> Option<(u64, u64)> {
        let dropout = self.dropout?;
        let mask = self.mask_count;
        self.mask_count += 1;
        assert!(mask < 1 << 16, "more than 65,536 dropout masks in one pass");
        // Bit 62 separates masks from the streams of initial weights (bit 63) and of the data order
        // (neither).
        Some((dropout.seed, 1 << 62 | dropout.pass << 16 | mask))
    }

    /// A leaf whose gradient can be read by [`Gradients::of`] after the backward pass.
    pub fn leaf(&mut self, value: Tensor) -> Var {
        let id = self.recording.as_deref_mut().map(Gradients::new_var);
        Var { value, id }
    }

    /// Puts the output of an operation on the tape. `backward` receives the gradient of the output
    /// and adds the gradients of the inputs.
    pub fn record(
        &mut self,
        name: &'static str,
        output: Tensor,
        backward: impl FnOnce(Tensor, &mut BackwardPass) + 'static,
    ) -> Var {
        let [var] = self.record_many(name, [output], move |[dy], pass| {
            backward(dy.expect("a step runs if its one output has a gradient"), pass)
        });
        var
    }

    /// Puts several outputs of an operation on the tape. `backward` receives the gradients of those
    /// that have one.
    pub fn record_many<const N: usize>(
        &mut self,
        name: &'static str,
        outputs: [Tensor; N],
        backward: impl FnOnce([Option<Tensor>; N], &mut BackwardPass) + 'static,
    ) -> [Var; N] {
        if let Some((profile, since)) = &mut self.profile {
            // Operations follow each other, so the time since the last record is this one's.
            let now = Instant::now();
            profile.entry(name).1 += now - *since;
            *since = now;
        }
        let Some(gradients) = self.recording.as_deref_mut() else {
            return outputs.map(Var::constant);
        };
        let ids: [VarId; N] = std::array::from_fn(|_| gradients.new_var());
        gradients.push(Step::new(name, move |pass: &mut BackwardPass| {
            let dys = ids.map(|id| pass.take(id));
            // No output has a gradient: the loss does not depend on this step.
            if dys.iter().any(Option::is_some) {
                backward(dys, pass);
            }
        }));
        let mut ids = ids.into_iter();
        outputs.map(|value| Var { value, id: ids.next() })
    }

    /// The backward pass: adds the gradient of `loss`, a scalar recorded on this tape, to the
    /// gradients of all parameters.
    ///
    /// # Panics
    /// If `loss` is not a scalar, or this tape does not record.
    #[track_caller]
    pub fn backward(self, loss: &Var) {
        assert_eq!(loss.shape().len(), 1, "backward needs a scalar loss, not {}", loss.shape());
        let gradients = self.recording.expect("backward needs a tape that records: Tape::training");
        let id = loss
            .id()
            .expect("backward: the loss is a constant, it depends on no recorded operation");
        gradients.run(
            self.params,
            id,
            Tensor::new(loss.shape(), &[1.0]),
            self.profile.map(|(profile, _)| profile),
        );
    }

    /// Runs `inside` with `name.` as a prefix of the names that the probe, the edit and the trace
    /// see.
    pub fn scope<R>(
        &mut self,
        name: impl std::fmt::Display,
        inside: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if self.probe.is_none() && self.trace.is_none() && self.edit.is_none() {
            return inside(self);
        }
        let before = self.path.len();
        self.path += &format!("{name}.");
        let result = inside(self);
        self.path.truncate(before);
        result
    }

    /// Passes a named tensor to the probe, if it wants it; `value` is computed only then.
    pub fn show(&mut self, name: &str, value: impl FnOnce() -> Tensor) {
        if let Some(probe) = &mut self.probe {
            let full = format!("{}{name}", self.path);
            if probe.wants(&full) {
                probe.take(&full, &value());
            }
        }
    }
}
