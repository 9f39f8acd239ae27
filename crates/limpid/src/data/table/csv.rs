//! CSV by RFC 4180, row by row: what the format has no meaning for is refused, not guessed.

use super::Row;
use crate::error::{Error, Result};
use crate::text::{Lines, Text};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Lines as bytes again, for a reader that takes bytes: what is not text is refused with its line, as everywhere else, and so are quotation marks
/// that RFC 4180 has no meaning for, which that reader would guess.
struct Checked {
    lines: Lines,
    line: Vec<u8>,
    /// What of the line has been read.
    read: usize,
    place: Place,
    /// Whether somebody has asked for more than there is.
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
                Some(line) => match line.and_then(|line| self.place.follow(line, &self.lines)) {
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

/// Where in a field a CSV file is.
#[derive(Clone, Copy)]
enum Place {
    /// At its beginning.
    Begin,
    /// Behind spaces at its beginning.
    Spaces,
    /// In one without quotation marks around it: a mark is a mark.
    Bare,
    /// Between its marks, of which the first stands in this line.
    Quoted(usize),
    /// Behind a mark that closes it, unless another one follows.
    Closed(usize),
}

impl Place {
    /// Goes through the next line, which `lines` has just given, and gives its bytes with a line end. A field that would be read otherwise than it is
    /// meant is an error: text behind a closing mark, and spaces before an opening one.
    fn follow(&mut self, line: String, lines: &Lines) -> Result<Vec<u8>> {
        let number = lines.number();
        let bad = |what: String, hint: &str| {
            Err(Error::format(lines.path(), format!("line {number}: {what}")).hint(hint))
        };
        let mut line = line.into_bytes();
        line.push(b'\n');
        for &byte in &line {
            *self = match (*self, byte) {
                (Place::Begin, b'"') => Place::Quoted(number),
                (Place::Begin | Place::Spaces | Place::Bare | Place::Closed(_), b',' | b'\r' | b'\n') => {
                    Place::Begin
                }
                (Place::Begin | Place::Spaces, b' ') => Place::Spaces,
                (Place::Spaces, b'"') => {
                    let what = "a space before the quotation mark that opens a field";
                    return bad(what.into(), "leave it out: fields are separated by commas alone");
                }
                (Place::Begin | Place::Spaces | Place::Bare, _) => Place::Bare,
                (Place::Quoted(from), b'"') => Place::Closed(from),
                (Place::Quoted(from), _) | (Place::Closed(from), b'"') => Place::Quoted(from),
                (Place::Closed(from), _) => {
                    let opens =
                        if from == number { String::new() } else { format!(" (it opens in line {from})") };
                    return bad(
                        format!("text behind the quotation mark that closes a field{opens}"),
                        "a mark inside a quoted field is written twice; one that opens a field must be meant",
                    );
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
    ended: bool,
    /// Fields of the first row: no other may have more.
    columns: Option<usize>,
}

impl CsvRows {
    pub(super) fn new(text: Text, path: Arc<Path>) -> Self {
        let bytes = Checked {
            lines: text.lines(),
            line: Vec::new(),
            read: 0,
            place: Place::Begin,
            ended: false,
            failed: None,
        };
        let reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        Self { reader, path, ended: false, columns: None }
    }

    fn row(&mut self) -> Result<Option<Row>> {
        let mut record = ::csv::StringRecord::new();
        let there = self.reader.read_record(&mut record).map_err(|e| {
            let failed = self.reader.get_mut().failed.take();
            failed.unwrap_or_else(|| Error::format(&self.path, format!("not CSV: {e}")))
        })?;
        if !there {
            return Ok(None);
        }
        // A record knows where it begins, counted from the line after the one before it: empty lines are passed over.
        let line = record.position().map_or(0, ::csv::Position::line);
        // Every line ends with a line end, and so does every record, unless a quotation mark has taken the rest of the file for one field.
        if self.reader.get_ref().ended {
            return Err(Error::format(
                &self.path,
                format!("line {line}: a quotation mark opens and is never closed"),
            )
            .hint("close it; a mark inside a field is written twice"));
        }
        let (there, first) = (record.len(), *self.columns.get_or_insert(record.len()));
        if there > first {
            return Err(Error::format(
                &self.path,
                format!("line {line} has {there} fields, the first line has {first}"),
            )
            .hint("a field with a comma in it stands between quotation marks"));
        }
        Ok(Some(Row { line, fields: record.iter().map(String::from).collect() }))
    }
}

impl Iterator for CsvRows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        if self.ended {
            return None;
        }
        let row = self.row().transpose();
        self.ended = !matches!(row, Some(Ok(_)));
        row
    }
}
