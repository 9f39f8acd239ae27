//! What every chart shares: the page, title, legend and grid; numbers and text as SVG.

use super::scale::{Fitted, tick_names};
use std::fmt::Write;

/// Width of the page in units: narrow enough that text is readable on a phone.
pub(super) const WIDTH: f64 = 530.0;
/// Left and right edge of the plot.
pub(super) const LEFT: f64 = 60.0;
pub(super) const RIGHT: f64 = 500.0;
/// Height of the plot.
pub(super) const HEIGHT: f64 = 280.0;

/// Distinguishable with the common kinds of colour blindness, on white and on black.
const COLOURS: [&str; 7] =
    ["#2a86c8", "#dd6f16", "#1a9e77", "#c565a0", "#a8881a", "#7d6fd0", "#808890"];

/// The colour of series `i`.
pub(super) fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

/// How a line is drawn.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub colour: &'static str,
    pub dashes: &'static str,
}

/// Dashes, once the colours repeat, or where a line covers others.
pub(super) fn dashes(i: usize, under: usize) -> &'static str {
    match (i / COLOURS.len(), under) {
        (0, 0) => "",
        (0, 1) => "8 8",
        (0, _) => "3 13",
        (1, _) => "6 3",
        _ => "2 3",
    }
}

// Text is legible on white and on black, for pages whose theme differs from the system's.
const STYLE: &str = "\
<style>.lc{font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;font-size:14px}\
.lc text{fill:#667080}.lc .lct{fill:#56606c;font-size:17px;font-weight:600}\
.lc .lcg{stroke:#8a929c;stroke-opacity:.28}.lc .lca{stroke:#8a929c;stroke-opacity:.9}\
.lch rect{fill:#8a929c;fill-opacity:0}.lch:hover rect{fill-opacity:.14}\
.lch .lcb,.lch text{visibility:hidden}.lch:hover .lcb,.lch:hover text{visibility:visible}\
.lch .lcb,.lch:hover .lcb{fill:#fff;fill-opacity:.93}\
@media (prefers-color-scheme:dark){.lc text{fill:#b4bcc6}.lc .lct{fill:#eceff3}\
.lch .lcb,.lch:hover .lcb{fill:#0c0f13}}</style>";

/// Text in XML: markup escaped, characters that XML forbids left out.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c < ' ' => {}
            c => out.push(c),
        }
    }
    out
}

/// A coordinate, to hundredths.
pub(super) fn px(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

/// The approximate width of text; fonts differ, so it is an upper estimate.
pub(super) fn width_of(text: &str) -> f64 {
    7.4 * text.chars().count() as f64
}

/// Approximate characters per line.
const LETTERS: usize = 68;

/// Text broken into lines: SVG does not wrap.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < LETTERS)
        {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_string()),
        }
    }
    lines
}

/// The x coordinate of a number.
pub(super) fn x_of(axis: &Fitted, number: f64) -> Option<f64> {
    axis.place(number).map(|place| LEFT + place * (RIGHT - LEFT))
}

/// A chart under construction.
pub(super) struct Page {
    /// The elements so far.
    pub body: String,
    /// The top edge of the plot.
    pub top: f64,
    /// Extra height for second label lines below the x axis.
    below: f64,
}

impl Page {
    /// Title, subtitle, legend and the label of the y axis, each on lines of its own.
    pub(super) fn new(
        title: &str,
        subtitle: &str,
        legend: &[(String, Style)],
        y_label: &str,
    ) -> Self {
        let mut page = Self { body: String::new(), top: 8.0, below: 0.0 };
        page.heading(title, " class=\"lct\"", 18.0);
        for line in wrapped(subtitle) {
            page.heading(&line, "", 19.0);
        }
        page.legend(legend);
        page.heading(y_label, " font-size=\"13\"", 20.0);
        page.top += if y_label.is_empty() { 20.0 } else { 14.0 };
        page
    }

    fn heading(&mut self, text: &str, attributes: &str, height: f64) {
        if !text.is_empty() {
            self.top += height;
            self.text(8.0, self.top, attributes, text);
        }
    }

    fn legend(&mut self, legend: &[(String, Style)]) {
        let mut x = RIGHT;
        for (name, style) in legend {
            let shown: String = name.chars().take(LETTERS - 8).collect();
            let width = 30.0 + width_of(&shown) + 16.0;
            if x + width > RIGHT {
                (x, self.top) = (8.0, self.top + 22.0);
            }
            let Style { colour, dashes } = style;
            let attributes =
                format!(" stroke=\"{colour}\" stroke-width=\"3\" stroke-dasharray=\"{dashes}\"");
            self.path(&format!("M{} {}h22", px(x), px(self.top - 4.5)), &attributes);
            self.text(x + 28.0, self.top, "", &shown);
            x += width;
        }
    }

    /// Text anchored at a point.
    pub(super) fn text(&mut self, x: f64, y: f64, attributes: &str, text: &str) {
        let (x, y, text) = (px(x), px(y), escape(text));
        let _ = write!(self.body, "<text x=\"{x}\" y=\"{y}\"{attributes}>{text}</text>");
    }

    /// A path along `d`, SVG's path data.
    pub(super) fn path(&mut self, d: &str, attributes: &str) {
        let _ = write!(self.body, "<path d=\"{d}\"{attributes}/>");
    }

