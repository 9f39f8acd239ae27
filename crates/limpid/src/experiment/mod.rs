//! Claims about Transformers, each as an experiment: what is claimed, what was measured, and whether it held.
//!
//! | | |
//! |---|---|
//! | [`ALL`] | the experiments, one file each |
//! | [`Lab`] | what an experiment may use: effort, seeds, and somebody to tell |
//! | [`Outcome`] | what came of it: findings, pictures, tables |
//! | [`Estimate`] | a number with its uncertainty |
//!
//! An experiment trains its own small models on the built-in corpora; it needs no files. Its judgement is a rule that stands in its file:
//! "held" needs a difference (or a measure, where the rule names a threshold) beyond what chance would make, "did not hold" the opposite, anything
//! else is "not clear". Where a rule or a size was changed after numbers were seen, docs/results.md says so. What the claim does not say is "told" and not judged.

mod attention;
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
mod stories;
mod teacher_forcing;
mod train;
mod transfer;
mod translators;

pub use estimate::Estimate;
pub use lab::{Effort, Lab, News, Setting, Settings};
pub use outcome::{Finding, Outcome, Picture, Table, Verdict};
pub use page::html;

use crate::error::{Error, Result};

/// One experiment.
pub struct Experiment {
    /// What is typed.
    pub name: &'static str,
    /// What is claimed, in a sentence or two.
    pub claim: &'static str,
    /// Sizes that may be asked for.
    pub settings: &'static [Setting],
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

/// The experiment of this name.
pub fn find(name: &str) -> Result<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|experiment| experiment.name).collect();
        Error::config(format!("there is no experiment '{name}'"))
            .hint(format!("there are {}", names.join(", ")))
    })
}
