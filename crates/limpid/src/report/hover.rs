//! Values on hover: invisible strips over a line chart, each with the numbers of its points.
//!
//! Style sheets alone, no script: a strip shows its box while the pointer is over it, and has the
//! same numbers as its title, for screen readers and touch.

use super::chart::{Chart, Mark, Series};
use super::scale::{Fitted, short_number};
use super::svg::{HEIGHT, LEFT, Page, RIGHT, escape, width_of, x_of};
use std::fmt::Write;

/// The most strips of a chart: more would be too narrow to point at, and make the file large.
const MOST: usize = 48;

/// Adds the strips to a page. Call it last: they must lie over the lines.
pub(super) fn add_strips(page: &mut Page, chart: &Chart, x: &Fitted) {
    let shown: Vec<&Series> = chart.series.iter().filter(|s| s.mark != Mark::Faint).collect();
    let columns = columns(&shown, x);
    for (i, column) in columns.iter().enumerate() {
        // Up to the middle between two columns.
        let left = if i == 0 { LEFT } else { f64::midpoint(columns[i - 1].at, column.at) };
        let right = columns.get(i + 1).map_or(RIGHT, |next| f64::midpoint(column.at, next.at));
        let lines = column.lines(&chart.x.label, &shown);
        strip(page, (left, right), &lines);
    }
}

/// Points that share a strip.
struct Column {
    /// Where, in units of the page.
    at: f64,
    /// The number on the x axis.
    number: f64,
    /// The point of each series that is nearest to it in this strip.
    values: Vec<Option<f64>>,
}

impl Column {
    fn lines(&self, x_label: &str, series: &[&Series]) -> Vec<String> {
        let first = format!("{x_label} {}", exact(self.number)).trim().to_string();
        let value = |(value, series): (&Option<f64>, &&Series)| {
            value.map(|value| format!("{} {}", series.name, short_number(value)).trim().to_string())
        };
        std::iter::once(first).chain(self.values.iter().zip(series).filter_map(value)).collect()
    }
}

/// A whole number to its last digit: step 12,345, not 12k.
fn exact(number: f64) -> String {
    let is_count = number.fract() == 0.0 && (0.0..1e15).contains(&number);
    if is_count { super::thousands(number as u64) } else { short_number(number) }
}

fn columns(series: &[&Series], x: &Fitted) -> Vec<Column> {
    let slot = |at: f64| ((at - LEFT) / (RIGHT - LEFT) * MOST as f64).floor() as i64;
    // (place, number, which series, value), in the order of places.
    let mut points: Vec<(f64, f64, usize, f64)> = Vec::new();
    for (which, series) in series.iter().enumerate() {
        let known = series.points.iter().filter(|point| point.1.is_finite());
        points.extend(known.filter_map(|point| Some((x_of(x, point.0)?, point.0, which, point.1))));
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
    let groups = points.chunk_by(|a, b| slot(a.0) == slot(b.0));
    groups.map(|group| column(group, series)).collect()
}

/// The column of a group of points: where the series with the fewest points has one, so that a
/// validation is not passed over for a line of training.
fn column(group: &[(f64, f64, usize, f64)], series: &[&Series]) -> Column {
    let rarest = group.iter().min_by_key(|point| series[point.2].points.len());
    let (at, number, ..) = *rarest.expect("a group has a point");
    let nearest = |which: usize| {
        let mine = group.iter().filter(|point| point.2 == which);
        let distance = |point: &&(f64, f64, usize, f64)| (point.0 - at).abs();
        mine.min_by(|a, b| distance(a).total_cmp(&distance(b))).map(|point| point.3)
    };
    Column { at, number, values: (0..series.len()).map(nearest).collect() }
}

fn strip(page: &mut Page, (left, right): (f64, f64), lines: &[String]) {
    let top = page.top;
    let _ = write!(page.body, "<g class=\"lch\"><title>{}</title>", escape(&lines.join("\n")));
    page.rect((left, top), (right - left, HEIGHT), "");
    let width = lines.iter().map(|line| width_of(line)).fold(0.0, f64::max) + 12.0;
    let height = 18.0 * lines.len() as f64 + 8.0;
    // On the side of the plot where the strip is not.
    let is_left = f64::midpoint(left, right) < f64::midpoint(LEFT, RIGHT);
    let box_left = if is_left { RIGHT - width } else { LEFT + 4.0 };
    page.rect((box_left, top), (width, height), " class=\"lcb\" rx=\"4\"");
    for (i, line) in lines.iter().enumerate() {
        page.text(box_left + 6.0, top + 18.0 * (i + 1) as f64, "", line);
    }
    page.body += "</g>";
}

#[cfg(test)]
mod tests {
    use super::super::svg::tests::assert_well_formed;
    use super::super::{Axis, Chart, Series};
    use super::*;

    fn titles(chart: &Chart) -> Vec<String> {
        let svg = chart.svg();
        assert_well_formed(&svg);
        let strips = svg.split("<g class=\"lch\"><title>").skip(1);
        strips.map(|rest| rest.split("</title>").next().unwrap().to_string()).collect()
    }

    #[test]
    fn every_point_of_a_few_has_a_strip_with_the_values_of_all_series() {
        let train = Series::line("training", vec![(0.0, 5.0), (100.0, 3.0), (12_345.0, 2.25)]);
        let validation = Series::line("validation", vec![(100.0, 3.5), (12_345.0, f64::NAN)]);
        let axes = (Axis::linear("step"), Axis::linear(""));
        let chart = Chart::new("Loss", axes.0, axes.1, vec![train, validation]);
        // 0 and 100 of 12,345 share a strip, which stands where validation has a point.
        assert_eq!(
            titles(&chart),
            ["step 100\ntraining 3\nvalidation 3.5", "step 12,345\ntraining 2.25"]
        );
    }

    #[test]
    fn a_long_series_has_no_more_strips_than_can_be_pointed_at() {
        let points = (0..10_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        let axes = (Axis::linear("step"), Axis::linear(""));
        let chart = Chart::new("Loss", axes.0, axes.1, vec![Series::line("", points)]);
        let titles = titles(&chart);
        assert!((40..=MOST + 1).contains(&titles.len()), "{}", titles.len());
    }

    #[test]
    fn a_chart_without_points_has_no_strips() {
        let axes = (Axis::linear("x"), Axis::log("y"));
        assert!(titles(&Chart::new("empty", axes.0, axes.1, vec![])).is_empty());
    }
}
