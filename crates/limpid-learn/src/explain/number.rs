//! Numbers as text: whole ones whole, others with as many decimals as they need.

/// Up to which number of decimals a number is written out if that is exact.
const EXACT: usize = 3;
/// f32 has seven digits, and a few operations have used up one.
const ROUNDING: f64 = 1e-6;
/// So many digits of a result can be relied on.
const SIGNIFICANT: usize = 6;

/// How many decimals say all that there is to say, if at most three do.
fn exact_decimals(x: f64) -> Option<usize> {
    (0..=EXACT).find(|decimals| {
        let power = 10_f64.powi(*decimals as i32);
        (x * power - (x * power).round()).abs() <= ROUNDING * (x * power).abs()
    })
}

/// Whether a number lies halfway between two numbers of four decimals.
fn is_tie(x: f64) -> bool {
    ((x.abs() * 1e4).fract() - 0.5).abs() < 0.01
}

/// Whether a number is whole, as far as f32 can tell.
pub(crate) fn is_whole(x: f64) -> bool {
    exact_decimals(x) == Some(0)
}

/// How many decimals the numbers of one table get: as many as are exact, or 4; 6 where 4 would show
/// a small number as 0 or one close to 1 as 1; 5 where 4 would have to toss a coin (1.79995).
pub(crate) fn decimals(numbers: &[f64]) -> usize {
    let needs = |x: &f64| match exact_decimals(*x) {
        Some(decimals) => decimals,
        None if x.abs() < 0.01 || (x.abs() - 1.0).abs() < 0.001 => 6,
        None if is_tie(*x) => 5,
        None => 4,
    };
    numbers.iter().map(needs).max().unwrap_or(0)
}

/// How many of so many decimals an f32 can be trusted with: 1.1¹² is 3.138428, but f32 says
/// 3.138429.
fn reliable(x: f64, decimals: usize) -> usize {
    let before_point = if x.abs() < 1.0 { 0 } else { x.abs().log10() as usize + 1 };
    let digits = SIGNIFICANT + usize::from(is_tie(x));
    decimals.min(digits.saturating_sub(before_point))
}

/// A number with so many decimals, or fewer if f32 does not carry them; a whole one has none, and a
/// tiny one that would read as 0 is written with its power of ten. The minus sign is a real one.
pub(crate) fn fixed(x: f64, decimals: usize) -> String {
    let text = if is_whole(x) {
        format!("{:.0}", x + 0.0)
    } else {
        let text = match exact_decimals(x) {
            // 19.120001 is 19.12 and noise; zeros keep the columns even.
            Some(exact) if exact <= decimals => {
                let power = 10_f64.powi(exact as i32);
                format!("{:.*}", reliable(x, decimals).max(exact), (x * power).round() / power)
            }
            _ => format!("{x:.*}", reliable(x, decimals)),
        };
        let is_nothing = text.trim_start_matches('-').chars().all(|c| matches!(c, '0' | '.'));
        if is_nothing { format!("{x:.1e}") } else { text }
    };
    // Rounding may leave "-0".
    if text == "-0" { "0".to_owned() } else { text.replace('-', "−") }
}

/// A number in a sentence, where zeros at the end align with nothing.
pub(crate) fn short(x: f32) -> String {
    let x = f64_of(x);
    let text = fixed(x, decimals(&[x]));
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').to_owned(),
        false => text,
    }
}

/// Through its shortest decimal form: 0.1_f32 is meant as 0.1, not as 0.10000000149.
pub(crate) fn f64_of(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

/// "[0.8446 0.5777 …]" in a sentence.
pub(crate) fn list(row: &[f32]) -> String {
    let words: Vec<String> = row.iter().map(|x| short(*x)).collect();
    format!("[{}]", words.join(" "))
}

/// 116,534,784.
pub(crate) fn grouped(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_a_person_would() {
        for (x, want) in [
            (0.0, "0"),
            (-0.0, "0"),
            (2.0, "2"),
            (-3.0, "−3"),
            (1.2e6, "1200000"),
            (0.1, "0.1"),
            (1.100_000_1, "1.1"),
            (1.74, "1.74"),
            (0.422_319, "0.4223"),
            (-1.341_639, "−1.3416"),
            (0.000_123, "0.000123"),
            (0.999_877, "0.999877"),
            (3.1e-9, "3.1e−9"),
            (16_534_784.0, "16534784"),
            (1e-5, "0.00001"),
            (0.606_04, "0.606"),
            (1.799_95, "1.79995"),
            (3.138_429, "3.1384"),
            (19.123_451, "19.12345"),
            (628.318_54, "628.319"),
        ] {
            assert_eq!(short(x), want);
        }
        assert_eq!(list(&[0.844_638, 1.0, 0.0]), "[0.8446 1 0]");
        // In a table that has six decimals for the sake of another number.
        for (x, want) in [
            (3.138_429, "3.13843"),
            (1.771_561, "1.77156"),
            (1.210_000_1, "1.21000"),
            (1e-6, "0.000001"),
        ] {
            assert_eq!(fixed(x, 6), want);
        }
        assert_eq!(fixed(628.318_530_7, 4), "628.319");
        assert_eq!(grouped(116_534_784), "116,534,784");
        assert_eq!(grouped(12), "12");
    }
}
