//! Reports: run folders as HTML pages, comparisons of runs, SVG charts, TensorBoard event files.
//!
//! | | |
//! |---|---|
//! | [`Run`] | the metrics, configuration and summary of a run folder |
//! | [`html()`] | a run as one offline page |
//! | [`compare()`] | runs side by side, as a page, text or JSON |
//! | [`tensorboard`] | the metrics as TensorBoard event files |
//! | [`Chart`], [`Bars`] | line and bar charts as SVG, with values on hover |
//!
//! ```
//! use limpid::report::{Metric, Run, Train, html};
//!
//! let line = |step, loss| Metric::Train(Train { step, loss, ..Train::default() });
//! let metrics = vec![line(1, 5.1), line(2, 3.2)];
//! let run = Run { name: "a run".into(), metrics, ..Run::default() };
//! assert!(html(&run).contains("2 steps"));
//! ```

mod bars;
mod chart;
mod compare;
mod curves;
mod figures;
mod hover;
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
pub use html::{chart_grid, page, section, table};
pub(crate) use run::parse_settings;
pub use run::{LengthBleu, Metric, Run, RunTask, Sample, Train, Validation, parse_metrics};
pub use scale::{Axis, Scale, short_number};
pub use svg::escape;
