//! The learning-rate search of a run: steps with growing rates, and no folder to keep.

use super::{OnEvent, Run, TrainEvent};
use crate::error::{Error, Result, RunError};
use crate::train::lr_finder::{LrCurve, LrSearch};
use crate::train::trainer::{Control, StepReport};

impl Run {
    /// Steps with growing learning rates, from the weights as they are, and the loss of each. The
    /// run is consumed: its weights are ruined, and nothing is saved.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if `on_event` answers [`Control::Stop`]; [`RunError::LrSearchSteps`]
    /// if the search has too few or too many steps.
    pub fn find_lr(mut self, search: LrSearch, on_event: &mut OnEvent) -> Result<LrCurve> {
        search.validate()?;
        let mut curve = LrCurve::new(search);
        while let Some(lr) = curve.next_lr() {
            match self.trainer.step_with_lr(lr) {
                Ok(report) => {
                    curve.add(lr, Some(report.loss));
                    let step = curve.losses.len() as u64;
                    let report = StepReport { step, steps: search.steps, ..report };
                    if on_event(TrainEvent::Step(report)) == Control::Stop {
                        return Err(Error::Interrupted);
                    }
                }
                // A diverged step is the end of the curve.
                Err(Error::Run(RunError::Diverged { .. })) => curve.add(lr, None),
                Err(error) => return Err(error),
            }
        }
        Ok(curve)
    }
}
