//! Reading what was typed: matrices, rows, numbers, words. Every refusal says what was found, where, and what to do.

use super::catalogue::Takes;
use super::maths::Matrix;
use crate::error::{Error, Result};

/// More would not fit a screen, and nobody types it.
const MOST: usize = 64;
/// f32 holds products of two of these, and their sums over a row, without overflow.
const LARGEST: f32 = 1e6;

/// A value that was typed, read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Matrix(Matrix),
    Row(Vec<f32>),
    Number(f32),
    Count(usize),
    Words(Vec<String>),
    Choice(&'static str),
}

/// Reads the text of an option.
pub(super) fn value(option: &str, takes: Takes, text: &str) -> Result<Value> {
    Ok(match takes {
        Takes::Matrix => Value::Matrix(matrix(option, text)?),
        Takes::Row { min, max } => Value::Row(row(option, text, min, max)?),
        Takes::Number { min, max } => {
            let found = row(option, text, min, max)?;
            match found[..] {
                [x] => Value::Number(x),
                _ => return Err(wants_one(option, "one number", text)),
            }
        }
        Takes::Count { min, max } => Value::Count(count(option, text, min, max)?),
        Takes::Words => Value::Words(words(option, text)?),
        Takes::Choice(choices) => Value::Choice(choice(option, text, choices)?),
    })
}

fn wants_one(option: &str, what: &str, text: &str) -> Error {
    Error::config(format!("--{option} takes {what}, found \"{text}\""))
        .hint(format!("write --{option} and a single number"))
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || c == ','
}

fn number(option: &str, word: &str, place: &str) -> Result<f32> {
    // Tables show a real minus sign; what was copied from one is read again.
    // Read as f64 first: 1e308 is too large, not infinite.
    let word = word.replace('−', "-");
    let x: f64 = word.parse().map_err(|_| {
        Error::config(format!("--{option}: \"{word}\" ({place}) is not a number"))
            .hint("write numbers like 2, -0.5 or 1e-3, with spaces between them and ; between rows")
    })?;
    if !x.is_finite() {
        return Err(Error::config(format!("--{option}: \"{word}\" ({place}) is not a finite number"))
            .hint("a mask is set by its own option, not by writing -inf"));
    }
    if x.abs() > f64::from(LARGEST) {
        return Err(Error::config(format!("--{option}: {word} ({place}) is larger than 1000000"))
            .hint("use smaller numbers: the examples are for reading"));
    }
    Ok(x as f32)
}

fn empty(option: &str) -> Error {
    Error::config(format!("--{option} is empty"))
        .hint(format!("leave --{option} out to use the usual numbers"))
}

fn too_many(option: &str, what: &str, found: usize) -> Error {
    Error::config(format!("--{option} has {found} {what}, the limit is {MOST}"))
        .hint("use a smaller example: it has to fit a screen")
}

fn matrix(option: &str, text: &str) -> Result<Matrix> {
    let mut lines: Vec<&str> = text.split([';', '\n']).collect();
    // "1 0; 0 1;" ends with a separator, not with a row.
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    if lines.is_empty() {
        return Err(empty(option));
    }
    if lines.len() > MOST {
        return Err(too_many(option, "rows", lines.len()));
    }
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let words = line.split(is_separator).filter(|word| !word.is_empty());
        let row: Vec<f32> = words
            .enumerate()
            .map(|(j, word)| number(option, word, &format!("row {}, number {}", i + 1, j + 1)))
            .collect::<Result<_>>()?;
        if row.is_empty() {
            return Err(Error::config(format!("--{option}: row {} is empty", i + 1))
                .hint("write numbers between two semicolons, or take one semicolon away"));
        }
        if row.len() > MOST {
            return Err(too_many(option, "numbers in a row", row.len()));
        }
        rows.push(row);
    }
    let cols = rows[0].len();
    if let Some(i) = rows.iter().position(|row| row.len() != cols) {
        return Err(Error::config(format!(
            "--{option}: row {} has {} numbers, row 1 has {cols}",
            i + 1,
            rows[i].len()
        ))
        .hint("give every row as many numbers; rows are separated by ;"));
    }
    Ok(Matrix::new(rows.len(), cols, rows.concat()))
}

