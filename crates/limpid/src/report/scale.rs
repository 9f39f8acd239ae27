//! Axes: positions of numbers, and the choice of ticks.

use serde::Deserialize;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Linear: equal differences are equally far apart.
    #[default]
    Linear,
    /// Logarithmic: equal ratios are equally far apart; only positive numbers are drawn.
    Log,
}

/// One axis of a chart.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// The scale, linear by default.
    #[serde(default)]
    pub scale: Scale,
    /// A number that the axis includes even without a point: 0, where heights are compared.
    #[serde(default)]
    pub include: Option<f64>,
    /// The ticks; round numbers if empty.
    #[serde(default)]
    pub ticks: Vec<f64>,
}

/// The ends of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At the smallest and the largest number.
    Exact,
    /// At the next tick beyond them.
    Round,
}

/// An axis with its limits.
#[derive(Debug)]
pub(super) struct Fitted {
    scale: Scale,
    low: f64,
    high: f64,
    pub ticks: Vec<f64>,
}

impl Axis {
    /// An axis with a label, linear.
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// An axis with a label, logarithmic.
    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, ..Self::default() }
    }

    /// The same axis, with this number on it.
    pub fn including(mut self, number: f64) -> Self {
        self.include = Some(number);
        self
    }

    /// The limits and ticks for these numbers; numbers that cannot be drawn are ignored.
    pub(super) fn fit(&self, numbers: impl Iterator<Item = f64>, ends: Ends) -> Fitted {
        let all = numbers.chain(self.include).chain(self.ticks.iter().copied());
        let (mut low, mut high) = all
            .filter(|&v| has_place(self.scale, v))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        if low > high {
            (low, high) = if self.scale == Scale::Log { (1.0, 10.0) } else { (0.0, 1.0) };
        }
        // One number, or numbers that f64 hardly tells apart, would give an axis without extent.
        if high - low <= 1e-12 * high.abs().max(low.abs()) {
            (low, high) = match self.scale {
                Scale::Log => (low / 2.0, high * 2.0),
                Scale::Linear if low == 0.0 => (-1.0, 1.0),
                Scale::Linear => (low - 0.1 * low.abs(), high + 0.1 * high.abs()),
            };
        }
        let round = match self.scale {
            Scale::Linear => linear_ticks(low, high, ends),
            Scale::Log => log_ticks(low, high, ends),
        };
        if ends == Ends::Round
            && let [first, .., last] = round[..]
        {
            (low, high) = (low.min(first), high.max(last));
        }
        let given: Vec<f64> =
            self.ticks.iter().copied().filter(|&v| has_place(self.scale, v)).collect();
        Fitted { scale: self.scale, low, high, ticks: if given.is_empty() { round } else { given } }
    }
}

impl Fitted {
    /// The position on the axis, 0 to 1; none for a number that cannot be drawn.
    pub(super) fn place(&self, number: f64) -> Option<f64> {
        let along = |f: fn(f64) -> f64| (f(number) - f(self.low)) / (f(self.high) - f(self.low));
        has_place(self.scale, number).then(|| match self.scale {
            Scale::Linear => along(|v| v),
            Scale::Log => along(f64::log10),
        })
    }
}

fn has_place(scale: Scale, number: f64) -> bool {
    // Beyond 1e300 a difference of two numbers overflows.
    number.abs() <= 1e300 && (scale == Scale::Linear || number >= 1e-300)
}

/// Multiples of 1, 2 or 5 times a power of ten, four to eight of them.
fn linear_ticks(low: f64, high: f64, ends: Ends) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = power * [1.0, 2.0, 5.0].into_iter().find(|m| m * power >= rough).unwrap_or(10.0);
    // A tick at the very end must not be lost to rounding.
    let (first, last) = match ends {
        Ends::Exact => ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor()),
        Ends::Round => ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil()),
    };
    let multiples = (0..20).map(|i| first + f64::from(i)).take_while(|i| *i <= last);
    multiples.map(|i| multiple(i, step)).collect()
}

/// i·step without the rounding of step: 3 · 0.1 is 0.3.
fn multiple(i: f64, step: f64) -> f64 {
    if step < 1.0 { i / (1.0 / step).round() } else { i * step }
}

