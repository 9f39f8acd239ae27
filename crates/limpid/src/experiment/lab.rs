//! What an experiment may use.

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

/// Where an experiment takes place.
pub struct Lab<'a> {
    /// How long it may take.
    pub effort: Effort,
    /// The first seed; others follow it.
    pub seed: u64,
    news: &'a mut dyn FnMut(&str) -> Signal,
}

impl<'a> Lab<'a> {
    /// A lab that tells `news` what it does; the answer may be to stop.
    pub fn new(effort: Effort, seed: u64, news: &'a mut dyn FnMut(&str) -> Signal) -> Self {
        Self { effort, seed, news }
    }

    /// The seeds to repeat a measurement with: three.
    pub fn seeds(&self) -> [u64; 3] {
        [self.seed, self.seed + 1, self.seed + 2]
    }

    /// Tells what is going on; an error if that is to be the end.
    pub fn say(&mut self, text: &str) -> Result<()> {
        match (self.news)(text) {
            Signal::GoOn => Ok(()),
            Signal::Stop => Err(Error::config("the experiment was stopped")
                .hint("nothing was written; --quick takes seconds")),
        }
    }
}
