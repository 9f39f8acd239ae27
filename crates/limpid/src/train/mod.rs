//! Training: batches in, a better model out.

mod step;
mod translate;

pub use step::{StepReport, Stepper};
pub use translate::{Progress, TranslateSettings, train_translator};
