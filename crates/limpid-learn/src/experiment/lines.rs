//! Lines of estimates, with their intervals as bands.

use super::Estimate;
use limpid::report::{Mark, Series};
use std::ops::RangeInclusive;

/// A number that may be anything.
pub(super) const ANY: RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;
/// A loss, a distance: not below 0.
pub(super) const NOT_NEGATIVE: RangeInclusive<f64> = 0.0..=f64::INFINITY;
/// A share is between 0 and 1, whatever Student's t says.
pub(super) const SHARE: RangeInclusive<f64> = 0.0..=1.0;

/// A dot for each mean, a line through them, and a band of the 95% intervals as far as such a
/// number can go.
pub(super) fn line(
    name: impl Into<String>,
    points: impl IntoIterator<Item = (f64, Estimate)>,
    can_be: RangeInclusive<f64>,
) -> Series {
    let points: Vec<(f64, Estimate)> = points.into_iter().collect();
    let band = |(x, estimate): &(f64, Estimate)| {
        let (low, high) = estimate.interval();
        (*x, low.max(*can_be.start()), high.min(*can_be.end()))
    };
    let means = points.iter().map(|(x, estimate)| (*x, estimate.mean)).collect();
    // One measurement has no interval.
    let known = |(_, low, high): &(f64, f64, f64)| low.is_finite() && high.is_finite();
    let band = points.iter().map(band).filter(known).collect();
    Series { band, ..Series::line(name, means).marked(Mark::Dots) }
}
