//! Correct answers, and checking what somebody typed against them.

use crate::explain::number::{fixed, is_whole};
use serde::{Serialize, Serializer};
use std::fmt;

/// Absolute tolerance of a number that is not whole: two decimals are enough.
const TOLERANCE: f64 = 0.006;
/// Relative tolerance of a small number (below 0.12), or 0 would be accepted for it; three decimals
/// are always enough.
const SMALL: f64 = 0.05;
const LEAST: f64 = 0.0006;
/// Relative tolerance of a large number.
const RELATIVE: f64 = 0.001;

/// A correct answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
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

/// The result of checking what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The correct answer.
    Correct,
    /// Another answer.
    Incorrect,
    /// Not an answer; the reason, and what is expected.
    Invalid(String),
}

impl fmt::Display for Answer {
    /// The answer as one would type it, with up to six decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Word(word) => f.write_str(word),
            Answer::Numbers(numbers) => {
                let texts: Vec<String> = numbers.iter().map(number_text).collect();
                f.write_str(&texts.join(" "))
            }
        }
    }
}

impl Answer {
    /// What is expected, in a few words: how many numbers, with how many decimals.
    pub fn expects(&self) -> String {
        match self {
            Answer::Word(_) => "a word".to_owned(),
            Answer::Numbers(numbers) => {
                let count = if numbers.len() == 1 {
                    "a number".to_owned()
                } else {
                    format!("{} numbers", numbers.len())
                };
                if are_whole(numbers) {
                    let masked = numbers.iter().any(|x| !x.is_finite());
                    return format!(
                        "{count}, exactly{}",
                        if masked { "; -inf for −∞" } else { "" }
                    );
                }
                let decimals =
                    match numbers.iter().any(|x| !is_whole(*x) && SMALL * x.abs() < TOLERANCE) {
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
            Answer::Word(word) => {
                let typed = typed.trim().trim_matches('"');
                match typed.is_empty() {
                    true => Verdict::Invalid("a word is expected".to_owned()),
                    false if typed.eq_ignore_ascii_case(word) => Verdict::Correct,
                    false => Verdict::Incorrect,
                }
            }
            Answer::Numbers(correct) => match parse(typed) {
                Err(reason) => Verdict::Invalid(format!("{reason}; expected: {}", self.expects())),
                Ok(found) if found.len() != correct.len() => Verdict::Invalid(format!(
                    "{}; expected: {}",
                    if found.len() == 1 {
                        "this is 1 number".to_owned()
                    } else {
                        format!("these are {} numbers", found.len())
                    },
                    self.expects()
                )),
                Ok(found) if is_close(&found, correct) => Verdict::Correct,
                Ok(_) => Verdict::Incorrect,
            },
        }
    }
}

fn number_text(x: &f64) -> String {
    if !x.is_finite() {
        return "-inf".to_owned();
    }
    // A real minus sign is accepted as well, but hard to type.
    let text = fixed(*x, 6).replace('−', "-");
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').to_owned(),
        false => text,
    }
}

/// Whether all numbers are whole (or −∞): these must be matched exactly.
fn are_whole(numbers: &[f64]) -> bool {
    numbers.iter().all(|x| !x.is_finite() || is_whole(*x))
}

/// Whether each number is within its tolerance.
fn is_close(found: &[f64], correct: &[f64]) -> bool {
    let tolerance = |x: f64| match are_whole(correct) {
        // f32 may have computed 1660.0001 where 1660 is meant.
        true => 1e-6_f64.max(1e-6 * x.abs()),
        false => TOLERANCE.min(LEAST.max(SMALL * x.abs())).max(RELATIVE * x.abs()),
    };
    found.iter().zip(correct).all(|(found, x)| match found.is_finite() && x.is_finite() {
        true => (found - x).abs() <= tolerance(*x),
        false => found == x,
    })
}

/// Numbers as people write them: with spaces, commas, semicolons or × between them, in brackets, as
/// fractions, −∞ in any spelling.
fn parse(typed: &str) -> Result<Vec<f64>, String> {
    let text = typed.replace(['[', ']', '(', ')'], " ").replace('−', "-").replace('∞', "inf");
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | 'x' | '×' | '*'));
    let numbers: Vec<f64> =
        words.filter(|word| !word.is_empty()).map(number).collect::<Result<_, _>>()?;
    if numbers.is_empty() { Err("there is no number".to_owned()) } else { Ok(numbers) }
}

