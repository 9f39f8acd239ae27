//! Line charts as SVG: one picture, no script, the same bytes for the same numbers, values on
//! hover.
//!
//! ```
//! use limpid::report::{Axis, Chart, Series};
//!
//! let loss = Series::line("training", vec![(1.0, 5.1), (100.0, 3.2), (200.0, 2.9)]);
//! let (x, y) = (Axis::linear("step"), Axis::linear("cross-entropy loss (nats per token)"));
//! let chart = Chart::new("Loss", x, y, vec![loss]);
//! assert!(chart.svg().starts_with("<svg"));
//! ```

use super::scale::{Axis, Ends, Fitted, short_number};
use super::svg::{HEIGHT, LEFT, Page, RIGHT, Style, colour, dashes, px, width_of, x_of};
use crate::error::{Error, ReportError, Result};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

/// Columns in which points of a long series are merged: about one per pixel of a large screen.
const COLUMNS: f64 = 1280.0;

/// A line chart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// Below the title, for example what was held constant. May be empty.
    #[serde(default)]
    pub subtitle: String,
    /// The x axis.
    pub x: Axis,
    /// The y axis.
    pub y: Axis,
    /// The series, in drawing order.
    pub series: Vec<Series>,
}

/// A series of points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name in the legend; empty for none.
    pub name: String,
    /// Points (x, y), joined in order. A point that cannot be drawn (NaN, or not positive on a
    /// logarithmic axis) is a gap.
    #[serde(deserialize_with = "pairs_or_null")]
    pub points: Vec<(f64, f64)>,
    /// How they are drawn.
    #[serde(default)]
    pub mark: Mark,
    /// An area behind the line: (x, lower y, upper y).
    #[serde(default)]
    pub band: Vec<(f64, f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// A line.
    #[default]
    Line,
    /// A line with a dot on each point: for few points, each measured.
    Dots,
    /// A faint line: noise behind its average, which follows in the same colour.
    Faint,
}

/// JSON has no NaN: null is a gap.
fn pairs_or_null<'de, D: Deserializer<'de>>(
    from: D,
) -> std::result::Result<Vec<(f64, f64)>, D::Error> {
    let pairs = Vec::<(Option<f64>, Option<f64>)>::deserialize(from)?;
    Ok(pairs.into_iter().map(|(x, y)| (x.unwrap_or(f64::NAN), y.unwrap_or(f64::NAN))).collect())
}

impl Series {
    /// A plain line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, mark: Mark::Line, band: Vec::new() }
    }

    /// The same series with another mark.
    pub fn marked(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }
}

impl Chart {
    /// A chart without a subtitle.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self { title: title.into(), subtitle: String::new(), x, y, series }
    }

    /// Reads a chart from JSON (docs/formats.md has its keys).
    /// # Errors
    /// If the file cannot be read or is not a chart.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).map_err(|e| Error::io("read", path, e))?;
        serde_json::from_slice(&text).map_err(|e| {
            ReportError::Chart { path: path.to_path_buf(), reason: e.to_string() }.into()
        })
    }

    /// The chart as SVG.
    pub fn svg(&self) -> String {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let bands = || self.series.iter().flat_map(|series| &series.band);
        let xs = points().map(|p| p.0).chain(bands().map(|b| b.0));
        let ys = points().map(|p| p.1).chain(bands().flat_map(|b| [b.1, b.2]));
        let (x, y) = (self.x.fit(xs, Ends::Exact), self.y.fit(ys, Ends::Round));
        let styles = self.styles(&x, &y);
        let mut page = Page::new(&self.title, &self.subtitle, &self.legend(&styles), &self.y.label);
        page.rows(&y);
        let mut free = f64::NEG_INFINITY;
        for &tick in &x.ticks {
            let (Some(at), name) = (x_of(&x, tick), short_number(tick)) else { continue };
            // A label that would overlap the previous one is left out.
            let half = width_of(&name) / 2.0;
            if at - half >= free {
                page.column(at, &name);
                free = at + half;
            } else {
                page.column(at, "");
            }
        }
        for (series, style) in self.series.iter().zip(&styles) {
            draw(&mut page, series, style, &x, &y);
        }
        super::hover::add_strips(&mut page, self, &x);
        page.finish(&self.title, &self.summary(), &self.x.label)
    }

    /// The colour index of each series: its index in the legend. A faint series has the colour of
    /// the next.
    fn colours(&self) -> Vec<usize> {
        let mut next = 0;
        let number = |series: &Series| {
            let mine = next;
            next += usize::from(series.mark != Mark::Faint);
            mine
        };
        self.series.iter().map(number).collect()
    }

    /// Colour and dashes of each series: a line that covers others is dashed.
    fn styles(&self, x: &Fitted, y: &Fitted) -> Vec<Style> {
        let place = |p: &(f64, f64)| Some((x.place(p.0)? * (RIGHT - LEFT), y.place(p.1)? * HEIGHT));
        let same = |a: &(f64, f64), b: &(f64, f64)| {
            let ends = place(a).zip(place(b));
            ends.is_some_and(|(a, b)| (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 2.0)
        };
        // Only where each point was measured: noisy lines touch everywhere.
        let covers = |one: &Series, other: &Series| {
            let pairs = one.points.windows(2).zip(other.points.windows(2));
            one.mark == Mark::Dots
                && other.mark == Mark::Dots
                && pairs.into_iter().any(|(a, b)| same(&a[0], &b[0]) && same(&a[1], &b[1]))
        };
        let style = |(i, number): (usize, usize)| {
            let under =
                self.series[..i].iter().filter(|other| covers(&self.series[i], other)).count();
            Style { colour: colour(number), dashes: dashes(number, under) }
        };
        self.colours().into_iter().enumerate().map(style).collect()
    }

    fn legend(&self, styles: &[Style]) -> Vec<(String, Style)> {
        let all = self.series.iter().zip(styles);
        all.filter(|(series, _)| series.mark != Mark::Faint && !series.name.is_empty())
            .map(|(series, style)| (series.name.clone(), *style))
            .collect()
    }

    /// The text alternative.
    fn summary(&self) -> String {
        let y = if self.y.label.is_empty() { &self.title } else { &self.y.label };
        let mut text = format!("{y} against {}.", self.x.label);
        for series in self.series.iter().filter(|s| s.mark != Mark::Faint) {
            let seen: Vec<_> =
                series.points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).collect();
            let at = |p: &(f64, f64)| format!("{} at {}", short_number(p.1), short_number(p.0));
            let points = match seen[..] {
                [] => "no points".to_string(),
                [p] => at(p),
                [a, .., b] => format!("{} points, from {} to {}", seen.len(), at(a), at(b)),
            };
            let _ = match series.name.as_str() {
                "" => write!(text, " {points}."),
                name => write!(text, " {name}: {points}."),
            };
        }
        text
    }
}

