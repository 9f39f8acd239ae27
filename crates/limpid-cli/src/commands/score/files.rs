//! Files of a line for each sentence, read whole and checked against each other.

use crate::error::{Error, Result};
use limpid::eval::is_space;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The lines of a file, and what to call it.
pub struct Lines {
    /// The path as it was typed.
    pub name: String,
    lines: Vec<String>,
}

impl Lines {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Reads a file, or standard input for `-`.
    pub fn read(path: &Path) -> Result<Self> {
        let name = name(path);
        let bytes = if is_standard_input(path) {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map(|_| bytes).map_err(|e| Error::io("read", Path::new(&name), e))?
        } else {
            std::fs::read(path).map_err(|e| unreadable(path, e))?
        };
        Self::parse(name, bytes)
    }

    fn parse(name: String, bytes: Vec<u8>) -> Result<Self> {
        if bytes.is_empty() {
            return Err(Error::data(format!("{name} is empty: there is nothing to score"))
                .hint("give a file with one sentence a line"));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
            let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let byte = at
                - bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
                + 1;
            Error::data(format!("{name}: line {line} is not UTF-8 (byte {byte})"))
                .hint("convert it first, for example with: iconv -f latin1 -t utf-8")
        })?;
        // Only a line feed ends a line, and white space at its end does not count: so it is in
        // sacreBLEU.
        let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
        let lines = lines.map(|line| line.trim_end_matches(is_space).to_string()).collect();
        Ok(Self { name, lines })
    }

    /// Refuses two files that do not have a line for each other.
    pub fn check_pairs_with(&self, other: &Lines) -> Result<()> {
        if self.len() == other.len() {
            return Ok(());
        }
        let lines = |n: usize| if n == 1 { "1 line".to_string() } else { format!("{n} lines") };
        let (a, b) = (lines(self.len()), lines(other.len()));
        Err(Error::data(format!("{} has {a}, {} has {b}", self.name, other.name)).hint(
            "line n of one belongs to line n of the other; an empty translation still needs \
                its line",
        ))
    }
}

/// Refuses to read standard input for two things.
pub fn check_standard_input(paths: &[&PathBuf]) -> Result<()> {
    match paths.iter().filter(|path| is_standard_input(path)).count() {
        0 | 1 => Ok(()),
        n => Err(Error::config(format!(
            "standard input (-) is given {n} times, but can be read once"
        ))
        .hint("put all but one in files")),
    }
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn name(path: &Path) -> String {
    if is_standard_input(path) { "standard input".to_string() } else { path.display().to_string() }
}

fn unreadable(path: &Path, error: std::io::Error) -> Error {
    let problem = Error::io("read", path, error);
    match problem.hint_text() {
        Some(_) => problem,
        None => problem.hint("give a text file with one sentence a line"),
    }
}
