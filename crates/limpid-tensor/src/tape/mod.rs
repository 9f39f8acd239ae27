//! The tape: what was computed, in order, and how each step sends gradients back.
//!
//! An operation computes its outputs and hands them to [`Tape::record`] together with its backward. That is the
//! only way to make a [`Var`] that depends on others, so a missing derivative cannot happen. At inference the same
//! model code runs on a tape that records nothing and drops the backward at once.
//!
//! ```text
//! forward:   x ──linear──▶ h ──layer_norm──▶ y ──output_loss──▶ L
//! backward:  dx ◀───────── dh ◀───────────── dy ◀────────────── 1      the steps in reverse
//! ```

mod gradients;
mod step;

pub use gradients::{Gradients, Sweep};

use crate::kernels::matmul::Accumulate;
use crate::params::{ParamId, Params, Role};
use crate::tensor::{Shape, Tensor};
use std::time::{Duration, Instant};
use step::Step;

/// Which output of which step: a place for one gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VarId(u32);

/// A tensor on a tape. Cloning is cheap: the numbers are shared.
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

    /// The numbers.
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// The numbers as a slice.
    pub fn data(&self) -> &[f32] {
        self.value.data()
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        self.value.shape()
    }

    /// Rows and columns of a matrix.
    #[track_caller]
    pub fn rows_cols(&self) -> (usize, usize) {
        self.value.rows_cols()
    }

    /// Its place for a gradient, `None` for a constant.
    pub fn id(&self) -> Option<VarId> {
        self.id
    }
}

/// Looks at named tensors while a model runs: what `explain` and the lab show.
pub trait Probe {
    /// Whether this name is of interest; only then is it computed.
    fn wants(&self, name: &str) -> bool;
    /// Takes what was computed.
    fn take(&mut self, name: &str, value: &Tensor);
}

/// Dropout's random stream: mask k of a forward pass is a function of the seed, the pass and k.
#[derive(Clone, Copy, Debug)]
pub struct DropoutStream {
    /// Seed of the run.
    pub seed: u64,
    /// Which forward pass of the run this is (the number of the micro-batch).
    pub pass: u64,
}

/// Time by operation, forward and backward, in the order of first use.
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

/// One forward pass, and if it records, its backward pass.
pub struct Tape<'a> {
    params: &'a Params,
    recording: Option<&'a mut Gradients>,
    dropout: Option<DropoutStream>,
    masks_drawn: u64,
    probe: Option<&'a mut dyn Probe>,
    path: String,
    profile: Option<(&'a mut Profile, Instant)>,
}

impl<'a> Tape<'a> {
    /// Runs a model and records nothing.
    pub fn inference(params: &'a Params) -> Self {
        Self {
            params,
            recording: None,
            dropout: None,
            masks_drawn: 0,
            probe: None,
            path: String::new(),
            profile: None,
        }
    }

    /// Records, so that [`Tape::backward`] can add gradients to `gradients`.
    pub fn training(params: &'a Params, gradients: &'a mut Gradients) -> Self {
        gradients.forget_steps();
        Self { recording: Some(gradients), ..Self::inference(params) }
    }

    /// Drops out with masks from this stream. Without it, dropout does nothing.
    pub fn with_dropout(mut self, stream: DropoutStream) -> Self {
        self.dropout = Some(stream);
        self
    }

    /// Shows named tensors to `probe`.
    pub fn with_probe(mut self, probe: &'a mut dyn Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// Measures time by operation.
    pub fn with_profile(mut self, profile: &'a mut Profile) -> Self {
        self.profile = Some((profile, Instant::now()));
        self
    }

    /// The numbers of a parameter.
    pub fn param(&self, id: ParamId) -> &'a [f32] {
        self.params.get(id)
    }

    /// The shape of a parameter.
    pub fn param_shape(&self, id: ParamId) -> Shape {
        self.params.shape(id)
    }

