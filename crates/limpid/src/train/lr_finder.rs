//! Learning-rate range test (Smith 2015): a few hundred steps from the initial weights, each with a
//! slightly higher learning rate than the last, and a suggestion from the losses.
//!
//! ```text
//! lr of step i = from · (to / from)^(i / (steps − 1))        i = 0, 1, …
//! ```
//!
//! Single losses are noisy, so each is taken with its w neighbours on both sides, w = steps / 25:
//! their mean is the smoothed loss, and a line fitted through them, loss over log₁₀ lr, gives the
//! slope. Suggested is the rate with the steepest descent before the smoothed loss is lowest. The
//! sweep ends early when the mean of the last w losses is more than twice the lowest such mean, or
//! a loss is not finite.
//!
//! ```
//! use limpid::train::lr_finder::{LrCurve, LrSearch};
//!
//! // A loss that falls fastest at 0.01 and rises beyond 0.1.
//! let mut curve = LrCurve::new(LrSearch::default());
//! while let Some(lr) = curve.next_lr() {
//!     let x = lr.log10();
//!     curve.add(lr, Some(3.0 - (2.0 * (x + 2.0)).tanh() + (x + 1.0).max(0.0).exp()));
//! }
//! let suggested = curve.suggestion().expect("the loss falls").lr;
//! assert!((3e-3..3e-2).contains(&suggested));
//! ```

use crate::error::RunError;
use crate::report::{Axis, Chart, Mark, Series, short_number};

/// Which learning rates to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrSearch {
    /// Number of rates, one step each.
    pub steps: u64,
    /// The lowest.
    pub from: f32,
    /// The highest.
    pub to: f32,
}

impl Default for LrSearch {
    fn default() -> Self {
        Self { steps: 200, from: 1e-6, to: 1.0 }
    }
}

impl LrSearch {
    /// The fewest steps that give every point its neighbours.
    const MIN_STEPS: u64 = 50;
    const MAX_STEPS: u64 = 100_000;

    /// Refuses a number of steps that gives no useful curve.
    ///
    /// # Errors
    /// [`RunError::LrSearchSteps`].
    pub fn validate(&self) -> Result<(), RunError> {
        let (min, max) = (Self::MIN_STEPS, Self::MAX_STEPS);
        match (min..=max).contains(&self.steps) {
            true => Ok(()),
            false => Err(RunError::LrSearchSteps { steps: self.steps, min, max }),
        }
    }

    /// The learning rate of step `i`, counted from 0.
    pub fn lr(&self, i: u64) -> f32 {
        let along = i as f64 / (self.steps - 1) as f64;
        (f64::from(self.from) * (f64::from(self.to) / f64::from(self.from)).powf(along)) as f32
    }

    /// w: neighbours on each side.
    fn reach(&self) -> usize {
        (self.steps / 25) as usize
    }
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// All rates were tried.
    Completed,
    /// The loss more than doubled or was not finite.
    Diverged,
}

/// The losses of a sweep, and what follows from them.
#[derive(Clone, Debug)]
pub struct LrCurve {
    search: LrSearch,
    /// Learning rate and loss of every step.
    pub losses: Vec<(f32, f32)>,
    /// How it ended.
    pub ended: SweepEnd,
    /// The lowest mean of w losses so far.
    lowest: f64,
}

/// A point of the smoothed curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrPoint {
    /// The learning rate.
    pub lr: f32,
    /// The smoothed loss.
    pub loss: f64,
    /// Change of the loss per tenfold learning rate.
    pub slope: f64,
}

impl LrCurve {
    /// An empty curve.
    pub fn new(search: LrSearch) -> Self {
        Self { search, losses: Vec::new(), ended: SweepEnd::Completed, lowest: f64::INFINITY }
    }

    /// The next learning rate to try, until the sweep is over.
    pub fn next_lr(&self) -> Option<f32> {
        let i = self.losses.len() as u64;
        (self.ended == SweepEnd::Completed && i < self.search.steps).then(|| self.search.lr(i))
    }

    /// Adds the loss of the next learning rate; `None` if it was not finite.
    pub fn add(&mut self, lr: f32, loss: Option<f32>) {
        let Some(loss) = loss.filter(|loss| loss.is_finite()) else {
            self.ended = SweepEnd::Diverged;
            return;
        };
        self.losses.push((lr, loss));
        let w = self.search.reach();
        if self.losses.len() >= w {
            let last =
                mean(self.losses[self.losses.len() - w..].iter().map(|(_, loss)| f64::from(*loss)));
            self.lowest = self.lowest.min(last);
            if last > 2.0 * self.lowest {
                self.ended = SweepEnd::Diverged;
            }
        }
    }

    /// The smoothed curve: every step that has all its neighbours.
    pub fn points(&self) -> Vec<LrPoint> {
        let w = self.search.reach();
        let point = |around: &[(f32, f32)]| {
            let (x, y) = (|p: &(f32, f32)| f64::from(p.0).log10(), |p: &(f32, f32)| f64::from(p.1));
            let (mean_x, loss) = (mean(around.iter().map(x)), mean(around.iter().map(y)));
            let xy: f64 = around.iter().map(|p| (x(p) - mean_x) * (y(p) - loss)).sum();
            let xx: f64 = around.iter().map(|p| (x(p) - mean_x).powi(2)).sum();
            LrPoint { lr: around[w].0, loss, slope: xy / xx }
        };
        self.losses.windows(2 * w + 1).map(point).collect()
    }

