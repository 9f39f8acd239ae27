//! What came of it, for people: charts as SVG.

pub mod chart;
mod scale;
mod svg;

pub use chart::{Chart, Mark, Series};
pub use scale::{Axis, Scale, short_number};
pub use svg::escape;