fn row(option: &str, text: &str, min: f32, max: f32) -> Result<Vec<f32>> {
    if text.contains(';') {
        return Err(Error::config(format!("--{option} takes one row of numbers, found several: \"{text}\""))
            .hint("take the semicolons away"));
    }
    let words = text.split(is_separator).filter(|word| !word.is_empty());
    let row: Vec<f32> = words
        .enumerate()
        .map(|(j, word)| {
            let x = number(option, word, &format!("number {}", j + 1))?;
            if x < min || x > max {
                let (low, high) = (super::number::short(min), super::number::short(max));
                let range =
                    if max >= LARGEST { format!("at least {low}") } else { format!("in {low} to {high}") };
                return Err(Error::config(format!("--{option}: {word} (number {}) is not {range}", j + 1))
                    .hint(format!("use a number {range}")));
            }
            Ok(x)
        })
        .collect::<Result<_>>()?;
    match row.len() {
        0 => Err(empty(option)),
        n if n > MOST => Err(too_many(option, "numbers", n)),
        _ => Ok(row),
    }
}

fn count(option: &str, text: &str, min: usize, max: usize) -> Result<usize> {
    let text = text.trim();
    if text.is_empty() {
        return Err(empty(option));
    }
    match text.parse::<usize>() {
        Ok(n) if (min..=max).contains(&n) => Ok(n),
        Ok(n) => Err(Error::config(format!("--{option} {n} is not in {min} to {max}"))
            .hint(format!("use a whole number from {min} to {max}"))),
        Err(_) => Err(Error::config(format!("--{option}: \"{text}\" is not a whole number"))
            .hint(format!("use a whole number from {min} to {max}"))),
    }
}

fn words(option: &str, text: &str) -> Result<Vec<String>> {
    // Escape sequences in a word could repaint the reader's terminal.
    if let Some(c) = text.chars().find(|c| c.is_control() && !c.is_whitespace()) {
        return Err(Error::config(format!(
            "--{option} contains the control character U+{:04X}",
            u32::from(c)
        ))
        .hint("use words that can be printed"));
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    if let Some(long) = words.iter().find(|word| word.chars().count() > 24) {
        return Err(Error::config(format!("--{option}: the word \"{long}\" has more than 24 letters"))
            .hint("use a shorter name: it stands beside every row"));
    }
    match words.len() {
        0 => Err(empty(option)),
        n if n > MOST => Err(too_many(option, "words", n)),
        _ => Ok(words),
    }
}

fn choice(option: &str, text: &str, choices: &'static [&'static str]) -> Result<&'static str> {
    let text = text.trim();
    choices.iter().find(|choice| **choice == text).copied().ok_or_else(|| {
        Error::config(format!("--{option}: \"{text}\" is not one of {}", choices.join(", ")))
            .hint(format!("use --{option} {}", nearest(text, choices.iter().copied()).unwrap_or(choices[0])))
    })
}

/// The candidate that takes the fewest single-letter changes to reach, if half of the letters stay.
pub(super) fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.min_by_key(|candidate| edits(text, candidate))?;
    let letters = text.chars().count().max(near.chars().count());
    (2 * edits(text, near) <= letters).then_some(near)
}

/// Levenshtein's distance: letters to insert, delete or replace.
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
    fn matrices_are_read_with_spaces_commas_semicolons_and_real_minus_signs() {
        let want = Matrix::new(2, 2, vec![1.0, -0.5, 0.0, 1e-3]);
        for text in ["1 -0.5; 0 1e-3", "1,−0.5;0,1e-3;", " 1, -0.5 \n 0 , .001 "] {
            assert_eq!(matrix("tokens", text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn the_distance_of_words_counts_single_letter_changes() {
        for (a, b, want) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("é", "e", 1)]
        {
            assert_eq!((edits(a, b), edits(b, a)), (want, want), "{a} {b}");
        }
    }
}
