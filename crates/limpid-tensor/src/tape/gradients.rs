//! Gradients: of every parameter, in one flat block, and of the variables of the pass under way.

use super::{Profile, Step, VarId};
use crate::kernels::elementwise::add_assign;
use crate::kernels::matmul::Accumulate;
use crate::params::{Block, ParamId, Params};
use crate::tensor::Tensor;
use std::time::Instant;

/// Where a backward pass adds its results, and the memory of the tape.
///
/// Nothing is ever zeroed: the first gradient that reaches a parameter after [`Gradients::clear`] overwrites what
/// was there, later ones are added.
pub struct Gradients {
    flat: Block,
    /// Whether a parameter has received a gradient since `clear`.
    reached: Vec<bool>,
    steps: Vec<Step>,
    by_var: Vec<Option<Tensor>>,
}

impl Gradients {
    /// Room for the gradients of `params`.
    pub fn new(params: &Params) -> Self {
        Self {
            flat: Block::zeros_like(params),
            reached: vec![false; params.iter().len()],
            steps: Vec::new(),
            by_var: Vec::new(),
        }
    }

    /// Forgets all gradients: the next pass starts from zero.
    pub fn clear(&mut self) {
        self.reached.fill(false);
    }

    /// The gradient of a parameter, `None` if none has reached it since [`Gradients::clear`].
    pub fn get(&self, params: &Params, id: ParamId) -> Option<&[f32]> {
        self.reached[id.index()].then(|| &self.flat.flat()[params.spec(id).range()])
    }

    /// Whether a gradient has reached a parameter since [`Gradients::clear`].
    pub fn reaches(&self, id: ParamId) -> bool {
        self.reached[id.index()]
    }

    /// The gradient of a parameter, to be changed.
    pub fn get_mut(&mut self, params: &Params, id: ParamId) -> Option<&mut [f32]> {
        self.reached[id.index()].then(|| &mut self.flat.flat_mut()[params.spec(id).range()])
    }

    /// The whole block, in the layout of the parameters. Ranges that no gradient has reached hold what was there before.
    pub fn flat(&self) -> &[f32] {
        self.flat.flat()
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

    pub(super) fn forget_steps(&mut self) {
        self.steps.clear();
        self.by_var.clear();
    }

    /// A place for the gradient of a parameter, and whether to overwrite it or add to it.
    pub(crate) fn slot(&mut self, params: &Params, id: ParamId) -> (&mut [f32], Accumulate) {
        let first = !std::mem::replace(&mut self.reached[id.index()], true);
        let slice = &mut self.flat.flat_mut()[params.spec(id).range()];
        (slice, if first { Accumulate::Overwrite } else { Accumulate::Add })
    }

    pub(super) fn sweep<'a>(&'a mut self, params: &'a Params) -> Sweep<'a> {
        Sweep { params, gradients: self }
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
            step.call(&mut self.sweep(params));
            if let (Some(profile), Some(before)) = (profile.as_deref_mut(), before) {
                profile.entry(name).2 += before.elapsed();
            }
        }
    }
}

/// The backward pass under way, as a step sees it.
pub struct Sweep<'a> {
    params: &'a Params,
    gradients: &'a mut Gradients,
}

impl<'a> Sweep<'a> {
    /// Takes the gradient that has gathered at an output.
    pub(super) fn take(&mut self, id: VarId) -> Option<Tensor> {
        self.gradients.by_var[id.0 as usize].take()
    }

    /// Whether a gradient by this variable is needed at all: not if it is a constant.
    pub fn wants(&self, id: Option<VarId>) -> bool {
        id.is_some()
    }

    /// Adds `dx` to what has gathered at a variable. A constant's gradient is dropped.
    pub fn give(&mut self, id: Option<VarId>, dx: Tensor) {
        let Some(id) = id else { return };
        let place = &mut self.gradients.by_var[id.0 as usize];
        *place = Some(match place.take() {
            None => dx,
            Some(gathered) => sum(gathered, dx),
        });
    }

    /// The numbers of a parameter.
    pub fn param(&self, id: ParamId) -> &'a [f32] {
        self.params.get(id)
    }

    /// A place for the gradient of a parameter, and whether to overwrite it or add to it.
    pub fn slot(&mut self, id: ParamId) -> (&mut [f32], Accumulate) {
        self.gradients.slot(self.params, id)
    }

    /// Adds (or writes) a finished gradient of a parameter.
    pub fn give_param(&mut self, id: ParamId, gradient: &[f32]) {
        match self.slot(id) {
            (slot, Accumulate::Overwrite) => slot.copy_from_slice(gradient),
            (slot, Accumulate::Add) => add_assign(slot, gradient),
        }
    }
}

/// a + b, in the memory of whichever nobody else holds.
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