fn draw(page: &mut Page, series: &Series, style: &Style, x: &Fitted, y: &Fitted) {
    let Style { colour, dashes } = style;
    let at = |page: &Page, px: f64, py: f64| Some((x_of(x, px)?, page.y(y, py)?));
    let upper = series.band.iter().filter_map(|b| at(page, b.0, b.2));
    let lower = series.band.iter().rev().filter_map(|b| at(page, b.0, b.1));
    let outline: Vec<_> = upper.chain(lower).collect();
    if outline.len() >= 4 {
        let attributes = format!(" fill=\"{colour}\" fill-opacity=\".18\"");
        page.path(&(path(&outline) + "Z"), &attributes);
    }
    let places: Vec<_> = series.points.iter().map(|p| at(page, p.0, p.1)).collect();
    let (width, opacity) = if series.mark == Mark::Faint { (1.0, ".35") } else { (2.0, "1") };
    for run in places.split(Option::is_none).filter(|run| !run.is_empty()) {
        let run = thin(&run.iter().flatten().copied().collect::<Vec<_>>());
        if run.len() > 1 {
            let attributes = format!(
                " stroke=\"{colour}\" stroke-width=\"{width}\" stroke-opacity=\"{opacity}\" \
                 stroke-linejoin=\"round\" stroke-dasharray=\"{dashes}\""
            );
            page.path(&path(&run), &attributes);
        }
        // A point alone has no line that would show it.
        if series.mark == Mark::Dots || run.len() == 1 {
            for (cx, cy) in run.iter().map(|place| (px(place.0), px(place.1))) {
                let _ = write!(
                    page.body,
                    "<circle cx=\"{cx}\" cy=\"{cy}\" r=\"3.5\" fill=\"{colour}\"/>"
                );
            }
        }
    }
}

fn path(places: &[(f64, f64)]) -> String {
    let places: Vec<String> =
        places.iter().map(|(x, y)| format!("{} {}", px(*x), px(*y))).collect();
    format!("M{}", places.join("L"))
}

/// The first, lowest, highest and last point of each column: visually the same line.
fn thin(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if run.len() as f64 <= 2.0 * COLUMNS {
        return run.to_vec();
    }
    let column = |p: &(f64, f64)| ((p.0 - LEFT) / (RIGHT - LEFT) * COLUMNS).floor();
    let mut kept = Vec::new();
    for group in run.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
        let all = 0..group.len();
        let extremes = all.clone().min_by(by_height).into_iter().chain(all.max_by(by_height));
        let chosen: BTreeSet<usize> = extremes.chain([0, group.len() - 1]).collect();
        kept.extend(chosen.into_iter().map(|i| group[i]));
    }
    kept
}

#[cfg(test)]
mod tests;