    /// The point of steepest descent before the loss is lowest; none if the loss never falls by
    /// more than its noise.
    pub fn suggestion(&self) -> Option<LrPoint> {
        let points = self.points();
        let lowest = points.iter().enumerate().min_by(|a, b| a.1.loss.total_cmp(&b.1.loss))?.0;
        let falls = points[0].loss - points[lowest].loss;
        let beginning = &self.losses[..2 * self.search.reach() + 1];
        let noise =
            mean(beginning.iter().map(|(_, loss)| (f64::from(*loss) - points[0].loss).powi(2)))
                .sqrt();
        if falls <= noise {
            return None;
        }
        points[..=lowest].iter().copied().min_by(|a, b| a.slope.total_cmp(&b.slope))
    }

    /// A chart of the curve.
    pub fn chart(&self) -> Chart {
        let raw =
            self.losses.iter().map(|(rate, loss)| (f64::from(*rate), f64::from(*loss))).collect();
        let place = |point: &LrPoint| (f64::from(point.lr), point.loss);
        let smooth = self.points().iter().map(place).collect();
        let mut series =
            vec![Series::line("", raw).marked(Mark::Faint), Series::line("loss", smooth)];
        if let Some(point) = self.suggestion() {
            let name = format!("suggested: {}", short_number(f64::from(round(point.lr))));
            series.push(Series::line(name, vec![place(&point)]).marked(Mark::Dots));
        }
        let (x, y) =
            (Axis::log("learning rate"), Axis::linear("cross-entropy loss (nats per token)"));
        let mut chart = Chart::new("Loss while the learning rate grows", x, y, series);
        chart.subtitle =
            format!("one step per rate, smoothed over {} steps", 2 * self.search.reach() + 1);
        chart
    }
}

/// A learning rate with two digits: a sweep is not more precise.
pub fn round(lr: f32) -> f32 {
    format!("{lr:.1e}").parse().expect("it was formatted as a number")
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = numbers.len() as f64;
    numbers.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep over losses that follow from log₁₀ rate by `loss`, with jumps of this size.
    fn sweep(jump: f32, loss: impl Fn(f64) -> f64) -> LrCurve {
        let mut curve = LrCurve::new(LrSearch::default());
        while let Some(rate) = curve.next_lr() {
            let i = curve.losses.len();
            let jump = if i.is_multiple_of(2) { jump } else { -jump };
            curve.add(rate, Some(loss(f64::from(rate).log10()) as f32 + jump));
        }
        curve
    }

    #[test]
    fn the_rates_grow_by_a_constant_factor_from_the_first_to_the_last() {
        let search = LrSearch { steps: 61, from: 1e-6, to: 1.0 };
        let rate = |i| f64::from(search.lr(i));
        assert!((rate(0) - 1e-6).abs() < 1e-12 && (rate(60) - 1.0).abs() < 1e-6);
        // Ten steps a decade.
        assert!((0..=50).all(|i| (rate(i + 10) / rate(i) - 10.0).abs() < 1e-4));
        assert!(LrSearch { steps: 9, ..search }.validate().is_err());
        assert!(LrSearch { steps: 1 << 40, ..search }.validate().is_err());
    }

    #[test]
    fn the_steepest_descent_of_a_known_curve_is_found_through_its_noise() {
        // 4 − 2·σ(6(x + 3)) falls most steeply at x = −3; beyond −1 it grows by 8 a decade.
        let loss = |x: f64| 4.0 - 2.0 / (1.0 + (-6.0 * (x + 3.0)).exp()) + 8.0 * (x + 1.0).max(0.0);
        for jump in [0.0, 0.1] {
            let curve = sweep(jump, loss);
            let found = curve.suggestion().unwrap();
            assert!((f64::from(found.lr).log10() + 3.0).abs() < 0.1, "{found:?}");
            assert_eq!(curve.ended, SweepEnd::Diverged);
            assert!(curve.losses.len() < 200, "it went on");
        }
    }

    #[test]
    fn slope_and_mean_of_a_straight_line_are_its_own() {
        let curve = sweep(0.0, |x| 3.0 - 0.25 * x);
        for point in curve.points() {
            let x = f64::from(point.lr).log10();
            assert!(
                (point.slope + 0.25).abs() < 1e-3 && (point.loss - 3.0 + 0.25 * x).abs() < 1e-3,
                "{point:?}"
            );
        }
        assert_eq!((curve.ended, curve.losses.len()), (SweepEnd::Completed, 200));
    }

    #[test]
    fn a_loss_that_only_jumps_gives_no_suggestion_and_one_that_is_no_number_ends_it() {
        assert!(sweep(0.2, |_| 4.0).suggestion().is_none());
        let mut curve = LrCurve::new(LrSearch::default());
        curve.add(1e-6, Some(4.0));
        curve.add(1e-5, None);
        assert_eq!((curve.next_lr(), curve.ended), (None, SweepEnd::Diverged));
        assert!(curve.suggestion().is_none() && curve.points().is_empty());
        assert_eq!(round(0.0012679), 0.0013);
    }
}
