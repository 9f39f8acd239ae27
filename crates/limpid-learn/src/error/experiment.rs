//! Errors of experiments and their settings.

use std::fmt;

/// A size that some experiments let the user choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Training steps.
    Steps,
    /// Width of the models.
    Width,
}

impl Setting {
    /// Its key.
    pub fn name(self) -> &'static str {
        match self {
            Setting::Steps => "steps",
            Setting::Width => "width",
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why an experiment cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// No experiment has this name.
    #[error("there is no experiment '{name}'")]
    Unknown {
        /// The name.
        name: String,
        /// All experiments.
        experiments: Vec<&'static str>,
    },
    /// The experiment does not have this setting.
    #[error("the experiment '{experiment}' has no setting {setting}")]
    NoSuchSetting {
        /// The experiment.
        experiment: &'static str,
        /// What was set.
        setting: Setting,
        /// What can be set.
        settings: Vec<Setting>,
    },
    /// A number of steps that is out of range.
    #[error("{found} training steps are not in {min} to {max}")]
    Steps {
        /// What was set.
        found: u64,
        /// The smallest.
        min: u64,
        /// The largest.
        max: u64,
    },
    /// Models of this width may not fit into memory.
    #[error(
        "width {found} may need {:.0} GB, this machine has {:.1} GB free",
        needed / 1e9,
        available / 1e9
    )]
    OutOfMemory {
        /// The width that was set.
        found: usize,
        /// Bytes that it may need.
        needed: f64,
        /// Bytes that are free.
        available: f64,
        /// The largest width that fits.
        max: usize,
    },
    /// A width that the heads do not divide.
    #[error("width {found} is not a multiple of {heads}, the largest number of heads")]
    Width {
        /// What was set.
        found: usize,
        /// The largest number of heads of any model.
        heads: usize,
        /// The next width that works.
        nearest: usize,
    },
    /// The caller asked to stop.
    #[error("the experiment was stopped")]
    Stopped,
}
