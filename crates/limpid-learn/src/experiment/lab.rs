//! What an experiment works with.

use super::Experiment;
use super::cache::TrainingCache;
use crate::error::{ExperimentError, Result};
use limpid::model::Model;
use limpid::train::Control;
use std::path::Path;

/// How long an experiment may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: a smoke test, too small for a verdict.
    Quick,
    /// Minutes to an hour: the published figures.
    Full,
}

impl Effort {
    /// One of two sizes.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

pub use crate::error::Setting;

/// Sizes set by the user instead of the defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeOverrides {
    /// Steps of each training; of pretraining, where that comes first.
    pub steps: Option<u64>,
    /// Width of each model.
    pub width: Option<usize>,
}

/// Widths that all numbers of heads in the experiments divide.
const HEADS: usize = 8;
/// Fewer leave no room for a warm-up and a decay of the learning rate.
const FEWEST_STEPS: u64 = 10;
/// More would take weeks.
const MOST_STEPS: u64 = 1_000_000;

impl SizeOverrides {
    /// What was set, in words: a verdict is about models of that size, not of the default one.
    pub fn describe(&self) -> Option<String> {
        let steps = self.steps.map(|steps| format!("{steps} steps"));
        let width = self.width.map(|width| format!("width {width}"));
        let all: Vec<String> = steps.into_iter().chain(width).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// Refuses sizes that an experiment does not have, or that `available` bytes of memory do not
    /// hold.
    pub fn check(&self, experiment: &Experiment, available: Option<f64>) -> Result<()> {
        let set = [(Setting::Steps, self.steps.is_some()), (Setting::Width, self.width.is_some())];
        for (setting, _) in set.into_iter().filter(|(_, is_set)| *is_set) {
            if !experiment.settings.contains(&setting) {
                let (experiment, settings) = (experiment.name, experiment.settings.to_vec());
                let error = ExperimentError::NoSuchSetting { experiment, setting, settings };
                return Err(error.into());
            }
        }
        let (min, max) = (FEWEST_STEPS, MOST_STEPS);
        if let Some(found) = self.steps.filter(|steps| !(min..=max).contains(steps)) {
            return Err(ExperimentError::Steps { found, min, max }.into());
        }
        let Some(width) = self.width else { return Ok(()) };
        // Twelve layers of 12 width² numbers, or three translators at once of up to 60, each number
        // with its gradient and two moments.
        let bytes = |width: usize| 16.0 * 180.0 * (width as f64).powi(2);
        if let Some(free) = available.filter(|free| bytes(width) > *free) {
            let most = ((free / bytes(1)).sqrt() as usize / HEADS * HEADS).max(HEADS);
            return Err(ExperimentError::OutOfMemory {
                found: width,
                needed: bytes(width),
                available: free,
                max: most,
            }
            .into());
        }
        if width == 0 || !width.is_multiple_of(HEADS) {
            let near = width.next_multiple_of(HEADS).max(HEADS);
            return Err(ExperimentError::Width { found: width, heads: HEADS, nearest: near }.into());
        }
        Ok(())
    }
}

/// What an experiment reports while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabEvent<'a> {
    /// Something starts: a training, a measurement.
    Started(&'a str),
    /// A training was finished by an earlier run of this experiment, and is not repeated.
    Restored(&'a str),
    /// Progress of the training that has started.
    Steps {
        /// Steps done.
        done: u64,
        /// Steps in all.
        of: u64,
    },
}

/// What an experiment works with: effort, seeds, an observer, and the results of trainings that an
/// interrupted run has left.
pub struct Lab<'a> {
    /// How long it may take.
    pub effort: Effort,
    /// The first seed; others follow it.
    pub seed: u64,
    sizes: SizeOverrides,
    cache: Option<TrainingCache>,
    /// Trainings that have started, and trainings planned.
    trainings: (usize, usize),
    observer: &'a mut dyn FnMut(LabEvent) -> Control,
}

impl<'a> Lab<'a> {
    /// A lab that reports to `observer`, which may ask to stop.
    pub fn new(
        effort: Effort,
        seed: u64,
        sizes: SizeOverrides,
        observer: &'a mut dyn FnMut(LabEvent) -> Control,
    ) -> Self {
        Self { effort, seed, sizes, cache: None, trainings: (0, 0), observer }
    }

