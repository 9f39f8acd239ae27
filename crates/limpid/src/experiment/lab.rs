//! What an experiment may use.

use super::Experiment;
use crate::error::{Error, Result};
use crate::train::Signal;

/// How long an experiment may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds: small enough for a test, too small to prove anything.
    Quick,
    /// Minutes to an hour: the figures that are published.
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

/// A size that may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// How long models train.
    Steps,
    /// How wide they are.
    Width,
}

/// Sizes that somebody asks for, in place of the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Steps of each training; of pretraining, where that comes first.
    pub steps: Option<u64>,
    /// Width of each model.
    pub width: Option<usize>,
}

/// Widths that all numbers of heads in the experiments divide.
const HEADS: usize = 8;
/// Below this a warm-up and a fall of the learning rate have no room.
const FEWEST_STEPS: u64 = 10;
/// Above this nobody waits for the end.
const MOST_STEPS: u64 = 1_000_000;

impl Settings {
    /// What was asked for, as it is typed: a judgement is about models of that size, not of the usual one.
    pub fn asked(&self) -> Option<String> {
        let steps = self.steps.map(|steps| format!("--steps {steps}"));
        let width = self.width.map(|width| format!("--width {width}"));
        let all: Vec<String> = steps.into_iter().chain(width).collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// Refuses sizes that an experiment does not have, or that `available` bytes of memory do not hold.
    pub fn check(&self, experiment: &Experiment, available: Option<f64>) -> Result<()> {
        let asked = [
            ("--steps", Setting::Steps, self.steps.is_some()),
            ("--width", Setting::Width, self.width.is_some()),
        ];
        for (flag, setting, _) in asked.iter().filter(|(.., given)| *given) {
            if !experiment.settings.contains(setting) {
                let has: Vec<&str> = asked
                    .iter()
                    .filter(|(_, s, _)| experiment.settings.contains(s))
                    .map(|(flag, ..)| *flag)
                    .collect();
                return Err(Error::config(format!("the experiment '{}' has no {flag}", experiment.name))
                    .hint(format!("it has {}", has.join(" and "))));
            }
        }
        if let Some(steps) = self.steps.filter(|steps| *steps < FEWEST_STEPS) {
            return Err(Error::config(format!("--steps {steps}: too few to learn anything"))
                .hint(format!("{FEWEST_STEPS} at least; --quick shows how it works in seconds")));
        }
        if let Some(steps) = self.steps.filter(|steps| *steps > MOST_STEPS) {
            return Err(Error::config(format!("--steps {steps}: that would take weeks"))
                .hint(format!("{MOST_STEPS} at most; the usual numbers are hundreds to thousands")));
        }
        let Some(width) = self.width else { return Ok(()) };
        // Twelve layers of 12 width² numbers, or three translators at once of up to 60, each number with its gradient and two moments.
        let bytes = |width: usize| 16.0 * 180.0 * (width as f64).powi(2);
        if let Some(free) = available.filter(|free| bytes(width) > *free) {
            let most = ((free / bytes(1)).sqrt() as usize / HEADS * HEADS).max(HEADS);
            return Err(Error::config(format!(
                "--width {width} may need {:.0} GB, this machine has {:.1} GB free",
                bytes(width) / 1e9,
                free / 1e9
            ))
            .hint(format!("--width {most} fits")));
        }
        if width == 0 || !width.is_multiple_of(HEADS) {
            let near = width.next_multiple_of(HEADS).max(HEADS);
            return Err(Error::config(format!(
                "--width {width} cannot be divided among up to {HEADS} heads"
            ))
            .hint(format!("--width {near}")));
        }
        Ok(())
    }
}

/// What an experiment tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// Something begins.
    Begins(&'a str),
    /// Of the training that has begun.
    Steps {
        /// Steps done.
        done: u64,
        /// Steps in all.
        of: u64,
    },
}

/// Where an experiment takes place.
pub struct Lab<'a> {
    /// How long it may take.
    pub effort: Effort,
    /// The first seed; others follow it.
    pub seed: u64,
    settings: Settings,
    /// Trainings that have begun, and that there will be.
    trainings: (usize, usize),
    news: &'a mut dyn FnMut(News) -> Signal,
}

impl<'a> Lab<'a> {
    /// A lab that tells `news` what it does; the answer may be to stop.
    pub fn new(
        effort: Effort,
        seed: u64,
        settings: Settings,
        news: &'a mut dyn FnMut(News) -> Signal,
    ) -> Self {
        Self { effort, seed, settings, trainings: (0, 0), news }
    }

    /// Steps of a training: as asked for, or as usual.
    pub fn steps(&self, usual: u64) -> u64 {
        self.settings.steps.unwrap_or(usual)
    }

    /// Width of a model: as asked for, or as usual.
    pub fn width(&self, usual: usize) -> usize {
        self.settings.width.unwrap_or(usual)
    }

    /// The seeds to repeat a measurement with: three.
    pub fn seeds(&self) -> [u64; 3] {
        [self.seed, self.seed + 1, self.seed + 2]
    }

    /// There will be so many trainings with each seed.
    pub fn plan(&mut self, trainings: usize) {
        self.trainings.1 += trainings * self.seeds().len();
    }

    /// Tells that one of them begins.
    pub fn training(&mut self, text: &str) -> Result<()> {
        self.trainings.0 += 1;
        let (this, all) = self.trainings;
        assert!(this <= all, "training {this} of {all}: a training that was not planned");
        self.say(&format!("training {this} of {all}: {text}"))
    }

    /// Tells how far it is.
    pub fn step(&mut self, done: u64, of: u64) {
        // Who wants an end gets it when the next thing begins.
        let _ = (self.news)(News::Steps { done, of });
    }

    /// Tells what is going on; an error if that is to be the end.
    pub fn say(&mut self, text: &str) -> Result<()> {
        match (self.news)(News::Begins(text)) {
            Signal::GoOn => Ok(()),
            Signal::Stop => Err(Error::config("the experiment was stopped")
                .hint("nothing was written; --quick takes seconds")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    #[test]
    fn sizes_that_cannot_be_are_refused_with_those_that_can() {
        let said = |name: &str, steps, width| {
            let error = Settings { steps, width }.check(find(name).unwrap(), Some(8e9)).err()?;
            Some((error.to_string(), error.hint_text().unwrap().to_string()))
        };
        assert_eq!(said("heads", Some(100), Some(64)), None);
        assert_eq!(said("parallel", Some(100), None).unwrap().1, "it has --width");
        assert!(said("heads", Some(3), None).unwrap().1.starts_with("10 at least"));
        assert!(said("heads", Some(u64::MAX), None).unwrap().1.starts_with("1000000 at most"));
        assert_eq!(said("heads", None, Some(100)).unwrap().1, "--width 104");
        let (error, hint) = said("heads", None, Some(100_000)).unwrap();
        assert_eq!(error, "--width 100000 may need 28800 GB, this machine has 8.0 GB free");
        let width: usize =
            hint.strip_prefix("--width ").unwrap().strip_suffix(" fits").unwrap().parse().unwrap();
        assert_eq!(said("heads", None, Some(width)), None);
        assert!(said("heads", None, Some(width + HEADS)).is_some());
    }
}
