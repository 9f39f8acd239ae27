//! Parsing what the user set: matrices, rows, numbers, words.

use super::catalogue::ValueKind;
use super::maths::Matrix;
use crate::error::{ExampleError, Expected, Position, Result};

/// More rows, columns or words would not fit a screen.
const MAX_ITEMS: usize = 64;
/// f32 holds products of two of these, and their sums over a row, without overflow.
const MAX_MAGNITUDE: f32 = 1e6;
/// A label stands beside every row.
const MAX_CHARACTERS: usize = 24;

/// The parsed value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Matrix(Matrix),
    Row(Vec<f32>),
    Number(f32),
    Count(usize),
    Words(Vec<String>),
    Choice(&'static str),
}

/// Parses the text of an option.
pub(super) fn value(option: &'static str, kind: ValueKind, text: &str) -> Result<Value> {
    Ok(match kind {
        ValueKind::Matrix => Value::Matrix(matrix(option, text)?),
        ValueKind::Row { min, max } => Value::Row(row(option, text, min, max)?),
        ValueKind::Number { min, max } => {
            let found = row(option, text, min, max)?;
            match found[..] {
                [x] => Value::Number(x),
                _ => return Err(ExampleError::NotOneNumber { option, text: text.into() }.into()),
            }
        }
        ValueKind::Count { min, max } => Value::Count(count(option, text, min, max)?),
        ValueKind::Words => Value::Words(words(option, text)?),
        ValueKind::Choice(choices) => Value::Choice(choice(option, text, choices)?),
    })
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || c == ','
}

fn number(option: &'static str, word: &str, position: Position) -> Result<f32> {
    // Tables show a real minus sign; what was copied from one is parsed again.
    let text = word.replace('−', "-");
    // Parsed as f64 first: 1e308 is too large, not infinite.
    let Ok(x) = text.parse::<f64>() else {
        return Err(ExampleError::NotANumber { option, text, position }.into());
    };
    if !x.is_finite() {
        return Err(ExampleError::NotFinite { option, text, position }.into());
    }
    if x.abs() > f64::from(MAX_MAGNITUDE) {
        let max = MAX_MAGNITUDE;
        return Err(ExampleError::TooLarge { option, text, position, max }.into());
    }
    Ok(x as f32)
}

fn check_count(option: &'static str, items: &'static str, found: usize) -> Result<()> {
    match found {
        0 => Err(ExampleError::Empty { option }.into()),
        _ if found > MAX_ITEMS => {
            Err(ExampleError::TooMany { option, items, found, max: MAX_ITEMS }.into())
        }
        _ => Ok(()),
    }
}

fn matrix(option: &'static str, text: &str) -> Result<Matrix> {
    let mut lines: Vec<&str> = text.split([';', '\n']).collect();
    // "1 0; 0 1;" ends with a separator, not with a row.
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    check_count(option, "rows", lines.len())?;
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let words = line.split(is_separator).filter(|word| !word.is_empty());
        let row: Vec<f32> = words
            .enumerate()
            .map(|(j, word)| number(option, word, Position::Cell { row: i + 1, number: j + 1 }))
            .collect::<Result<_>>()?;
        if row.is_empty() {
            return Err(ExampleError::EmptyRow { option, row: i + 1 }.into());
        }
        check_count(option, "numbers in a row", row.len())?;
        rows.push(row);
    }
    let expected = rows[0].len();
    if let Some(i) = rows.iter().position(|row| row.len() != expected) {
        let found = rows[i].len();
        return Err(ExampleError::RaggedRow { option, row: i + 1, found, expected }.into());
    }
    Ok(Matrix::new(rows.len(), expected, rows.concat()))
}

fn row(option: &'static str, text: &str, min: f32, max: f32) -> Result<Vec<f32>> {
    if text.contains(';') {
        return Err(ExampleError::NotOneRow { option, text: text.into() }.into());
    }
    let words = text.split(is_separator).filter(|word| !word.is_empty());
    let row: Vec<f32> = words
        .enumerate()
        .map(|(j, word)| {
            let position = Position::Number(j + 1);
            let x = number(option, word, position)?;
            if (min..=max).contains(&x) {
                return Ok(x);
            }
            let [low, high] = [min, max].map(super::number::short);
            let expected = match max >= MAX_MAGNITUDE {
                true => Expected::AtLeast(low),
                false => Expected::Between(low, high),
            };
            let text = format!("{word} ({position})");
            Err(ExampleError::OutOfRange { option, text, expected }.into())
        })
        .collect::<Result<_>>()?;
    check_count(option, "numbers", row.len())?;
    Ok(row)
}

fn count(option: &'static str, text: &str, min: usize, max: usize) -> Result<usize> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ExampleError::Empty { option }.into());
    }
    text.parse::<usize>().ok().filter(|n| (min..=max).contains(n)).ok_or_else(|| {
        let expected = Expected::Integer(min, max);
        ExampleError::OutOfRange { option, text: text.into(), expected }.into()
    })
}

fn words(option: &'static str, text: &str) -> Result<Vec<String>> {
    // Escape sequences in a word could repaint the reader's terminal.
    if let Some(character) = text.chars().find(|c| c.is_control() && !c.is_whitespace()) {
        return Err(ExampleError::ControlCharacter { option, character }.into());
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if let Some(word) = words.iter().find(|word| word.chars().count() > MAX_CHARACTERS) {
        let (word, max) = (word.clone(), MAX_CHARACTERS);
        return Err(ExampleError::LongWord { option, word, max }.into());
    }
    check_count(option, "words", words.len())?;
    Ok(words)
}

fn choice(
    option: &'static str,
    text: &str,
    choices: &'static [&'static str],
) -> Result<&'static str> {
    let text = text.trim();
    choices.iter().find(|choice| **choice == text).copied().ok_or_else(|| {
        let nearest = nearest(text, choices.iter().copied()).unwrap_or(choices[0]);
        ExampleError::UnknownChoice { option, text: text.into(), choices, nearest }.into()
    })
}

/// The candidate that takes the fewest single-letter changes to reach, if half of the letters stay.
pub(super) fn nearest<'a>(
    text: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let near = candidates.min_by_key(|candidate| edits(text, candidate))?;
    let letters = text.chars().count().max(near.chars().count());
    (2 * edits(text, near) <= letters).then_some(near)
}

/// Levenshtein distance: letters to insert, delete or replace.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_parsed_with_spaces_commas_semicolons_and_real_minus_signs() {
        let want = Matrix::new(2, 2, vec![1.0, -0.5, 0.0, 1e-3]);
        for text in ["1 -0.5; 0 1e-3", "1,−0.5;0,1e-3;", " 1, -0.5 \n 0 , .001 "] {
            assert_eq!(matrix("tokens", text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn the_distance_of_words_counts_single_letter_changes() {
        for (a, b, want) in [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("é", "e", 1),
        ] {
            assert_eq!((edits(a, b), edits(b, a)), (want, want), "{a} {b}");
        }
    }
}