    /// Keeps the result of every finished training of `experiment` in `folder`, and takes from
    /// there what an interrupted run with the same effort, seed and sizes has finished. So a run
    /// that was killed resumes with the training it was at, and ends with the same numbers.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn resumable(mut self, experiment: &Experiment, folder: &Path) -> Result<Self> {
        let key = format!(
            "{} {:?} {} {:?} {}",
            experiment.name,
            self.effort,
            self.seed,
            self.sizes,
            env!("CARGO_PKG_VERSION")
        );
        self.cache = Some(TrainingCache::open(folder, key)?);
        Ok(self)
    }

    /// Steps of a training: the override, or the default.
    pub fn steps(&self, default: u64) -> u64 {
        self.sizes.steps.unwrap_or(default)
    }

    /// Width of a model: the override, or the default.
    pub fn width(&self, default: usize) -> usize {
        self.sizes.width.unwrap_or(default)
    }

    /// The seeds to repeat a measurement with: three.
    pub fn seeds(&self) -> [u64; 3] {
        [self.seed, self.seed + 1, self.seed + 2]
    }

    /// Announces that there will be so many trainings with each seed.
    pub fn plan(&mut self, trainings: usize) {
        self.trainings.1 += trainings * self.seeds().len();
    }

    /// Trains `model` by calling `train`, which returns it with numbers to keep beside the weights
    /// (such as the loss of every step); or restores both from an interrupted run.
    ///
    /// # Errors
    /// What `train` returns; if the observer asks to stop; if the result cannot be written.
    ///
    /// # Panics
    /// If more trainings start than were planned.
    pub fn train(
        &mut self,
        name: &str,
        mut model: Model,
        train: impl FnOnce(&mut Self, Model) -> Result<(Model, Vec<f64>)>,
    ) -> Result<(Model, Vec<f64>)> {
        self.trainings.0 += 1;
        let (this, all) = self.trainings;
        assert!(this <= all, "training {this} of {all}: a training that was not planned");
        let name = format!("training {this} of {all}: {name}");
        let restored = self.cache.as_ref().and_then(|c| c.restore(this, &name, &mut model.params));
        if let Some(record) = restored {
            self.report(LabEvent::Restored(&name))?;
            return Ok((model, record));
        }
        self.report(LabEvent::Started(&name))?;
        let (model, record) = train(self, model)?;
        if let Some(cache) = &self.cache {
            cache.save(this, &name, &model.params, &record)?;
        }
        Ok((model, record))
    }

    /// Reports the progress of a training.
    pub fn step(&mut self, done: u64, of: u64) {
        // A request to stop is honoured when the next thing starts.
        let _ = (self.observer)(LabEvent::Steps { done, of });
    }

    /// Reports that something starts.
    ///
    /// # Errors
    /// If the observer asks to stop.
    pub fn start(&mut self, what: &str) -> Result<()> {
        self.report(LabEvent::Started(what))
    }

    fn report(&mut self, event: LabEvent) -> Result<()> {
        match (self.observer)(event) {
            Control::Continue => Ok(()),
            Control::Stop => Err(ExperimentError::Stopped.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::error::Error;

    #[test]
    fn sizes_that_cannot_be_are_refused_with_those_that_can() {
        let refused = |name: &str, steps, width| -> Option<ExperimentError> {
            let checked = SizeOverrides { steps, width }.check(find(name).unwrap(), Some(8e9));
            match checked {
                Ok(()) => None,
                Err(Error::Experiment(error)) => Some(error),
                Err(other) => panic!("{other}"),
            }
        };
        assert_eq!(refused("heads", Some(100), Some(64)), None);
        let settings = vec![Setting::Width];
        let (experiment, setting) = ("parallel", Setting::Steps);
        assert_eq!(
            refused("parallel", Some(100), None),
            Some(ExperimentError::NoSuchSetting { experiment, setting, settings })
        );
        for found in [3, u64::MAX] {
            let range = ExperimentError::Steps { found, min: 10, max: 1_000_000 };
            assert_eq!(refused("heads", Some(found), None), Some(range));
        }
        assert_eq!(
            refused("heads", None, Some(100)),
            Some(ExperimentError::Width { found: 100, heads: HEADS, nearest: 104 })
        );
        let error = refused("heads", None, Some(100_000)).unwrap();
        assert_eq!(
            error.to_string(),
            "width 100000 may need 28800 GB, this machine has 8.0 GB free"
        );
        let ExperimentError::OutOfMemory { max, .. } = error else { panic!("{error}") };
        assert_eq!(refused("heads", None, Some(max)), None);
        assert!(refused("heads", None, Some(max + HEADS)).is_some());
    }
}
