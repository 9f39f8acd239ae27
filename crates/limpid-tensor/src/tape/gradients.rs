//! Gradients of every parameter, in one flat buffer, and of the variables of the current pass.

use super::{Profile, Step, VarId};
use crate::kernels::elementwise::add_assign;
use crate::kernels::matmul::Accumulate;
use crate::params::{ParamBuffer, ParamId, Params, Role};
use crate::tensor::Tensor;
use std::time::Instant;

/// The gradient of a parameter, and whether to overwrite it or to add to it.
pub type Slot<'a> = (&'a mut [f32], Accumulate);

/// The gradients of all parameters, and the storage of the tape.
///
/// Gradients are never zeroed: the first one of a parameter after [`Gradients::clear`] overwrites
/// the old values, later ones are added.
pub struct Gradients {
    flat: ParamBuffer,
    /// Whether a parameter has received a gradient since `clear`.
    reached: Vec<bool>,
    pub(super) steps: Vec<Step>,
    pub(super) by_var: Vec<Option<Tensor>>,
}

impl Gradients {
    /// No gradients yet, in the layout of `params`.
    ///
    /// # Panics
    /// If a trained parameter lies in a mapped file: it could not be changed.
    #[track_caller]
    pub fn new(params: &Params) -> Self {
        for (id, spec) in params.iter() {
            let can_change = spec.role == Role::Fixed || params.flat_range(id).is_some();
            assert!(can_change, "{} is to be trained, but was loaded for inference", spec.name);
        }
        Self {
            flat: ParamBuffer::zeros_like(params),
            reached: vec![false; params.iter().len()],
            steps: Vec::new(),
            by_var: Vec::new(),
        }
    }

    /// Discards all gradients (PyTorch's `zero_grad`).
    pub fn clear(&mut self) {
        self.reached.fill(false);
    }

    /// The gradient of a parameter, `None` if it has received none since [`Gradients::clear`].
    pub fn get(&self, params: &Params, id: ParamId) -> Option<&[f32]> {
        let range = params.flat_range(id).filter(|_| self.reached[id.index()])?;
        Some(&self.flat.flat()[range])
    }

    /// Whether a parameter has received a gradient since [`Gradients::clear`].
    pub fn reaches(&self, id: ParamId) -> bool {
        self.reached[id.index()]
    }

    /// The gradient of a parameter, mutable.
    pub fn get_mut(&mut self, params: &Params, id: ParamId) -> Option<&mut [f32]> {
        let range = params.flat_range(id).filter(|_| self.reached[id.index()])?;
        Some(&mut self.flat.flat_mut()[range])
    }

    /// The whole buffer, in the layout of the parameters. Ranges of parameters without a gradient
    /// hold arbitrary old values.
    pub fn flat(&self) -> &[f32] {
        self.flat.flat()
    }

    /// The same, mutable.
    pub fn flat_mut(&mut self) -> &mut [f32] {
        self.flat.flat_mut()
    }

    /// Takes the whole buffer away, so that another can be put in its place. Which parameters have
    /// a gradient stays as it is: see [`Gradients::set_reached`].
    pub fn take_flat(&mut self) -> ParamBuffer {
        std::mem::replace(&mut self.flat, ParamBuffer::zeros(0))
    }

    /// Puts a buffer where one was taken away.
    ///
    /// # Panics
    /// If there is one already.
    #[track_caller]
    pub fn put_flat(&mut self, buffer: ParamBuffer) {
        assert!(self.flat.flat().is_empty(), "gradients have a buffer already");
        self.flat = buffer;
    }

    /// Whether each parameter, in order, has received a gradient since [`Gradients::clear`].
    pub fn reached(&self) -> &[bool] {
        &self.reached
    }

    /// Says which parameters have a gradient in the buffer: for sums that were made elsewhere.
    ///
    /// # Panics
    /// If the number of parameters differs.
    #[track_caller]
    pub fn set_reached(&mut self, reached: &[bool]) {
        self.reached.copy_from_slice(reached);
    }

    /// Zeros the gradients of parameters that have received none, so that the whole buffer can be
    /// added to another.
    pub fn zero_unreached(&mut self, params: &Params) {
        for (id, _) in params.iter().filter(|(id, _)| !self.reached[id.index()]) {
            if let Some(range) = params.flat_range(id) {
                self.flat.flat_mut()[range].fill(0.0);
            }
        }
    }