    /// A rectangle from its upper left corner and its size.
    pub(super) fn rect(&mut self, corner: (f64, f64), size: (f64, f64), attributes: &str) {
        let [x, y, width, height] = [corner.0, corner.1, size.0, size.1].map(px);
        let _ = write!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{attributes}/>"
        );
    }

    /// The bottom edge of the plot.
    pub(super) fn bottom(&self) -> f64 {
        self.top + HEIGHT
    }

    /// The y coordinate of a number.
    pub(super) fn y(&self, axis: &Fitted, number: f64) -> Option<f64> {
        axis.place(number).map(|place| self.bottom() - place * HEIGHT)
    }

    /// Grid lines at the ticks of the y axis, with their labels.
    pub(super) fn rows(&mut self, axis: &Fitted) {
        for (&tick, name) in axis.ticks.iter().zip(tick_names(&axis.ticks)) {
            let Some(y) = self.y(axis, tick) else { continue };
            self.path(&format!("M{LEFT} {}H{RIGHT}", px(y)), " class=\"lcg\"");
            self.text(LEFT - 8.0, y + 4.5, " text-anchor=\"end\"", &name);
        }
        self.path(&format!("M{LEFT} {}H{RIGHT}", px(self.bottom())), " class=\"lca\"");
    }

    /// A tick of the x axis with its label, on one line or two.
    pub(super) fn column(&mut self, x: f64, name: &str) {
        self.path(&format!("M{} {}v5", px(x), px(self.bottom())), " class=\"lca\"");
        for (i, line) in name.lines().enumerate() {
            let below = 16.0 * i as f64;
            self.below = self.below.max(below);
            self.text(x, self.bottom() + 20.0 + below, " text-anchor=\"middle\"", line);
        }
    }

    /// The finished SVG; `summary` is its text alternative.
    pub(super) fn finish(mut self, title: &str, summary: &str, x_label: &str) -> String {
        let label_at = self.bottom() + 42.0 + self.below;
        self.text(f64::midpoint(LEFT, RIGHT), label_at, " text-anchor=\"middle\"", x_label);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\" class=\"lc\" \
             role=\"img\" fill=\"none\">\
             <title>{}</title><desc>{}</desc>{STYLE}{}</svg>\n",
            px(label_at + 12.0),
            escape(title),
            escape(summary),
            self.body
        )
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Checks that text is one XML element: tags nest, attributes are quoted, nothing is left
    /// unescaped.
    #[track_caller]
    pub fn assert_well_formed(text: &str) {
        let (mut open, mut rest) = (Vec::new(), text.trim_end());
        while let Some(at) = rest.find('<') {
            assert_text(&rest[..at]);
            let end = rest[at..].find('>').expect("a tag ends") + at;
            let tag = &rest[at + 1..end];
            assert!(!tag.contains('<'), "{tag}");
            if let Some(name) = tag.strip_prefix('/') {
                assert_eq!(open.pop(), Some(name.to_string()), "</{name}> closes what is open");
            } else {
                let (inside, closed) =
                    tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
                let name = inside.split(' ').next().unwrap();
                assert!(name.chars().all(char::is_alphanumeric), "{tag}");
                // Outside quotes only ` name=`; inside them text.
                let parts: Vec<&str> = inside[name.len()..].split('"').collect();
                assert_eq!(parts.len() % 2, 1, "quotes in pairs: {tag}");
                for (i, part) in parts.iter().enumerate() {
                    match i % 2 {
                        0 if i + 1 == parts.len() => assert_eq!(*part, "", "{tag}"),
                        0 => assert!(part.starts_with(' ') && part.ends_with('='), "{tag}"),
                        _ => assert_text(part),
                    }
                }
                assert!(
                    !open.is_empty() || at == 0 && rest.len() == text.trim_end().len(),
                    "one root"
                );
                if !closed {
                    open.push(name.to_string());
                }
            }
            rest = &rest[end + 1..];
        }
        assert_eq!((open.len(), rest), (0, ""), "everything is closed, and nothing follows");
    }

    #[track_caller]
    fn assert_text(text: &str) {
        for part in text.split('&').skip(1) {
            let name = part.split_once(';').expect("an entity ends").0;
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "&{name};");
        }
        assert!(
            !text.contains('>') && !text.contains(|c: char| c < ' ' && !"\t\n\r".contains(c)),
            "{text}"
        );
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(
            escape("a<b & \"c\" 'd'>\u{0}\u{7}é\n"),
            "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;é\n"
        );
    }

    #[test]
    fn a_long_subtitle_is_broken_between_words_and_nothing_is_lost() {
        let text = "eleven letters ".repeat(20);
        let lines = wrapped(&text);
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(lines.join(" "), text.trim_end());
        assert!(lines.iter().all(|line| line.len() <= LETTERS) && wrapped(" ").is_empty());
    }

    #[test]
    fn coordinates_are_short_and_never_minus_zero() {
        assert_eq!([1.0, 0.128, 2.5, -0.001, 1e3].map(px), ["1", "0.13", "2.5", "0", "1000"]);
    }

    #[test]
    #[should_panic(expected = "closes what is open")]
    fn the_checker_of_these_tests_finds_crossed_tags() {
        assert_well_formed("<a><b></a></b>");
    }
}
