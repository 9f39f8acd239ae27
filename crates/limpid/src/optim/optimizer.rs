//! One optimizer step: gradients of one or more micro-batches, clipping, Adam.

use super::data_parallel::DataParallel;
use super::{Adam, AdamConfig};
use crate::distributed::{Sharding, World};
use crate::error::{DistributedError, Quantity, Result, RunError};
use limpid_tensor::kernels::elementwise::move_towards;
use limpid_tensor::params::{ParamId, ParamSpec, Params, Role};
use limpid_tensor::tape::{DropoutStream, Gradients, Profile, Tape, Var};
use std::ops::Range;

/// How far running statistics move towards those of a step: PyTorch's default momentum.
const STATISTICS_MOMENTUM: f32 = 0.1;

/// The gradients, the moments of Adam, and the seed of dropout: what steps need besides the model.
///
/// The dropout masks of a step are a function of the seed and the step's number, so a restored
/// optimizer continues bit for bit.
pub struct Optimizer {
    gradients: Gradients,
    /// Adam's moments: what a checkpoint saves and restores.
    pub adam: Adam,
    seed: u64,
    activations: Activations,
    /// How the micro-batches of a step are shared out, if a step has several.
    parallel: Option<DataParallel>,
}

/// What of the forward pass is kept for the backward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activations {
    /// All that it needs.
    #[default]
    Kept,
    /// What goes from layer to layer; the rest of each layer is computed again: the same gradients
    /// in less memory and about a third more time (activation checkpointing).
    Recomputed,
}

/// Loss and gradient norm of one step.
#[derive(Clone, Copy, Debug)]
pub struct StepOutput {
    /// The loss before the update.
    pub loss: f32,
    /// The global norm of the gradient before clipping.
    pub grad_norm: f32,
}

impl Optimizer {
    /// An optimizer for `params` whose moments are zero.
    pub fn new(params: &Params, config: AdamConfig, seed: u64) -> Self {
        let (gradients, adam) = (Gradients::new(params), Adam::new(params, config));
        Self { gradients, adam, seed, activations: Activations::Kept, parallel: None }
    }

    /// The same with this kept for the backward pass.
    pub fn with_activations(mut self, activations: Activations) -> Self {
        self.activations = activations;
        self
    }

    /// The same for steps of `micro_batches` micro-batches, which the ranks of `world` share: their
    /// gradients are added along a tree, with the same bits at any number of ranks.
    ///
    /// # Errors
    /// [`DistributedError::TooManyRanks`] if there are more ranks than micro-batches.
    pub fn join(
        &mut self,
        params: &Params,
        world: World,
        micro_batches: usize,
        sharding: Sharding,
    ) -> Result<()> {
        let ranks = world.size();
        if ranks > micro_batches {
            return Err(DistributedError::TooManyRanks { ranks, micro_batches }.into());
        }
        self.parallel = (micro_batches > 1)
            .then(|| DataParallel::new(params, &mut self.adam, world, micro_batches, sharding));
        Ok(())
    }

    /// How the micro-batches of a step are shared out, if a step has several.
    pub fn parallel(&self) -> Option<&DataParallel> {
        self.parallel.as_ref()
    }

    /// The same, mutable.
    pub fn parallel_mut(&mut self) -> Option<&mut DataParallel> {
        self.parallel.as_mut()
    }

    /// The moments that this process has, and with whom it shares them.
    pub fn moments(&mut self) -> ((&[f32], &[f32]), Option<&mut DataParallel>) {
        (self.adam.moments(), self.parallel.as_mut())
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.adam.steps()
    }

    /// One forward and backward pass without an update: for measuring.
    pub fn backward_only(&mut self, params: &Params, loss: impl FnOnce(&mut Tape) -> Var) {
        self.gradients.clear();
        let dropout = DropoutStream { seed: self.seed, pass: 0 };
        let mut tape = Tape::training(params, &mut self.gradients).with_dropout(dropout);
        if self.activations == Activations::Recomputed {
            tape = tape.with_activation_checkpointing();
        }
        let loss = loss(&mut tape);
        tape.backward(&loss);
    }

