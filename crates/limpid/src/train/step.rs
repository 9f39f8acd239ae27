//! One training step: forward, backward, clip, Adam.

use crate::error::{Error, Result};
use crate::optim::{Adam, AdamConfig};
use limpid_tensor::params::Params;
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
        let step = self.adam.steps() + 1;
        self.gradients.clear();
        let dropout = DropoutStream { seed: self.seed, pass: step };
        let mut tape = Tape::training(params, &mut self.gradients).with_dropout(dropout);
        if let Some(profile) = profile {
            tape = tape.with_profile(profile);
        }
        let loss = loss(&mut tape);
        tape.backward(&loss);
        let loss = loss.data()[0];
        let not_finite = |what: &str, value: f32| {
            Error::numeric(format!("the {what} of step {step} is {value}: the training has diverged"))
                .hint(format!("use a learning rate below {lr:.1e}, a longer warm-up, or clipping"))
        };
        if !loss.is_finite() {
            return Err(not_finite("loss", loss));
        }
        let norm = self.adam.step(params, &self.gradients, lr);
        if !norm.is_finite() {
            return Err(not_finite("gradient", norm));
        }
        Ok(StepReport { loss, norm })
    }
}
