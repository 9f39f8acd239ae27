//! One training step: forward, backward, clip, Adam.

use crate::error::{Error, Result};
use crate::optim::{Adam, AdamConfig};
use limpid_tensor::kernels::elementwise::move_towards;
use limpid_tensor::params::{ParamId, ParamSpec, Params, Role};
use limpid_tensor::tape::{DropoutStream, Gradients, Profile, Tape, Var};

/// What a run of steps needs besides the model: gradients, moments, and the seed of its dropout.
pub struct Stepper {
    gradients: Gradients,
    adam: Adam,
    seed: u64,
}

/// What a step did.
#[derive(Clone, Copy, Debug)]
pub struct StepReport {
    /// The loss before the step.
    pub loss: f32,
    /// The global norm of the gradient before clipping.
    pub norm: f32,
}

impl Stepper {
    /// Fresh moments for `params`.
    pub fn new(params: &Params, config: AdamConfig, seed: u64) -> Self {
        Self { gradients: Gradients::new(params), adam: Adam::new(params, config), seed }
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.adam.steps()
    }

    /// The optimizer: what a checkpoint saves.
    pub fn adam(&self) -> &Adam {
        &self.adam
    }

    /// The optimizer, to be restored from a checkpoint.
    pub fn adam_mut(&mut self) -> &mut Adam {
        &mut self.adam
    }

    /// The gradients of a loss, without a step: to see how long it takes.
    pub fn gradients_only(&mut self, params: &Params, loss: impl FnOnce(&mut Tape) -> Var) {
        self.gradients.clear();
        let dropout = DropoutStream { seed: self.seed, pass: 0 };
        let mut tape = Tape::training(params, &mut self.gradients).with_dropout(dropout);
        let loss = loss(&mut tape);
        tape.backward(&loss);
    }

    /// One step down the gradient of `loss`, with learning rate `lr`.
    ///
    /// If the loss or its gradient is not finite, the parameters stay as they are and the error says what to do.
    pub fn step(
        &mut self,
        params: &mut Params,
        lr: f32,
        profile: Option<&mut Profile>,
        loss: impl FnOnce(&mut Tape) -> Var,
    ) -> Result<StepReport> {
        let mut loss = Some(loss);
        let whole = |tape: &mut Tape, _| loss.take().expect("there is one part")(tape);
        self.step_parts(params, lr, 1, profile, whole)
    }

    /// The same for a loss that is the sum of `parts` terms, computed one after another: a large batch in the memory of a small one.
    ///
    /// Each term carries its own weight; divided by the tokens of all parts together, the step is that of one batch.
    pub fn step_parts(
        &mut self,
        params: &mut Params,
        lr: f32,
        parts: usize,
        mut profile: Option<&mut Profile>,
        mut loss: impl FnMut(&mut Tape, usize) -> Var,
    ) -> Result<StepReport> {
        let step = self.adam.steps() + 1;
        self.gradients.clear();
        let mut total = 0.0;
        for part in 0..parts {
            // Every part has dropout of its own.
            let pass = (step - 1) * parts as u64 + part as u64 + 1;
            let dropout = DropoutStream { seed: self.seed, pass };
            let mut tape = Tape::training(params, &mut self.gradients).with_dropout(dropout);
            if let Some(profile) = profile.as_deref_mut() {
                tape = tape.with_profile(profile);
            }
            let loss = loss(&mut tape, part);
            tape.backward(&loss);
            total += loss.data()[0];
        }
        let loss = total;
        let not_finite = |what: &str, value: f32| {
            Error::numeric(format!("the {what} of step {step} is {value}: the training has diverged"))
                .hint(format!("use a learning rate below {lr:.1e} (--find-lr suggests one), a longer warm-up, or clipping"))
        };
        if !loss.is_finite() {
            return Err(not_finite("loss", loss));
        }
        let norm = self.adam.step(params, &self.gradients, lr);
        if !norm.is_finite() {
            return Err(not_finite("gradient", norm));
        }
        self.remember(params, parts);
        Ok(StepReport { loss, norm })
    }

    /// Moves statistics a tenth of the way (as PyTorch does) towards those of this step: the mean over its parts.
    fn remember(&mut self, params: &mut Params, parts: usize) {
        let is_statistic = |(_, spec): &(ParamId, &ParamSpec)| spec.role == Role::Statistic;
        let statistics: Vec<ParamId> = params.iter().filter(is_statistic).map(|(id, _)| id).collect();
        for id in statistics {
            if let Some(given) = self.gradients.get_mut(params, id) {
                given.iter_mut().for_each(|given| *given /= parts as f32);
                move_towards(params.get_mut(id), given, 0.1);
            }
        }
    }
}