    /// Whether a parameter receives a gradient.
    pub fn trains(&self, id: ParamId) -> bool {
        self.params.spec(id).role == Role::Trained
    }

    /// Whether a backward pass may follow, so that operations keep what it needs.
    pub fn is_recording(&self) -> bool {
        self.recording.is_some()
    }

    /// A place for the gradient of a parameter, for the one operation that computes them on the way forward: the loss.
    pub(crate) fn slot(&mut self, id: ParamId) -> Option<(&mut [f32], Accumulate)> {
        let params = self.params;
        self.recording.as_deref_mut().map(|gradients| gradients.slot(params, id))
    }

    /// The stream for the next dropout mask, if this pass drops out.
    pub(crate) fn next_mask(&mut self) -> Option<(u64, u64)> {
        let dropout = self.dropout?;
        let mask = self.masks_drawn;
        self.masks_drawn += 1;
        assert!(mask < 1 << 16, "more than 65,536 dropout masks in one pass");
        // Bit 62 keeps masks apart from initial values (bit 63) and from data order (neither).
        Some((dropout.seed, 1 << 62 | dropout.pass << 16 | mask))
    }

    /// A leaf that receives a gradient, to be read by [`Gradients::of`] after the backward pass.
    pub fn leaf(&mut self, value: Tensor) -> Var {
        let id = self.recording.as_deref_mut().map(Gradients::new_var);
        Var { value, id }
    }

    /// Puts one output of an operation on the tape. `backward` receives its gradient and passes it on.
    pub fn record(
        &mut self,
        name: &'static str,
        output: Tensor,
        backward: impl FnOnce(Tensor, &mut Sweep) + 'static,
    ) -> Var {
        let [var] = self.record_many(name, [output], move |[dy], sweep| {
            backward(dy.expect("a step runs when its one output has a gradient"), sweep)
        });
        var
    }

    /// Puts several outputs on the tape. `backward` receives the gradients of those that have one.
    pub fn record_many<const N: usize>(
        &mut self,
        name: &'static str,
        outputs: [Tensor; N],
        backward: impl FnOnce([Option<Tensor>; N], &mut Sweep) + 'static,
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
        gradients.push(Step::new(name, move |sweep: &mut Sweep| {
            let dys = ids.map(|id| sweep.take(id));
            // No gradient reached any output: this step is not on the path of the loss.
            if dys.iter().any(Option::is_some) {
                backward(dys, sweep);
            }
        }));
        let mut ids = ids.into_iter();
        outputs.map(|value| Var { value, id: ids.next() })
    }

    /// Adds to the gradients of all parameters the derivative of `loss`, a scalar recorded on this tape.
    ///
    /// # Panics
    /// If `loss` is not a scalar, or this tape does not record.
    #[track_caller]
    pub fn backward(self, loss: &Var) {
        assert_eq!(loss.shape().len(), 1, "backward starts from one number, not {}", loss.shape());
        let gradients = self.recording.expect("backward needs a tape that records: Tape::training");
        let id = loss.id().expect("backward: the loss is a constant, nothing was recorded on the way to it");
        gradients.run(
            self.params,
            id,
            Tensor::new(loss.shape(), &[1.0]),
            self.profile.map(|(profile, _)| profile),
        );
    }

    /// Runs `inside` with `name` added to the path of what it shows to the probe.
    pub fn scope<R>(&mut self, name: impl std::fmt::Display, inside: impl FnOnce(&mut Self) -> R) -> R {
        if self.probe.is_none() {
            return inside(self);
        }
        let before = self.path.len();
        self.path += &format!("{name}.");
        let result = inside(self);
        self.path.truncate(before);
        result
    }

    /// Shows a tensor to the probe, if there is one that wants it. `value` is computed only then.
    pub fn show(&mut self, name: &str, value: impl FnOnce() -> Tensor) {
        if let Some(probe) = &mut self.probe {
            let full = format!("{}{name}", self.path);
            if probe.wants(&full) {
                probe.take(&full, &value());
            }
        }
    }
}
