//! Reading what somebody typed, and saying whether it is right.

use super::super::number::{fixed, is_whole};
use serde::{Serialize, Serializer};

/// So far may a number be off that is not whole: two decimals are enough.
const TOLERANCE: f64 = 0.006;
/// A small one (below 0.12) only by so much of itself, or nothing would be as good as it; three decimals are always enough.
const SMALL: f64 = 0.05;
const LEAST: f64 = 0.0006;
/// And so far in proportion, for large ones.
const RELATIVE: f64 = 0.001;

/// A right answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Right {
    /// These numbers, in this order.
    Numbers(#[serde(serialize_with = "with_infinities")] Vec<f64>),
    /// This word.
    Word(String),
}

/// JSON has no number for −∞.
fn with_infinities<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let value = |x: &f64| match x.is_finite() {
        true => serde_json::json!(x),
        false => serde_json::json!("-inf"),
    };
    serializer.collect_seq(numbers.iter().map(value))
}

/// What is to be said of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is right.
    Right,
    /// It is not.
    Wrong,
    /// It cannot be read as an answer; in words, why not and what would do.
    Unreadable(String),
}

impl Right {
    /// The answer as one would type it, with six decimals where they are needed.
    pub fn shown(&self) -> String {
        match self {
            Right::Word(word) => word.clone(),
            Right::Numbers(numbers) => numbers.iter().map(shown).collect::<Vec<_>>().join(" "),
        }
    }

    /// What is expected, in a few words: how many numbers, how exactly.
    pub fn expects(&self) -> String {
        match self {
            Right::Word(_) => "a word".to_owned(),
            Right::Numbers(numbers) => {
                let count = if numbers.len() == 1 {
                    "a number".to_owned()
                } else {
                    format!("{} numbers", numbers.len())
                };
                if are_whole(numbers) {
                    let masked = numbers.iter().any(|x| !x.is_finite());
                    return format!("{count}, exactly{}", if masked { "; -inf for −∞" } else { "" });
                }
                let decimals = match numbers.iter().any(|x| !is_whole(*x) && SMALL * x.abs() < TOLERANCE) {
                    true => "three",
                    false => "two",
                };
                format!("{count}, to {decimals} decimals")
            }
        }
    }

    /// Checks what was typed.
    pub fn check(&self, typed: &str) -> Verdict {
        match self {
            Right::Word(word) => {
                let typed = typed.trim().trim_matches('"');
                match typed.is_empty() {
                    true => Verdict::Unreadable("a word is asked for".to_owned()),
                    false if typed.eq_ignore_ascii_case(word) => Verdict::Right,
                    false => Verdict::Wrong,
                }
            }
            Right::Numbers(right) => match read(typed) {
                Err(reason) => Verdict::Unreadable(format!("{reason}; expected: {}", self.expects())),
                Ok(given) if given.len() != right.len() => Verdict::Unreadable(format!(
                    "{}; expected: {}",
                    if given.len() == 1 {
                        "this is 1 number".to_owned()
                    } else {
                        format!("these are {} numbers", given.len())
                    },
                    self.expects()
                )),
                Ok(given) if near(&given, right) => Verdict::Right,
                Ok(_) => Verdict::Wrong,
            },
        }
    }
}

fn shown(x: &f64) -> String {
    if !x.is_finite() {
        return "-inf".to_owned();
    }
    // A real minus sign is read as well, but cannot be typed.
    let text = fixed(*x, 6).replace('−', "-");
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').to_owned(),
        false => text,
    }
}

/// Whether all numbers are whole (or −∞), and so have to be met exactly.
fn are_whole(numbers: &[f64]) -> bool {
    numbers.iter().all(|x| !x.is_finite() || is_whole(*x))
}

/// Whether each number is as near as it has to be.
fn near(given: &[f64], numbers: &[f64]) -> bool {
    let may_be_off = |right: f64| match are_whole(numbers) {
        // f32 may have computed 1660.0001 where 1660 is meant.
        true => 1e-6_f64.max(1e-6 * right.abs()),
        false => TOLERANCE.min(LEAST.max(SMALL * right.abs())).max(RELATIVE * right.abs()),
    };
    given.iter().zip(numbers).all(|(given, right)| match given.is_finite() && right.is_finite() {
        true => (given - right).abs() <= may_be_off(*right),
        false => given == right,
    })
}

