//! Which learning rate? A few hundred steps from a fresh start, each with a rate a little higher than the last, and a look at the losses
//! (Smith 2015).
//!
//! ```text
//! rate of step i = from · (to / from)^(i / (steps − 1))        i = 0, 1, …
//! ```
//!
//! Single losses jump, so each is seen with its w neighbours on both sides, w = steps / 25: their mean is the smoothed loss, and the straight
//! line through them, loss over log₁₀ rate, has the slope of that place. Suggested is the rate where the loss falls most steeply before the
//! smoothed loss is lowest: there steps are large and still lead downhill. The sweep ends early when the mean of the last w losses is more than
//! twice the lowest such mean, or a loss is no number.

use crate::error::{Error, Result};
use crate::report::{Axis, Chart, Mark, Series, short_number};

/// What to try.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSearch {
    /// How many rates, each for one step.
    pub steps: u64,
    /// The lowest.
    pub from: f32,
    /// The highest.
    pub to: f32,
}

impl Default for RateSearch {
    fn default() -> Self {
        Self { steps: 200, from: 1e-6, to: 1.0 }
    }
}

impl RateSearch {
    /// So many steps have neighbours to be seen with.
    const LEAST: u64 = 50;
    const MOST: u64 = 100_000;

    /// Refuses what cannot give a curve.
    pub fn validate(&self) -> Result<()> {
        if self.steps < Self::LEAST {
            return Err(Error::config(format!("{} steps are too few to see a curve", self.steps))
                .hint(format!("use {} or more; 200 is usual", Self::LEAST)));
        }
        if self.steps > Self::MOST {
            return Err(Error::config(format!("{} steps are more than a curve needs", self.steps))
                .hint(format!("use {} or fewer; 200 is usual", Self::MOST)));
        }
        Ok(())
    }

    /// The rate of step `i`, from 0.
    pub fn rate(&self, i: u64) -> f32 {
        let along = i as f64 / (self.steps - 1) as f64;
        (f64::from(self.from) * (f64::from(self.to) / f64::from(self.from)).powf(along)) as f32
    }

    /// w.
    fn reach(&self) -> usize {
        (self.steps / 25) as usize
    }
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepEnd {
    /// All rates were tried.
    Whole,
    /// The loss grew beyond hope.
    Diverged,
}

/// A sweep under way, and then what was found.
#[derive(Clone, Debug)]
pub struct RateCurve {
    search: RateSearch,
    /// Rate and loss, step by step.
    pub losses: Vec<(f32, f32)>,
    /// How it ended.
    pub ended: SweepEnd,
    /// The lowest mean of w losses so far.
    lowest: f64,
}

/// A place on the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatePoint {
    /// The learning rate.
    pub rate: f32,
    /// The smoothed loss.
    pub loss: f64,
    /// How much it rises when the rate grows tenfold.
    pub slope: f64,
}

impl RateCurve {
    /// Nothing was tried yet.
    pub fn new(search: RateSearch) -> Self {
        Self { search, losses: Vec::new(), ended: SweepEnd::Whole, lowest: f64::INFINITY }
    }

    /// The next rate, as long as it is worth trying.
    pub fn next_rate(&self) -> Option<f32> {
        let i = self.losses.len() as u64;
        (self.ended == SweepEnd::Whole && i < self.search.steps).then(|| self.search.rate(i))
    }

    /// What came of the next rate; `None` if it was no number.
    pub fn add(&mut self, rate: f32, loss: Option<f32>) {
        let Some(loss) = loss.filter(|loss| loss.is_finite()) else {
            self.ended = SweepEnd::Diverged;
            return;
        };
        self.losses.push((rate, loss));
        let w = self.search.reach();
        if self.losses.len() >= w {
            let last = mean(self.losses[self.losses.len() - w..].iter().map(|(_, loss)| f64::from(*loss)));
            self.lowest = self.lowest.min(last);
            if last > 2.0 * self.lowest {
                self.ended = SweepEnd::Diverged;
            }
        }
    }

    /// The smoothed curve: every place that has all its neighbours.
    pub fn points(&self) -> Vec<RatePoint> {
        let w = self.search.reach();
        let point = |around: &[(f32, f32)]| {
            let (x, y) = (|p: &(f32, f32)| f64::from(p.0).log10(), |p: &(f32, f32)| f64::from(p.1));
            let (mean_x, loss) = (mean(around.iter().map(x)), mean(around.iter().map(y)));
            let xy: f64 = around.iter().map(|p| (x(p) - mean_x) * (y(p) - loss)).sum();
            let xx: f64 = around.iter().map(|p| (x(p) - mean_x).powi(2)).sum();
            RatePoint { rate: around[w].0, loss, slope: xy / xx }
        };
        self.losses.windows(2 * w + 1).map(point).collect()
    }

