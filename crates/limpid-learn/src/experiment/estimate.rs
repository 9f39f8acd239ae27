//! A number that was measured several times, and how sure one can be of it.

use super::Verdict;
use std::fmt;

/// The mean of some measurements, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// s/√n, with s the standard deviation of one measurement; not a number if there is only one.
    pub error: f64,
    /// n.
    pub count: usize,
}

impl Estimate {
    /// Of these measurements.
    ///
    /// # Panics
    /// If there are none.
    #[track_caller]
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "an estimate of nothing");
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        Self { mean, error: (squares / (n - 1.0) / n).sqrt(), count: values.len() }
    }

    /// Of the differences a − b, measurement by measurement: the same seed on both sides cancels.
    #[track_caller]
    pub fn of_differences(a: &[f64], b: &[f64]) -> Self {
        assert_eq!(a.len(), b.len(), "differences of unlike lists");
        Self::of(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
    }

    /// The interval that holds the true mean 95 times in 100: the mean ± t · error, by Student's t.
    pub fn interval(&self) -> (f64, f64) {
        let half = student_95(self.count - 1) * self.error;
        (self.mean - half, self.mean + half)
    }

    /// Whether it is above `limit` beyond chance, below it, or neither.
    pub fn is_above(&self, limit: f64) -> Verdict {
        match self.interval() {
            (low, _) if low > limit => Verdict::Confirmed,
            (_, high) if high < limit => Verdict::Refuted,
            _ => Verdict::Inconclusive,
        }
    }

    /// Whether it is below `limit` beyond chance, above it, or neither.
    pub fn is_below(&self, limit: f64) -> Verdict {
        match self.is_above(limit) {
            Verdict::Confirmed => Verdict::Refuted,
            Verdict::Refuted => Verdict::Confirmed,
            other => other,
        }
    }

    /// Whether it is within `limit` of zero on both sides beyond chance, outside on one of them, or
    /// neither.
    pub fn is_within(&self, limit: f64) -> Verdict {
        Verdict::all([self.is_below(limit), self.is_above(-limit)])
    }
}

/// The factor of a 95% interval with so many degrees of freedom.
fn student_95(freedom: usize) -> f64 {
    const T: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match freedom {
        0 => f64::INFINITY,
        1..=10 => T[freedom - 1],
        // The largest of each range: an interval is rather too wide than too narrow.
        11..=20 => 2.201,
        21..=30 => 2.08,
        _ => 2.04,
    }
}

/// With three digits unless told otherwise; what could not be measured is unknown.
impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(3);
        if !self.mean.is_finite() {
            return f.write_str("unknown");
        }
        if self.count == 1 {
            return write!(f, "{:.digits$}", self.mean);
        }
        write!(f, "{:.digits$} ± {:.digits$}", self.mean, student_95(self.count - 1) * self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_measurements_have_a_mean_an_error_and_a_wide_interval() {
        // Mean 2, s = 1, error 1/√3, t = 4.303.
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!((estimate.mean, estimate.count), (2.0, 3));
        assert!((estimate.error - 3.0_f64.sqrt().recip()).abs() < 1e-12);
        let (low, high) = estimate.interval();
        assert!((low + 0.484).abs() < 1e-3 && (high - 4.484).abs() < 1e-3, "{low} {high}");
        assert_eq!(estimate.to_string(), "2.000 ± 2.484");
        assert_eq!(format!("{estimate:.1}"), "2.0 ± 2.5");
        assert_eq!(Estimate::of(&[1.0, f64::NAN]).to_string(), "unknown");
    }

    #[test]
    fn a_judgement_needs_an_interval_on_one_side() {
        let near = Estimate::of(&[1.0, 1.1, 0.9]);
        assert_eq!(near.is_above(0.5), Verdict::Confirmed);
        assert_eq!(near.is_above(1.5), Verdict::Refuted);
        assert_eq!(near.is_above(1.1), Verdict::Inconclusive);
        assert_eq!(
            Estimate::of(&[7.0]).is_above(0.0),
            Verdict::Inconclusive,
            "one measurement proves nothing"
        );
        assert_eq!(
            [near.is_below(0.5), near.is_below(1.5)],
            [Verdict::Refuted, Verdict::Confirmed]
        );
        assert_eq!(
            [near.is_within(1.5), near.is_within(0.5)],
            [Verdict::Confirmed, Verdict::Refuted]
        );
        // From −2 to 0.05: its upper end is near zero, the whole is not.
        assert_eq!(Estimate::of(&[-0.5, -1.0, -1.4]).is_within(0.1), Verdict::Inconclusive);
        let paired = Estimate::of_differences(&[5.0, 9.0, 1.0], &[4.0, 8.0, 0.0]);
        assert_eq!((paired.mean, paired.error), (1.0, 0.0));
    }
}