    /// One step down the gradient of `loss`, with learning rate `lr`.
    /// # Errors
    /// [`RunError::Diverged`] if the loss or its gradient is not finite; then the parameters stay
    /// as they are.
    pub fn step(
        &mut self,
        params: &mut Params,
        lr: f32,
        profile: Option<&mut Profile>,
        mut loss: impl FnMut(&mut Tape) -> Var,
    ) -> Result<StepOutput> {
        self.step_accumulated(params, lr, 1, profile, |tape, _| loss(tape))
    }

    /// The same for a loss that is the sum over `passes`, computed one after another: a large batch
    /// in the memory of a small one. In a world, each micro-batch has as many of them.
    ///
    /// Each term carries its own weight; divided by the targets of all passes together, the step is
    /// that of one batch.
    /// # Errors
    /// As [`Optimizer::step`]; if another process of the world is gone.
    ///
    /// # Panics
    /// If the passes cannot be divided among the micro-batches.
    pub fn step_accumulated(
        &mut self,
        params: &mut Params,
        lr: f32,
        passes: usize,
        mut profile: Option<&mut Profile>,
        mut loss: impl FnMut(&mut Tape, usize) -> Var,
    ) -> Result<StepOutput> {
        let steps = self.adam.steps();
        let dropout = |i: usize| {
            // Every pass has dropout masks of its own; pass 0 is that of measuring.
            DropoutStream { seed: self.seed, pass: steps * passes as u64 + i as u64 + 1 }
        };
        let activations = self.activations;
        let mut pass = |gradients: &mut Gradients, i: usize| {
            let mut tape = Tape::training(params, gradients).with_dropout(dropout(i));
            if activations == Activations::Recomputed {
                tape = tape.with_activation_checkpointing();
            }
            if let Some(profile) = profile.as_deref_mut() {
                tape = tape.with_profile(profile);
            }
            let loss = loss(&mut tape, i);
            tape.backward(&loss);
            loss.data()[0]
        };
        let gradients = &mut self.gradients;
        let loss = match &mut self.parallel {
            Some(parallel) => parallel.accumulate(params, gradients, passes, &mut pass)?,
            None => accumulate(gradients, 0..passes, &mut pass),
        };
        let step = self.adam.steps() + 1;
        let diverged =
            |quantity, value: f32| RunError::Diverged { quantity, step, value: value.into(), lr };
        if !loss.is_finite() {
            return Err(diverged(Quantity::Loss, loss).into());
        }
        let grad_norm = match &mut self.parallel {
            Some(parallel) => parallel.step(params, &mut self.gradients, &mut self.adam, lr)?,
            None => self.adam.step(params, &self.gradients, lr),
        };
        if !grad_norm.is_finite() {
            return Err(diverged(Quantity::GradientNorm, grad_norm).into());
        }
        self.update_statistics(params, passes);
        if let Some(parallel) = &mut self.parallel {
            parallel.share_weights(params)?;
        }
        Ok(StepOutput { loss, grad_norm })
    }

    /// Moves running statistics (of batch normalization) towards the mean over the passes.
    fn update_statistics(&mut self, params: &mut Params, passes: usize) {
        let is_statistic = |(_, spec): &(ParamId, &ParamSpec)| spec.role == Role::Statistic;
        let statistics: Vec<ParamId> =
            params.iter().filter(is_statistic).map(|(id, _)| id).collect();
        for id in statistics {
            if let Some(sum) = self.gradients.get_mut(params, id) {
                sum.iter_mut().for_each(|sum| *sum /= passes as f32);
                move_towards(params.get_mut(id), sum, STATISTICS_MOMENTUM);
            }
        }
    }
}

/// Adds up the gradients of some passes; returns the sum of their losses.
pub(super) fn accumulate(
    gradients: &mut Gradients,
    passes: Range<usize>,
    pass: &mut impl FnMut(&mut Gradients, usize) -> f32,
) -> f32 {
    gradients.clear();
    passes.fold(0.0, |total, i| total + pass(gradients, i))
}