    /// Where the loss falls most steeply before it is lowest. Nothing if it never falls by more than it jumps.
    pub fn suggestion(&self) -> Option<RatePoint> {
        let points = self.points();
        let lowest = points.iter().enumerate().min_by(|a, b| a.1.loss.total_cmp(&b.1.loss))?.0;
        let falls = points[0].loss - points[lowest].loss;
        let beginning = &self.losses[..2 * self.search.reach() + 1];
        let jumps =
            mean(beginning.iter().map(|(_, loss)| (f64::from(*loss) - points[0].loss).powi(2))).sqrt();
        if falls <= jumps {
            return None;
        }
        points[..=lowest].iter().copied().min_by(|a, b| a.slope.total_cmp(&b.slope))
    }

    /// A picture of it.
    pub fn chart(&self) -> Chart {
        let raw = self.losses.iter().map(|(rate, loss)| (f64::from(*rate), f64::from(*loss))).collect();
        let place = |point: &RatePoint| (f64::from(point.rate), point.loss);
        let smooth = self.points().iter().map(place).collect();
        let mut series = vec![Series::line("", raw).marked(Mark::Faint), Series::line("loss", smooth)];
        if let Some(point) = self.suggestion() {
            let name = format!("suggested: {}", short_number(f64::from(round(point.rate))));
            series.push(Series::line(name, vec![place(&point)]).marked(Mark::Dots));
        }
        let (x, y) = (Axis::log("learning rate"), Axis::linear("nats a token"));
        let mut chart = Chart::new("Loss while the learning rate grows", x, y, series);
        chart.subtitle = format!("one step a rate, smoothed over {} neighbours", 2 * self.search.reach() + 1);
        chart
    }
}

/// Two digits: more would promise what a sweep cannot know.
pub fn round(rate: f32) -> f32 {
    format!("{rate:.1e}").parse().expect("it was written as a number")
}

fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = numbers.len() as f64;
    numbers.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sweep over losses that follow from log₁₀ rate by `loss`, with jumps of this size.
    fn sweep(jump: f32, loss: impl Fn(f64) -> f64) -> RateCurve {
        let mut curve = RateCurve::new(RateSearch::default());
        while let Some(rate) = curve.next_rate() {
            let i = curve.losses.len();
            let jump = if i.is_multiple_of(2) { jump } else { -jump };
            curve.add(rate, Some(loss(f64::from(rate).log10()) as f32 + jump));
        }
        curve
    }

    #[test]
    fn the_rates_grow_by_a_constant_factor_from_the_first_to_the_last() {
        let search = RateSearch { steps: 61, from: 1e-6, to: 1.0 };
        let rate = |i| f64::from(search.rate(i));
        assert!((rate(0) - 1e-6).abs() < 1e-12 && (rate(60) - 1.0).abs() < 1e-6);
        // Ten steps a decade.
        assert!((0..=50).all(|i| (rate(i + 10) / rate(i) - 10.0).abs() < 1e-4));
        assert!(RateSearch { steps: 9, ..search }.validate().is_err());
        assert!(RateSearch { steps: 1 << 40, ..search }.validate().is_err());
    }

    #[test]
    fn the_steepest_descent_of_a_known_curve_is_found_through_its_noise() {
        // 4 − 2·σ(6(x + 3)) falls most steeply at x = −3; beyond −1 it grows by 8 a decade.
        let loss = |x: f64| 4.0 - 2.0 / (1.0 + (-6.0 * (x + 3.0)).exp()) + 8.0 * (x + 1.0).max(0.0);
        for jump in [0.0, 0.1] {
            let curve = sweep(jump, loss);
            let found = curve.suggestion().unwrap();
            assert!((f64::from(found.rate).log10() + 3.0).abs() < 0.1, "{found:?}");
            assert_eq!(curve.ended, SweepEnd::Diverged);
            assert!(curve.losses.len() < 200, "it went on");
        }
    }

    #[test]
    fn slope_and_mean_of_a_straight_line_are_its_own() {
        let curve = sweep(0.0, |x| 3.0 - 0.25 * x);
        for point in curve.points() {
            let x = f64::from(point.rate).log10();
            assert!(
                (point.slope + 0.25).abs() < 1e-3 && (point.loss - 3.0 + 0.25 * x).abs() < 1e-3,
                "{point:?}"
            );
        }
        assert_eq!((curve.ended, curve.losses.len()), (SweepEnd::Whole, 200));
    }

    #[test]
    fn a_loss_that_only_jumps_gives_no_suggestion_and_one_that_is_no_number_ends_it() {
        assert!(sweep(0.2, |_| 4.0).suggestion().is_none());
        let mut curve = RateCurve::new(RateSearch::default());
        curve.add(1e-6, Some(4.0));
        curve.add(1e-5, None);
        assert_eq!((curve.next_rate(), curve.ended), (None, SweepEnd::Diverged));
        assert!(curve.suggestion().is_none() && curve.points().is_empty());
        assert_eq!(round(0.0012679), 0.0013);
    }
}
