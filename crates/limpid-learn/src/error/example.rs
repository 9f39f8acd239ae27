//! Errors of worked examples: unknown names, and inputs that cannot be used.

use std::fmt;

/// Where a number stands in the text of an option, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// In a row of numbers.
    Number(usize),
    /// In a matrix.
    Cell {
        /// The row.
        row: usize,
        /// The number in the row.
        number: usize,
    },
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Number(number) => write!(f, "number {number}"),
            Position::Cell { row, number } => write!(f, "row {row}, number {number}"),
        }
    }
}

/// What a number has to be.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Within bounds, both included.
    Between(String, String),
    /// Not below this.
    AtLeast(String),
    /// A whole number within bounds, both included.
    Integer(usize, usize),
    /// 0 or 1.
    ZeroOrOne,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Between(min, max) => write!(f, "in {min} to {max}"),
            Expected::AtLeast(min) => write!(f, "at least {min}"),
            Expected::Integer(min, max) => write!(f, "a whole number from {min} to {max}"),
            Expected::ZeroOrOne => f.write_str("0 or 1"),
        }
    }
}

fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn any(n: Option<usize>) -> String {
    n.map_or("any".to_owned(), |n| n.to_string())
}

/// Why a worked example cannot be shown.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ExampleError {
    /// No example has this name or number.
    #[error("there is no example '{name}'")]
    Unknown {
        /// The name.
        name: String,
        /// The example with the most similar name, if one is similar.
        nearest: Option<&'static str>,
        /// All examples.
        examples: Vec<&'static str>,
    },
    /// The example does not have this option.
    #[error("example '{example}' has no option {option}")]
    UnknownOption {
        /// The example.
        example: &'static str,
        /// The key.
        option: String,
        /// The option with the most similar key, if one is similar.
        nearest: Option<&'static str>,
        /// All options of the example.
        options: Vec<&'static str>,
    },
    /// An option is set twice, or once by its name and once by an alias.
    #[error("option {option} is set twice")]
    Duplicate {
        /// The key.
        option: &'static str,
    },
    /// Inputs of one example were given to another.
    #[error("these inputs were parsed for the example '{parsed_for}', not for '{example}'")]
    OtherExample {
        /// The example that they were parsed for.
        parsed_for: &'static str,
        /// The example that they were given to.
        example: &'static str,
    },
    /// Nothing but spaces and separators.
    #[error("option {option} is empty")]
    Empty {
        /// The key.
        option: &'static str,
    },
    /// More than fits a screen.
    #[error("option {option} has {found} {items}, the maximum is {max}")]
    TooMany {
        /// The key.
        option: &'static str,
        /// What was counted: "rows", "words", …
        items: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        max: usize,
    },
    /// A word that is no number.
    #[error("option {option}: \"{text}\" ({position}) is not a number")]
    NotANumber {
        /// The key.
        option: &'static str,
        /// The word.
        text: String,
        /// Where it stands.
        position: Position,
    },
    /// Infinity or NaN.
    #[error("option {option}: \"{text}\" ({position}) is not a finite number")]
    NotFinite {
        /// The key.
        option: &'static str,
        /// The word.
        text: String,
        /// Where it stands.
        position: Position,
    },
    /// A number so large that products of it would overflow.
    #[error("option {option}: {text} ({position}) is larger than {max}")]
    TooLarge {
        /// The key.
        option: &'static str,
        /// The word.
        text: String,
        /// Where it stands.
        position: Position,
        /// The largest magnitude.
        max: f32,
    },
    /// A number that this option does not take.
    #[error("option {option}: {text} is not {expected}")]
    OutOfRange {
        /// The key.
        option: &'static str,
        /// What was found; with its position, if there are several numbers.
        text: String,
        /// What it has to be.
        expected: Expected,
    },
    /// Two row separators without numbers between them.
    #[error("option {option}: row {row} is empty")]
    EmptyRow {
        /// The key.
        option: &'static str,
        /// The row, counted from 1.
        row: usize,
    },
    /// Rows of different lengths.
    #[error("option {option}: row {row} has {}, row 1 has {expected}", plural(*found, "number"))]
    RaggedRow {
        /// The key.
        option: &'static str,
        /// The row, counted from 1.
        row: usize,
        /// Its length.
        found: usize,
        /// The length of the first row.
        expected: usize,
    },
    /// Several rows where one is expected.
    #[error("option {option} takes one row of numbers, found several: \"{text}\"")]
    NotOneRow {
        /// The key.
        option: &'static str,
        /// The text.
        text: String,
    },
    /// Several numbers where one is expected.
    #[error("option {option} takes one number, found \"{text}\"")]
    NotOneNumber {
        /// The key.
        option: &'static str,
        /// The text.
        text: String,
    },
    /// Several words where one is expected.
    #[error("option {option} takes one word, found {found}")]
    NotOneWord {
        /// The key.
        option: &'static str,
        /// How many there are.
        found: usize,
        /// The default.
        default: &'static str,
    },
    /// None of the values that the option takes.
    #[error("option {option}: \"{text}\" is not one of {}", choices.join(", "))]
    UnknownChoice {
        /// The key.
        option: &'static str,
        /// The text.
        text: String,
        /// All values.
        choices: &'static [&'static str],
        /// The most similar one, or the first.
        nearest: &'static str,
    },
    /// A character that could change the terminal.
    #[error("option {option} contains the control character U+{:04X}", u32::from(*character))]
    ControlCharacter {
        /// The key.
        option: &'static str,
        /// The character.
        character: char,
    },
    /// A word that is too long for a table.
    #[error("option {option}: the word \"{word}\" has more than {max} characters")]
    LongWord {
        /// The key.
        option: &'static str,
        /// The word.
        word: String,
        /// Characters that a word may have.
        max: usize,
    },
    /// Not one label for each row.
    #[error(
        "option {option} has {} for {}",
        plural(*found, "word"),
        plural(*expected, item)
    )]
    LabelCount {
        /// The key.
        option: &'static str,
        /// How many labels there are.
        found: usize,
        /// How many rows there are.
        expected: usize,
        /// What a row is: "token", "word", …
        item: &'static str,
    },
    /// A matrix of the wrong shape.
    #[error(
        "option {option} is {}×{} (rows×columns), but must be {}×{}: {reason}",
        found.0,
        found.1,
        any(*rows),
        any(*cols)
    )]
    Shape {
        /// The key.
        option: &'static str,
        /// Rows and columns.
        found: (usize, usize),
        /// Rows that are expected, if that is fixed.
        rows: Option<usize>,
        /// Columns that are expected, if that is fixed.
        cols: Option<usize>,
        /// Why.
        reason: &'static str,
    },
    /// A row of the wrong length.
    #[error("option {option} has {}, but needs {expected}: {reason}", plural(*found, "number"))]
    Length {
        /// The key.
        option: &'static str,
        /// How many numbers there are.
        found: usize,
        /// How many there should be.
        expected: usize,
        /// Why.
        reason: &'static str,
    },
    /// A width that the heads do not divide.
    #[error("{heads} heads cannot share a width of {width} equally")]
    Heads {
        /// The width of the tokens.
        width: usize,
        /// The number of heads.
        heads: usize,
        /// Numbers of heads that divide the width.
        divisors: Vec<usize>,
    },
    /// Positions of one width, tokens of another.
    #[error("option width is {width}, but option tokens has {tokens} numbers per row")]
    PositionWidth {
        /// The width of the positions.
        width: usize,
        /// The width of the tokens.
        tokens: usize,
    },
    /// Sinusoidal positions of an odd width.
    #[error("option {option}: an odd width of {width} leaves a sine without its cosine")]
    OddWidth {
        /// The option that sets the width.
        option: &'static str,
        /// The width.
        width: usize,
    },
    /// Fewer positions than tokens.
    #[error("{length} positions are not enough for {tokens} tokens")]
    TooFewPositions {
        /// The number of positions.
        length: usize,
        /// The number of tokens.
        tokens: usize,
    },
    /// A word that is not in the vocabulary.
    #[error("option {option}: {word} is not in the vocabulary")]
    OutOfVocabulary {
        /// The key.
        option: &'static str,
        /// The word.
        word: String,
        /// All words.
        vocabulary: Vec<String>,
    },
    /// A word that a sentence does not contain.
    #[error("option {option}: \"{sentence}\" does not contain the word '{word}'")]
    WordNotInSentence {
        /// The key of the sentence.
        option: &'static str,
        /// The sentence.
        sentence: String,
        /// The word.
        word: String,
    },
    /// Probabilities that do not sum to 1.
    #[error("option {option}: the probabilities sum to {sum}, not to 1")]
    NotADistribution {
        /// The key.
        option: &'static str,
        /// Their sum.
        sum: String,
    },
    /// A row or a column without variance cannot be normalized.
    #[error("option {option}: the numbers of a row or a column are all equal: their variance is 0")]
    NoVariance {
        /// The key.
        option: &'static str,
        /// The default.
        default: &'static str,
    },
}
