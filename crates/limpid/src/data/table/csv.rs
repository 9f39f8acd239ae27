//! CSV as RFC 4180 defines it, row by row: anything else is refused, not guessed.

use super::{Row, Rows, bad_row};
use crate::error::{Error, Result, RowError};
use crate::text::{Lines, TextReader, until_error};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Checked lines as bytes for the `csv` crate: text that is not UTF-8 is refused with its line, and
/// so are quotation marks that RFC 4180 does not define, which the crate would guess.
struct Checked {
    lines: Lines,
    line: Vec<u8>,
    /// Bytes of the line that were read.
    read: usize,
    state: FieldState,
    /// Whether the reader asked for more than there is.
    ended: bool,
    failed: Option<Error>,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.read == self.line.len() {
            match self.lines.next() {
                None => {
                    self.ended = true;
                    return Ok(0);
                }
                Some(line) => match line.and_then(|line| self.state.advance(line, &self.lines)) {
                    Ok(line) => (self.line, self.read) = (line, 0),
                    Err(error) => {
                        self.failed = Some(error);
                        return Err(std::io::Error::other("not CSV"));
                    }
                },
            }
        }
        let n = into.len().min(self.line.len() - self.read);
        into[..n].copy_from_slice(&self.line[self.read..self.read + n]);
        self.read += n;
        Ok(n)
    }
}

/// The position in a field.
#[derive(Clone, Copy)]
enum FieldState {
    /// At its start.
    Start,
    /// After leading spaces.
    Spaces,
    /// In an unquoted field: a quotation mark is a character.
    Bare,
    /// Between quotation marks, opened in this line.
    Quoted(usize),
    /// After a mark that closes the field, unless another mark follows.
    Closed(usize),
}

impl FieldState {
    /// Advances over the next line, which `lines` has just returned, and returns its bytes with a
    /// line end. Fields that are most likely misquoted are errors: text after a closing mark, and
    /// spaces before an opening one.
    fn advance(&mut self, line: String, lines: &Lines) -> Result<Vec<u8>> {
        let number = lines.number();
        let bad = |problem| Err(bad_row(lines.path(), number as u64, problem).into());
        let mut line = line.into_bytes();
        line.push(b'\n');
        for &byte in &line {
            *self = match (*self, byte) {
                (FieldState::Start, b'"') => FieldState::Quoted(number),
                (FieldState::Quoted(from), b'"') => FieldState::Closed(from),
                (FieldState::Quoted(from), _) | (FieldState::Closed(from), b'"') => {
                    FieldState::Quoted(from)
                }
                (_, b',' | b'\r' | b'\n') => FieldState::Start,
                (FieldState::Start | FieldState::Spaces, b' ') => FieldState::Spaces,
                (FieldState::Spaces, b'"') => return bad(RowError::SpaceBeforeQuote),
                (FieldState::Start | FieldState::Spaces | FieldState::Bare, _) => FieldState::Bare,
                (FieldState::Closed(from), _) => {
                    let opened_in = (from != number).then_some(from);
                    return bad(RowError::TextAfterQuote { opened_in });
                }
            };
        }
        Ok(line)
    }
}

/// Rows of a CSV file.
pub(super) struct CsvRows {
    reader: ::csv::Reader<Checked>,
    path: Arc<Path>,
    /// The number of fields of the first row; no other may have more.
    columns: Option<usize>,
}

impl CsvRows {
    pub(super) fn read(text: TextReader, path: Arc<Path>) -> Rows {
        let bytes = Checked {
            lines: text.lines(),
            line: Vec::new(),
            read: 0,
            state: FieldState::Start,
            ended: false,
            failed: None,
        };
        let reader =
            ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let mut rows = Self { reader, path, columns: None };
        Box::new(until_error(move || rows.row()))
    }

    fn row(&mut self) -> Result<Option<Row>> {
        let mut record = ::csv::StringRecord::new();
        let found = self.reader.read_record(&mut record).map_err(|e| {
            let failed = self.reader.get_mut().failed.take();
            failed.unwrap_or_else(|| {
                let line = e.position().map_or(0, ::csv::Position::line);
                bad_row(&self.path, line, RowError::NotCsv(e.to_string())).into()
            })
        })?;
        if !found {
            return Ok(None);
        }
        // A record's position is its first line: empty lines are skipped.
        let line = record.position().map_or(0, ::csv::Position::line);
        // Every line ends with a line end, and so does every record, unless an unclosed quotation
        // mark took the rest of the file for one field.
        if self.reader.get_ref().ended {
            return Err(bad_row(&self.path, line, RowError::UnclosedQuote).into());
        }
        let (found, expected) = (record.len(), *self.columns.get_or_insert(record.len()));
        if found > expected {
            let problem = RowError::TooManyFields { found, expected };
            return Err(bad_row(&self.path, line, problem).into());
        }
        Ok(Some(Row { line, fields: record.iter().map(String::from).collect() }))
    }
}