/// Numbers as people write them: with spaces, commas, semicolons or × between them, in brackets, as fractions, −∞ in
/// any spelling.
fn read(typed: &str) -> Result<Vec<f64>, String> {
    let text = typed.replace(['[', ']', '(', ')'], " ").replace('−', "-").replace('∞', "inf");
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | 'x' | '×' | '*'));
    let numbers: Vec<f64> = words.filter(|word| !word.is_empty()).map(number).collect::<Result<_, _>>()?;
    if numbers.is_empty() { Err("there is no number".to_owned()) } else { Ok(numbers) }
}

fn number(word: &str) -> Result<f64, String> {
    let plain = |text: &str| match text.to_ascii_lowercase().as_str() {
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        _ => text.parse::<f64>().ok().filter(|x| x.is_finite()),
    };
    let value = match word.split_once('/') {
        Some((above, below)) => plain(above).zip(plain(below)).map(|(a, b)| a / b).filter(|x| x.is_finite()),
        None => plain(word),
    };
    value.ok_or_else(|| format!("'{word}' is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let third = Right::Numbers(vec![1.0 / 3.0, -2.0, f64::NEG_INFINITY]);
        for typed in ["0.33 -2 -inf", "[1/3, −2, −∞]", "0.333;-2;-∞", " (0.3333) -2.0  -inf "] {
            assert_eq!(third.check(typed), Verdict::Right, "{typed}");
        }
        assert_eq!(Right::Numbers(vec![10.0, 512.0]).check("10×512"), Verdict::Right);
        assert_eq!(Right::Numbers(vec![10.0, 512.0]).check("10 x 512"), Verdict::Right);
        assert_eq!(Right::Word("mat".to_owned()).check(" \"Mat\" "), Verdict::Right);
    }

    #[test]
    fn right_answers_are_shown_as_one_would_type_them() {
        let right = Right::Numbers(vec![1.5, -0.416_147, 2.0, f64::NEG_INFINITY, 0.0]);
        assert_eq!(right.shown(), "1.5 -0.416147 2 -inf 0");
        assert_eq!(right.expects(), "5 numbers, to two decimals");
        assert_eq!(Right::Numbers(vec![1.5, 0.0016]).expects(), "2 numbers, to three decimals");
        assert_eq!(Right::Numbers(vec![0.0, f64::NEG_INFINITY]).expects(), "2 numbers, exactly; -inf for −∞");
    }

    #[test]
    fn near_is_right_and_far_is_wrong() {
        let half = Right::Numbers(vec![0.422_319]);
        for (typed, verdict) in [
            ("0.42", Verdict::Right),
            ("0.4283", Verdict::Right),
            ("0.43", Verdict::Wrong),
            ("0.41", Verdict::Wrong),
        ] {
            assert_eq!(half.check(typed), verdict, "{typed}");
        }
        // A small one is not near to nothing, nor to a few times itself.
        let small = Right::Numbers(vec![0.0016, 2.0736]);
        for (typed, verdict) in [
            ("0.0016 2.07", Verdict::Right),
            ("0.002 2.0736", Verdict::Right),
            ("0 2.0736", Verdict::Wrong),
            ("0.007 2.0736", Verdict::Wrong),
        ] {
            assert_eq!(small.check(typed), verdict, "{typed}");
        }
        // Whole numbers are exact; −∞ is only −∞; large ones may be off in proportion.
        assert_eq!(Right::Numbers(vec![6.0]).check("6.001"), Verdict::Wrong);
        assert_eq!(Right::Numbers(vec![f64::NEG_INFINITY]).check("-1000000"), Verdict::Wrong);
        assert_eq!(Right::Numbers(vec![0.0]).check("-inf"), Verdict::Wrong);
        assert_eq!(Right::Numbers(vec![1234.5]).check("1235"), Verdict::Right);
        assert_eq!(Right::Word("mat".to_owned()).check("rug"), Verdict::Wrong);
    }

    #[test]
    fn nonsense_is_not_wrong_but_unreadable_with_a_reason() {
        let two = Right::Numbers(vec![1.0, 2.0]);
        for (typed, reason) in [
            ("", "no number"),
            ("many", "'many' is not a number"),
            ("1", "this is 1 number; expected: 2 numbers, exactly"),
            ("1 2 3", "these are 3 numbers"),
            ("1/0 2", "'1/0' is not a number"),
            ("1 nan", "'nan' is not a number"),
            ("1 2e999", "is not a number"),
        ] {
            match two.check(typed) {
                Verdict::Unreadable(why) => assert!(why.contains(reason), "{typed}: {why}"),
                other => panic!("{typed}: {other:?}"),
            }
        }
        assert!(matches!(Right::Word("mat".to_owned()).check(" "), Verdict::Unreadable(_)));
    }
}
