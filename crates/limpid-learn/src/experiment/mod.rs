//! Claims about Transformers, tested by training small models.
//!
//! ```
//! use limpid_learn::experiment::{Effort, Lab, SizeOverrides, find};
//! use limpid::train::Control;
//!
//! let mut observer = |_event: limpid_learn::experiment::LabEvent| Control::Continue;
//! let mut lab = Lab::new(Effort::Quick, 1, SizeOverrides::default(), &mut observer);
//! let outcome = (find("scaling")?.run)(&mut lab)?;
//! assert!(!outcome.findings.is_empty());
//! # Ok::<(), limpid_learn::error::Error>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`ALL`] | the experiments, one file each |
//! | [`Lab`] | what an experiment works with: effort, seeds, an observer, resumption |
//! | [`Outcome`] | findings, figures, tables |
//! | [`Estimate`] | a mean with its uncertainty |
//!
//! An experiment trains its own small models on the built-in corpora and needs no files. The rule
//! behind its verdict stands in its file: "confirmed" needs a difference (or a measure, where the
//! rule names a threshold) beyond chance, "refuted" the opposite, anything else is "inconclusive".
//! Where a rule or a size was changed after numbers were seen, docs/records says so. Numbers that
//! the claim does not speak of are observations, without a verdict.

mod attention;
mod cache;
mod context;
mod decoding;
mod estimate;
mod heads;
mod lab;
mod lines;
mod norm;
mod outcome;
mod page;
mod parallel;
mod positions;
mod scaling;
mod speed;
mod stories;
mod teacher_forcing;
mod train;
mod transfer;
mod translators;

pub use estimate::Estimate;
pub use lab::{Effort, Lab, LabEvent, Setting, SizeOverrides};
pub use outcome::{Finding, Outcome, Picture, Table, Verdict};
pub use page::html;
pub use speed::speed;

use crate::error::{ExperimentError, Result};

/// One experiment.
pub struct Experiment {
    /// Its name.
    pub name: &'static str,
    /// The claim, in a sentence or two.
    pub claim: &'static str,
    /// Sizes that can be set.
    pub settings: &'static [Setting],
    /// Minutes that a full run takes on one core of the reference machine ([`speed`]).
    pub minutes: f64,
    /// Runs it.
    pub run: fn(&mut Lab) -> Result<Outcome>,
}

/// All of them, in the order of the notes.
pub const ALL: &[Experiment] = &[
    attention::EXPERIMENT,
    parallel::EXPERIMENT,
    scaling::EXPERIMENT,
    positions::EXPERIMENT,
    norm::EXPERIMENT,
    teacher_forcing::EXPERIMENT,
    decoding::EXPERIMENT,
    heads::EXPERIMENT,
    context::EXPERIMENT,
    transfer::EXPERIMENT,
];

/// The experiment with this name.
///
/// # Errors
/// If there is none; the error carries all names.
pub fn find(name: &str) -> Result<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let experiments = ALL.iter().map(|experiment| experiment.name).collect();
        ExperimentError::Unknown { name: name.to_owned(), experiments }.into()
    })
}
