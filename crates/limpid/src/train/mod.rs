//! Training: batches in, a better model out.

pub mod checkpoint;
pub mod config;
mod documents;
mod examples;
pub mod find_rate;
mod folder;
mod from;
pub mod labelled;
mod lines;
mod masked;
mod memory;
mod mend;
mod metrics;
mod pairs;
pub mod plan;
mod replace;
mod run;
pub mod setup;
mod step;
mod text;
mod translate;
mod vocabulary;
mod windows;

pub use config::{RunConfig, TaskKind};
pub use examples::{Batch, Examples, Validation};
pub(crate) use from::take_over;
pub use labelled::LabelledExamples;
pub use masked::MaskedExamples;
pub use memory::{MemorySettings, train_classifier, train_gpt, train_masked};
pub use pairs::PairExamples;
pub use run::{Ended, Judged, JudgedOn, News, Run, Signal};
pub use step::{StepReport, Stepper};
pub use text::TextExamples;
pub use translate::{Progress, TranslateSettings, train_translator};