/// Powers of ten; 2 and 5 times as well, where they are few, and more within a decade; as on a
/// linear axis within a fraction of it.
fn log_ticks(low: f64, high: f64, ends: Ends) -> Vec<f64> {
    let (first, last) = ((low.log10() + 1e-9).floor() as i32, (high.log10() - 1e-9).ceil() as i32);
    let decades = last - first;
    let factors: &[f64] = match decades {
        ..=1 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        2 | 3 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let stride = (decades / 8 + 1) as usize;
    let powers = (first..=last).step_by(stride);
    let all: Vec<f64> =
        powers.flat_map(|power| factors.iter().map(move |f| f * ten_to(power))).collect();
    // On rounded ends the last tick at or below the lowest number, and the first at or above the
    // highest.
    let below = |limit: f64| all.partition_point(|tick| *tick < limit * (1.0 - 1e-9));
    let up_to = |limit: f64| all.partition_point(|tick| *tick <= limit * (1.0 + 1e-9));
    let (begin, end) = match ends {
        Ends::Round => (up_to(low).saturating_sub(1), (below(high) + 1).min(all.len())),
        Ends::Exact => (below(low), up_to(high)),
    };
    if end >= begin + 3 { all[begin..end].to_vec() } else { linear_ticks(low, high, Ends::Exact) }
}

/// 10^n, exact where f64 has it: 0.001, not 0.0010000000000000002.
fn ten_to(power: i32) -> f64 {
    if power < 0 { 1.0 / 10f64.powi(-power) } else { 10f64.powi(power) }
}

/// A number in short form: 0.25, 1,000, 20k, 1.5M, 3e-4.
pub fn short_number(number: f64) -> String {
    let size = number.abs();
    match size {
        _ if !number.is_finite() => "–".to_string(),
        0.0 => "0".to_string(),
        _ if !(1e-3..1e15).contains(&size) => scientific(number),
        _ if size >= 1e9 => format!("{}G", significant(number / 1e9)),
        _ if size >= 1e6 => format!("{}M", significant(number / 1e6)),
        _ if size >= 1e4 => format!("{}k", significant(number / 1e3)),
        _ if size >= 1e3 && number.fract() == 0.0 => {
            let whole = format!("{number:.0}");
            let (thousands, rest) = whole.split_at(whole.len() - 3);
            format!("{thousands},{rest}")
        }
        _ => significant(number),
    }
}

/// Tick labels of one axis in one style: not 0.001 over 8e-4, nor 10k over 5,000.
pub(super) fn tick_names(ticks: &[f64]) -> Vec<String> {
    let sizes = || ticks.iter().map(|tick| tick.abs()).filter(|size| *size > 0.0);
    let (small, large) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    let name = |&tick: &f64| match tick.abs() {
        size if small < 1e-3 && large < 0.1 && size > 0.0 => scientific(tick),
        size if (1e4..1e6).contains(&large) && size >= 1e3 => {
            format!("{}k", significant(tick / 1e3))
        }
        _ => short_number(tick),
    };
    ticks.iter().map(name).collect()
}

fn scientific(number: f64) -> String {
    let text = format!("{number:.3e}");
    let (digits, power) = text.split_once('e').expect("scientific notation has an e");
    format!("{}e{power}", trim_zeros(digits))
}

/// Five significant digits, without trailing zeros.
fn significant(number: f64) -> String {
    let before = number.abs().log10().floor().max(-3.0) as i32 + 1;
    trim_zeros(&format!("{number:.*}", (5 - before).max(0) as usize)).to_string()
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(axis: &Axis, numbers: &[f64], ends: Ends) -> Fitted {
        axis.fit(numbers.iter().copied(), ends)
    }

    #[test]
    fn ticks_of_a_linear_axis_are_round_and_inside_or_around_the_numbers() {
        let axis = Axis::linear("x");
        assert_eq!(fit(&axis, &[0.0, 10.0], Ends::Exact).ticks, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(fit(&axis, &[0.13, 0.47], Ends::Exact).ticks, [0.2, 0.3, 0.4]);
        let round = fit(&axis, &[0.13, 0.47], Ends::Round);
        assert_eq!(round.ticks, [0.1, 0.2, 0.3, 0.4, 0.5]);
        assert_eq!((round.low, round.high), (0.1, 0.5));
        assert_eq!(fit(&axis, &[-7.0, 7.0], Ends::Round).ticks, [-10.0, -5.0, 0.0, 5.0, 10.0]);
    }

    #[test]
    fn ticks_of_a_log_axis_are_powers_of_ten_with_2_and_5_where_there_is_room() {
        let axis = Axis::log("x");
        let ticks = |numbers: &[f64], ends| fit(&axis, numbers, ends).ticks;
        assert_eq!(ticks(&[1.0, 100.0], Ends::Exact), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(&[3.0, 60.0], Ends::Exact), [5.0, 10.0, 20.0, 50.0]);
        assert_eq!(ticks(&[3.0, 60.0], Ends::Round), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(&[210.0, 580.0], Ends::Round), [200.0, 300.0, 400.0, 500.0, 600.0]);
        assert_eq!(ticks(&[1e-4, 1e2], Ends::Exact), [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0]);
        // Within half a decade round numbers in between say more than the only power of ten.
        assert_eq!(ticks(&[2.0, 3.0], Ends::Exact), [2.0, 2.2, 2.4, 2.6, 2.8, 3.0]);
    }

    #[test]
    fn places_are_linear_in_the_number_or_in_its_logarithm() {
        let line = fit(&Axis::linear("x"), &[10.0, 20.0], Ends::Exact);
        assert_eq!(line.place(12.5), Some(0.25));
        let log = fit(&Axis::log("x"), &[1.0, 10_000.0], Ends::Exact);
        assert_eq!(log.place(100.0), Some(0.5));
        assert_eq!((log.place(0.0), log.place(-1.0), line.place(f64::NAN)), (None, None, None));
    }

    #[test]
    fn an_axis_has_extent_whatever_the_numbers() {
        let odd: [&[f64]; 8] = [
            &[],
            &[f64::NAN, f64::INFINITY],
            &[0.0],
            &[5.0, 5.0],
            &[-3.0],
            &[1e15, 1e15 + 0.125],
            &[-1e300, 1e300],
            &[1e-300, 1e300],
        ];
        for numbers in odd {
            for (axis, ends) in [
                (Axis::linear("x"), Ends::Exact),
                (Axis::linear("x"), Ends::Round),
                (Axis::log("x"), Ends::Exact),
                (Axis::log("x"), Ends::Round),
            ] {
                let fitted = fit(&axis, numbers, ends);
                assert!(fitted.low < fitted.high, "{numbers:?}: {fitted:?}");
                assert!((1..=40).contains(&fitted.ticks.len()), "{numbers:?}: {fitted:?}");
                for place in numbers.iter().filter_map(|&v| fitted.place(v)) {
                    assert!((-1e-9..=1.0 + 1e-9).contains(&place), "{numbers:?}: {place}");
                }
            }
        }
    }

    #[test]
    fn ticks_that_were_given_are_taken_and_the_axis_reaches_them() {
        let axis = Axis { ticks: vec![64.0, 128.0, 256.0], ..Axis::log("tokens") };
        let fitted = fit(&axis, &[100.0], Ends::Exact);
        assert_eq!(fitted.ticks, [64.0, 128.0, 256.0]);
        assert_eq!(fitted.place(128.0), Some(0.5));
        assert_eq!(fit(&Axis::linear("ms").including(0.0), &[5.0, 6.0], Ends::Round).low, 0.0);
    }

    #[test]
    fn numbers_are_said_shortly() {
        let said = [0.0, 0.25, 999.5, 1000.0, 20_000.0, 1_500_000.0, 3e9, 3e-4, -12.0, 1e16]
            .map(short_number);
        assert_eq!(
            said,
            ["0", "0.25", "999.5", "1,000", "20k", "1.5M", "3G", "3e-4", "-12", "1e16"]
        );
        assert_eq!(short_number(0.1 + 0.2), "0.3");
        assert_eq!(short_number(f64::NAN), "–");
    }

    #[test]
    fn ticks_of_one_axis_are_written_alike() {
        assert_eq!(tick_names(&[0.0, 8e-4, 1e-3, 1.2e-3]), ["0", "8e-4", "1e-3", "1.2e-3"]);
        assert_eq!(tick_names(&[0.0, 5e3, 1e4, 1.5e4]), ["0", "5k", "10k", "15k"]);
        assert_eq!(tick_names(&[1e-4, 1e-2, 1.0]), ["1e-4", "0.01", "1"]);
        assert_eq!(tick_names(&[1.5, 2.0, 2_000.0]), ["1.5", "2", "2,000"]);
    }
}
