//! What came of it, for people: run folders as pages, runs side by side, charts, and TensorBoard's files.
//!
//! | | |
//! |---|---|
//! | [`Run`] | a run folder, read |
//! | [`html()`] | a run as one page |
//! | [`compare()`] | runs side by side, as a page, a text or JSON |
//! | [`tensorboard`] | the same numbers as TensorBoard's event files |
//! | [`Chart`], [`Bars`] | pictures, as SVG |

mod bars;
mod chart;
mod compare;
mod curves;
mod figures;
mod html;
mod run;
mod scale;
mod svg;
pub mod tensorboard;

pub use bars::{Bar, Bars};
pub use chart::{Chart, Mark, Series};
pub use compare::{Comparison, compare};
pub use figures::{Figure, all_figures, counted, figures, summary, thousands};
pub use html::html;
pub(crate) use html::{chart_grid, page, section, table};
pub(crate) use run::parse_settings;
pub use run::{LengthBleu, Metric, Run, Sample, Train, Validation, parse_metrics};
pub use scale::{Axis, Scale, short_number};
pub use svg::escape;
