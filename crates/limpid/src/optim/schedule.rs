//! How the learning rate goes: up during warm-up, then down.

/// The shape of the curve after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Stays at the peak.
    Constant,
    /// Falls as 1/√step (Vaswani et al. 2017).
    InverseSquareRoot,
    /// Falls in a straight line to 0 at the last step.
    Linear,
    /// Falls as half a cosine to 0 at the last step (Loshchilov and Hutter 2017).
    Cosine,
}

impl Schedule {
    /// The learning rate of step `step`, counted from 1, of `total`, with `warmup` steps of rising in a line to `peak`.
    pub fn rate(self, step: u64, total: u64, warmup: u64, peak: f32) -> f32 {
        if step <= warmup {
            return peak * step as f32 / warmup.max(1) as f32;
        }
        let done = (step - warmup) as f32 / total.saturating_sub(warmup).max(1) as f32;
        peak * match self {
            Schedule::Constant => 1.0,
            Schedule::InverseSquareRoot => (warmup.max(1) as f32 / step as f32).sqrt(),
            Schedule::Linear => (1.0 - done).max(0.0),
            Schedule::Cosine => 0.5 * (1.0 + (std::f32::consts::PI * done.min(1.0)).cos()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_rises_to_the_peak_and_falls_as_its_name_says() {
        let rate = |s: Schedule, step| s.rate(step, 1000, 100, 2.0);
        for schedule in [Schedule::Constant, Schedule::InverseSquareRoot, Schedule::Linear, Schedule::Cosine]
        {
            assert_eq!(rate(schedule, 50), 1.0);
            assert_eq!(rate(schedule, 100), 2.0);
        }
        assert_eq!(rate(Schedule::Constant, 1000), 2.0);
        assert_eq!(rate(Schedule::InverseSquareRoot, 400), 1.0);
        assert!((rate(Schedule::Linear, 550) - 1.0).abs() < 1e-6 && rate(Schedule::Linear, 1000) == 0.0);
        assert!((rate(Schedule::Cosine, 550) - 1.0).abs() < 1e-6 && rate(Schedule::Cosine, 1000) < 1e-6);
    }
}