fn number(word: &str) -> Result<f64, String> {
    let plain = |text: &str| match text.to_ascii_lowercase().as_str() {
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        _ => text.parse::<f64>().ok().filter(|x| x.is_finite()),
    };
    let value = match word.split_once('/') {
        Some((above, below)) => {
            plain(above).zip(plain(below)).map(|(a, b)| a / b).filter(|x| x.is_finite())
        }
        None => plain(word),
    };
    value.ok_or_else(|| format!("'{word}' is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_as_people_write_them() {
        let third = Answer::Numbers(vec![1.0 / 3.0, -2.0, f64::NEG_INFINITY]);
        for typed in ["0.33 -2 -inf", "[1/3, −2, −∞]", "0.333;-2;-∞", " (0.3333) -2.0  -inf "]
        {
            assert_eq!(third.check(typed), Verdict::Correct, "{typed}");
        }
        assert_eq!(Answer::Numbers(vec![10.0, 512.0]).check("10×512"), Verdict::Correct);
        assert_eq!(Answer::Numbers(vec![10.0, 512.0]).check("10 x 512"), Verdict::Correct);
        assert_eq!(Answer::Word("mat".to_owned()).check(" \"Mat\" "), Verdict::Correct);
    }

    #[test]
    fn answers_are_shown_as_one_would_type_them() {
        let right = Answer::Numbers(vec![1.5, -0.416_147, 2.0, f64::NEG_INFINITY, 0.0]);
        assert_eq!(right.to_string(), "1.5 -0.416147 2 -inf 0");
        assert_eq!(right.expects(), "5 numbers, to two decimals");
        assert_eq!(Answer::Numbers(vec![1.5, 0.0016]).expects(), "2 numbers, to three decimals");
        assert_eq!(
            Answer::Numbers(vec![0.0, f64::NEG_INFINITY]).expects(),
            "2 numbers, exactly; -inf for −∞"
        );
    }

    #[test]
    fn an_answer_within_its_tolerance_is_correct_and_another_is_not() {
        let half = Answer::Numbers(vec![0.422_319]);
        for (typed, verdict) in [
            ("0.42", Verdict::Correct),
            ("0.4283", Verdict::Correct),
            ("0.43", Verdict::Incorrect),
            ("0.41", Verdict::Incorrect),
        ] {
            assert_eq!(half.check(typed), verdict, "{typed}");
        }
        // A small number is not close to 0, nor to a few times itself.
        let small = Answer::Numbers(vec![0.0016, 2.0736]);
        for (typed, verdict) in [
            ("0.0016 2.07", Verdict::Correct),
            ("0.002 2.0736", Verdict::Correct),
            ("0 2.0736", Verdict::Incorrect),
            ("0.007 2.0736", Verdict::Incorrect),
        ] {
            assert_eq!(small.check(typed), verdict, "{typed}");
        }
        // Whole numbers are exact; −∞ is only −∞; large ones have a relative tolerance.
        assert_eq!(Answer::Numbers(vec![6.0]).check("6.001"), Verdict::Incorrect);
        assert_eq!(Answer::Numbers(vec![f64::NEG_INFINITY]).check("-1000000"), Verdict::Incorrect);
        assert_eq!(Answer::Numbers(vec![0.0]).check("-inf"), Verdict::Incorrect);
        assert_eq!(Answer::Numbers(vec![1234.5]).check("1235"), Verdict::Correct);
        assert_eq!(Answer::Word("mat".to_owned()).check("rug"), Verdict::Incorrect);
    }

    #[test]
    fn what_is_no_answer_is_invalid_with_a_reason() {
        let two = Answer::Numbers(vec![1.0, 2.0]);
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
                Verdict::Invalid(why) => assert!(why.contains(reason), "{typed}: {why}"),
                other => panic!("{typed}: {other:?}"),
            }
        }
        assert!(matches!(Answer::Word("mat".to_owned()).check(" "), Verdict::Invalid(_)));
    }
}
