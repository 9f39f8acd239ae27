//! Bar charts as SVG: one number per group.

use super::scale::{Axis, Ends, short_number};
use super::svg::{HEIGHT, LEFT, Page, RIGHT, colour, px, width_of};
use std::fmt::Write;

/// A bar chart.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The title.
    pub title: String,
    /// Label of the x axis: what the groups are.
    pub x: String,
    /// Label of the y axis: the quantity.
    pub y: String,
    /// The groups, left to right.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The label below, on one line or two.
    pub name: String,
    /// The height; a number that is not finite has no bar.
    pub height: f64,
    /// An error bar: its lower and upper end.
    pub interval: Option<(f64, f64)>,
    /// The text on hover and for screen readers.
    pub about: String,
}

impl Bars {
    /// The chart as SVG.
    pub fn svg(&self) -> String {
        let ends =
            |bar: &Bar| bar.interval.map_or([bar.height; 3], |(low, high)| [low, bar.height, high]);
        let heights = self.bars.iter().flat_map(ends);
        // Room for the number above the highest.
        let mut heights: Vec<f64> = heights.map(|height| 1.06 * height).collect();
        if !heights.iter().any(|height| height.is_finite() && *height != 0.0) {
            // Bars begin at the bottom, also where none has a height.
            heights.push(1.0);
        }
        let axis = Axis::linear("").including(0.0).fit(heights.into_iter(), Ends::Round);
        let mut page = Page::new(&self.title, "", &[], &self.y);
        page.rows(&axis);
        let slot = (RIGHT - LEFT) / self.bars.len().max(1) as f64;
        let zero = page.y(&axis, 0.0).unwrap_or(page.top + HEIGHT);
        let number = |bar: &Bar| short_number(rounded(bar.height, slot));
        // Numbers that would run into each other say nothing; the axis and the pointer still do.
        let numbers_fit = self.bars.iter().all(|bar| width_of(&number(bar)) <= slot);
        for (i, bar) in self.bars.iter().enumerate() {
            let middle = LEFT + slot * (i as f64 + 0.5);
            page.column(middle, &bar.name);
            let Some(y) = page.y(&axis, bar.height) else { continue };
            let width = (0.62 * slot).min(90.0);
            let _ = write!(page.body, "<g><title>{}</title>", super::escape(&bar.about));
            let (corner, size) = ((middle - width / 2.0, y.min(zero)), (width, (zero - y).abs()));
            page.rect(corner, size, &format!(" rx=\"2\" fill=\"{}\"", colour(0)));
            page.body += "</g>";
            let interval =
                bar.interval.and_then(|(low, high)| page.y(&axis, low).zip(page.y(&axis, high)));
            if let Some((low, high)) = interval {
                // Grey, so that it is seen on the bar and on the page.
                let line = format!("M{} {}V{}", px(middle), px(low), px(high));
                page.path(&line, " class=\"lca\" stroke-width=\"2\"");
            }
            let top = interval.map_or(y, |(_, high)| y.min(high)).min(zero);
            if numbers_fit {
                page.text(middle, top - 6.0, " text-anchor=\"middle\"", &number(bar));
            }
        }
        let about: Vec<&str> = self.bars.iter().map(|bar| bar.about.as_str()).collect();
        page.finish(&self.title, &about.join("; "), &self.x)
    }
}

/// Rounded to tenths, small numbers to two digits; large ones to integers where bars are narrow.
fn rounded(number: f64, slot: f64) -> f64 {
    let size = number.abs();
    let unit = match size {
        _ if size >= 10.0 && slot < 50.0 => 1.0,
        _ if size >= 1.0 || size == 0.0 => 0.1,
        _ => 10f64.powf(size.log10().floor() - 1.0),
    };
    // Divided, so that 0.3 stays 0.3.
    let parts = (1.0 / unit).round();
    if parts.is_finite() { (number * parts).round() / parts } else { number }
}

#[cfg(test)]
mod tests {
    use super::super::svg::tests::assert_well_formed;
    use super::*;

    fn bars(heights: &[f64]) -> Bars {
        let bar = |(i, &height): (usize, &f64)| Bar {
            name: format!("<{i}"),
            height,
            interval: None,
            about: format!("group {i} & co"),
        };
        let bars = heights.iter().enumerate().map(bar).collect();
        Bars { title: "BLEU".into(), x: "words".into(), y: "BLEU".into(), bars }
    }

    #[test]
    fn an_axis_without_heights_begins_at_0() {
        for heights in [&[0.0, 0.0][..], &[0.0, f64::NAN], &[]] {
            let svg = bars(heights).svg();
            assert!(!svg.contains(">-") && !svg.contains(">−"), "{svg}");
        }
    }

    #[test]
    fn a_bar_is_as_high_as_its_number_is_part_of_the_axis() {
        let svg = bars(&[30.0, 10.0]).svg();
        assert_well_formed(&svg);
        // The axis goes from 0 to 40, 280 units; two slots of 220 units, bars at most 90 wide.
        let rects: Vec<&str> = svg.split("<rect ").skip(1).collect();
        assert!(
            rects[0].starts_with("x=\"125\"") && rects[0].contains("height=\"210\""),
            "{}",
            rects[0]
        );
        assert!(
            rects[1].starts_with("x=\"345\"") && rects[1].contains("height=\"70\""),
            "{}",
            rects[1]
        );
        assert!(svg.contains("<desc>group 0 &amp; co; group 1 &amp; co</desc>"));
    }

    #[test]
    fn a_small_bar_keeps_its_digits_and_an_interval_is_a_line_on_it() {
        let wide = |number| rounded(number, 100.0);
        assert_eq!([12.34, 0.0, 0.0437, -0.25].map(wide), [12.3, 0.0, 0.044, -0.25]);
        assert_eq!([12.34, 8.25].map(|number| rounded(number, 30.0)), [12.0, 8.3]);
        let mut bars = bars(&[30.0, 10.0]);
        bars.bars[0].interval = Some((20.0, 35.0));
        let svg = bars.svg();
        assert_well_formed(&svg);
        // From 0 to 40 over 280 units: the line is 105 high.
        let line = svg.split("<path d=\"M170 ").find(|path| path.contains('V')).unwrap();
        let line = line.split('"').next().unwrap();
        let (low, high) = line.split_once('V').unwrap();
        assert_eq!(low.parse::<f64>().unwrap() - high.parse::<f64>().unwrap(), 105.0);
    }

    #[test]
    fn no_bars_and_no_numbers_are_no_trouble() {
        assert_well_formed(&bars(&[]).svg());
        let svg = bars(&[f64::NAN, 0.0, -5.0]).svg();
        assert_well_formed(&svg);
        assert_eq!(svg.matches("<rect").count(), 2);
    }
}