    /// The gradient of a leaf after the backward pass.
    pub fn of(&self, id: VarId) -> Option<&Tensor> {
        self.by_var[id.0 as usize].as_ref()
    }

    pub(super) fn new_var(&mut self) -> VarId {
        self.by_var.push(None);
        VarId((self.by_var.len() - 1) as u32)
    }

    pub(super) fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub(super) fn clear_tape(&mut self) {
        self.steps.clear();
        self.by_var.clear();
    }

    /// The gradient of a parameter, and whether to overwrite it or to add to it; `None` if the
    /// parameter is fixed.
    pub(crate) fn slot(&mut self, params: &Params, id: ParamId) -> Option<Slot<'_>> {
        let range = params.flat_range(id)?;
        let first = !std::mem::replace(&mut self.reached[id.index()], true);
        let slice = &mut self.flat.flat_mut()[range];
        Some((slice, if first { Accumulate::Overwrite } else { Accumulate::Add }))
    }

    pub(super) fn pass<'a>(&'a mut self, params: &'a Params) -> BackwardPass<'a> {
        BackwardPass { params, gradients: self }
    }

    /// Runs the steps that were recorded after the first `count`, in reverse.
    pub(super) fn run_down_to(&mut self, params: &Params, count: usize) {
        while self.steps.len() > count {
            let step = self.steps.pop().expect("more than count");
            step.call(&mut self.pass(params));
        }
    }

    pub(super) fn run(
        &mut self,
        params: &Params,
        loss: VarId,
        one: Tensor,
        mut profile: Option<&mut Profile>,
    ) {
        self.by_var[loss.0 as usize] = Some(one);
        while let Some(step) = self.steps.pop() {
            let (name, before) = (step.name, profile.is_some().then(Instant::now));
            step.call(&mut self.pass(params));
            if let (Some(profile), Some(before)) = (profile.as_deref_mut(), before) {
                profile.entry(name).2 += before.elapsed();
            }
        }
    }
}

/// The running backward pass, as a recorded operation sees it (PyTorch's `ctx`).
pub struct BackwardPass<'a> {
    pub(super) params: &'a Params,
    pub(super) gradients: &'a mut Gradients,
}

impl<'a> BackwardPass<'a> {
    /// Takes the accumulated gradient of an output.
    pub(super) fn take(&mut self, id: VarId) -> Option<Tensor> {
        self.gradients.by_var[id.0 as usize].take()
    }

    /// Whether the gradient of this variable is needed: not that of a constant.
    pub fn needs_gradient(&self, id: Option<VarId>) -> bool {
        id.is_some()
    }

    /// Adds `dx` to the gradient of a variable. The gradient of a constant is dropped.
    pub fn add_gradient(&mut self, id: Option<VarId>, dx: Tensor) {
        let Some(id) = id else { return };
        let gradient = &mut self.gradients.by_var[id.0 as usize];
        *gradient = Some(match gradient.take() {
            None => dx,
            Some(before) => sum(before, dx),
        });
    }

    /// The data of a parameter.
    pub fn param(&self, id: ParamId) -> &'a [f32] {
        self.params.get(id)
    }

    /// The gradient of a parameter, and whether to overwrite it or to add to it; `None` if the
    /// parameter is fixed.
    pub fn slot(&mut self, id: ParamId) -> Option<Slot<'_>> {
        self.gradients.slot(self.params, id)
    }

    /// Adds a gradient of a parameter, unless it is fixed.
    pub fn add_param_gradient(&mut self, id: ParamId, gradient: &[f32]) {
        match self.slot(id) {
            Some((slot, Accumulate::Overwrite)) => slot.copy_from_slice(gradient),
            Some((slot, Accumulate::Add)) => add_assign(slot, gradient),
            None => {}
        }
    }
}

/// a + b, in place of whichever is not shared.
fn sum(mut a: Tensor, mut b: Tensor) -> Tensor {
    assert_eq!(a.shape(), b.shape(), "two gradients of one variable differ in shape");
    if let Some(a_data) = a.try_data_mut() {
        add_assign(a_data, b.data());
        return a;
    }
    if let Some(b_data) = b.try_data_mut() {
        add_assign(b_data, a.data());
        return b;
    }
    let mut total = Tensor::new(a.shape(), a.data());
    add_assign(total.data_mut(), b.data());
    total
}
