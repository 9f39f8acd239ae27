//! Learning-rate schedules: linear warm-up, then decay.

/// The learning rate after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Stays at the peak.
    Constant,
    /// Falls as 1/√step (Vaswani et al. 2017).
    InverseSquareRoot,
    /// Falls linearly to the floor at the last step.
    Linear,
    /// Falls as half a cosine to the floor at the last step (Loshchilov and Hutter 2017).
    Cosine,
}

/// The learning rate of every step of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningRate {
    /// How it falls after the warm-up.
    pub schedule: Schedule,
    /// The highest learning rate.
    pub peak: f32,
    /// The lowest after the warm-up.
    pub floor: f32,
    /// Steps of linear warm-up.
    pub warmup: u64,
    /// Steps of the run.
    pub total: u64,
}

impl LearningRate {
    /// The learning rate of step `step`, counted from 1.
    pub fn at(&self, step: u64) -> f32 {
        let Self { schedule, peak, floor, warmup, total } = *self;
        if step <= warmup {
            return peak * step as f32 / warmup.max(1) as f32;
        }
        let done = (step - warmup) as f32 / total.saturating_sub(warmup).max(1) as f32;
        // From 1 down to 0, or for 1/√step towards it.
        let height = match schedule {
            Schedule::Constant => 1.0,
            Schedule::InverseSquareRoot => {
                return floor.max(peak * (warmup.max(1) as f32 / step as f32).sqrt());
            }
            Schedule::Linear => (1.0 - done).max(0.0),
            Schedule::Cosine => 0.5 * (1.0 + (std::f32::consts::PI * done.min(1.0)).cos()),
        };
        floor + (peak - floor) * height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Schedule; 4] =
        [Schedule::Constant, Schedule::InverseSquareRoot, Schedule::Linear, Schedule::Cosine];

    fn rate(schedule: Schedule, floor: f32, step: u64) -> f32 {
        LearningRate { schedule, peak: 2.0, floor, warmup: 100, total: 1000 }.at(step)
    }

    #[test]
    fn every_schedule_rises_to_the_peak_and_falls_as_its_name_says() {
        for schedule in ALL {
            assert_eq!(rate(schedule, 0.0, 50), 1.0);
            assert_eq!(rate(schedule, 0.0, 100), 2.0);
        }
        assert_eq!(rate(Schedule::Constant, 0.0, 1000), 2.0);
        assert_eq!(rate(Schedule::InverseSquareRoot, 0.0, 400), 1.0);
        assert!(
            (rate(Schedule::Linear, 0.0, 550) - 1.0).abs() < 1e-6
                && rate(Schedule::Linear, 0.0, 1000) == 0.0
        );
        assert!(
            (rate(Schedule::Cosine, 0.0, 550) - 1.0).abs() < 1e-6
                && rate(Schedule::Cosine, 0.0, 1000) < 1e-6
        );
    }

    #[test]
    fn no_schedule_falls_below_its_floor_and_two_reach_it() {
        for schedule in ALL {
            assert!((100..3000).all(|step| rate(schedule, 0.5, step) >= 0.5), "{schedule:?}");
        }
        assert_eq!(rate(Schedule::Linear, 0.5, 1000), 0.5);
        assert!((rate(Schedule::Cosine, 0.5, 550) - 1.25).abs() < 1e-6);
        assert_eq!(rate(Schedule::InverseSquareRoot, 0.5, 1_000_000), 0.5);
    }
}
