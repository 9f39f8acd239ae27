//! Tables: columns of TSV, CSV, JSON Lines and label-first files; errors carry the line number.
//!
//! ```
//! use limpid::data::table::{Column, Header, TableFormat, rows_of};
//! use limpid::text::TextReader;
//!
//! let text = "text,label\n\"Good, very good\",1\n";
//! let reader = TextReader::from_reader("reviews.csv".as_ref(), text.as_bytes());
//! let columns = [Column::parse("label"), Column::parse("text")];
//! let rows = rows_of(reader, "reviews.csv".as_ref(), TableFormat::Csv, Header::First, &columns)?;
//! let rows = rows.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(rows[0].fields, ["1", "Good, very good"]);
//! # Ok::<(), limpid::error::Error>(())
//! ```

mod csv;

use self::csv::CsvRows;
use crate::error::{ColumnError, DataError, Result, RowError};
use crate::text::{TextReader, is_blank};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// The file format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Tab-separated fields, without quotes or escapes.
    Tsv,
    /// Comma-separated fields, in double quotes if they contain commas, quotes or line ends (RFC
    /// 4180).
    Csv,
    /// One JSON object per line.
    JsonLines,
    /// A label, a space, a text: columns `label` and `text`, as SST-2 is often distributed. Never
    /// inferred from a file name.
    LabelFirst,
}

impl TableFormat {
    /// The format with this name: tsv, csv, jsonl or label-first.
    /// # Errors
    /// [`DataError::UnknownFormat`] for any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "tsv" => Ok(Self::Tsv),
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::JsonLines),
            "label-first" => Ok(Self::LabelFirst),
            other => Err(DataError::UnknownFormat { name: other.to_string() }.into()),
        }
    }

    /// The format by the file's extension.
    /// # Errors
    /// [`DataError::AmbiguousFormat`] if the extension is not a known one.
    pub fn from_extension(path: &Path) -> Result<Self> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("tsv" | "txt") => Ok(Self::Tsv),
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            _ => Err(DataError::AmbiguousFormat { path: path.to_path_buf() }.into()),
        }
    }
}

/// Whether the first line names the columns. Never inferred: a wrong guess loses an example or
/// trains on a column name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The first line is a header.
    First,
    /// There is no header: the first line is an example.
    Missing,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the header, or its key in JSON Lines.
    Name(String),
    /// By its number, from 1.
    Number(usize),
    /// As [`Column::Name`]; in JSON Lines its value may be an array, which is read as its JSON.
    List(String),
}

impl Column {
    /// Text that parses as a number is a column number, anything else a name.
    pub fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) => Self::Name(text.to_string()),
        }
    }
}

/// The requested fields of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its (first) line in the file, from 1.
    pub line: u64,
    /// The fields, in the order of the requested columns.
    pub fields: Vec<String>,
}

/// Rows, one at a time, so that a table may be larger than memory.
pub type Rows = Box<dyn Iterator<Item = Result<Row>> + Send>;

/// The requested columns of a file, row by row.
/// # Errors
/// If the file cannot be read or lacks a column.
pub fn read_rows(
    path: &Path,
    format: TableFormat,
    header: Header,
    columns: &[Column],
) -> Result<Rows> {
    rows_of(TextReader::open(path)?, path, format, header, columns)
}

/// The same, from an open text.
/// # Errors
/// If the text cannot be read or lacks a column.
pub fn rows_of(
    text: TextReader,
    path: &Path,
    format: TableFormat,
    header: Header,
    columns: &[Column],
) -> Result<Rows> {
    let file: Arc<Path> = path.into();
    let (mut rows, names): (Rows, _) = match format {
        TableFormat::JsonLines => return Ok(json_lines(text, file, columns.to_vec())),
        TableFormat::LabelFirst => {
            (label_first(text, file.clone()), Some(vec!["label".to_string(), "text".to_string()]))
        }
        TableFormat::Tsv => (tsv(text), None),
        TableFormat::Csv => (CsvRows::read(text, file.clone()), None),
    };
    let names = match header {
        Header::First if names.is_none() => match rows.next().transpose()? {
            Some(row) => Some(row.fields),
            // An empty file has no rows; a missing column would be a misleading error.
            None => return Ok(Box::new(std::iter::empty())),
        },
        _ => names,
    };
    let chosen = columns.iter().map(|column| column_index(path, column, names.as_deref()));
    let chosen = chosen.collect::<Result<Vec<usize>>>()?;
    Ok(Box::new(rows.map(move |row| choose(&file, &row?, &chosen))))
}

fn tsv(text: TextReader) -> Rows {
    let lines = text.lines().enumerate();
    Box::new(lines.map(|(i, line)| {
        let fields = line?.split('\t').map(String::from).collect();
        Ok(Row { line: i as u64 + 1, fields })
    }))
}

fn label_first(text: TextReader, path: Arc<Path>) -> Rows {
    let lines = text.lines().enumerate().filter(|(_, line)| !is_blank(line));
    Box::new(lines.map(move |(i, line)| {
        let line = line?;
        let (label, text) =
            line.split_once(' ').ok_or_else(|| bad_row(&path, i as u64 + 1, RowError::NoSpace))?;
        Ok(Row { line: i as u64 + 1, fields: vec![label.to_string(), text.to_string()] })
    }))
}

fn json_lines(text: TextReader, path: Arc<Path>, columns: Vec<Column>) -> Rows {
    let lines = text.lines().enumerate().filter(|(_, line)| !is_blank(line));
    Box::new(lines.map(move |(i, line)| {
        let (text, line) = (line?, i as u64 + 1);
        let value: Value = serde_json::from_str(&text)
            .map_err(|e| bad_row(&path, line, RowError::NotJson(e.to_string())))?;
        let fields = columns.iter().map(|column| json_field(&value, column));
        let fields = fields.collect::<Result<_, RowError>>();
        Ok(Row { line, fields: fields.map_err(|problem| bad_row(&path, line, problem))? })
    }))
}

fn json_field(value: &Value, column: &Column) -> Result<String, RowError> {
    let key = match column {
        Column::Name(key) | Column::List(key) => key,
        Column::Number(_) => return Err(RowError::NumberedKey),
    };
    let object = value.as_object().ok_or(RowError::NotAnObject)?;
    match object.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        Some(value @ Value::Array(_)) if matches!(column, Column::List(_)) => Ok(value.to_string()),
        Some(_) => Err(RowError::NotText { key: key.clone() }),
        None => {
            let found = object.keys().take(8).cloned().collect();
            Err(RowError::NoKey { key: key.clone(), found })
        }
    }
}

fn bad_row(path: &Path, line: u64, problem: RowError) -> DataError {
    DataError::Row { path: path.to_path_buf(), line, problem }
}

/// The index of a column, from 0.
fn column_index(path: &Path, column: &Column, names: Option<&[String]>) -> Result<usize> {
    let wrong = |problem| Err(DataError::Column { path: path.to_path_buf(), problem }.into());
    match (column, names) {
        (Column::Number(0), _) => wrong(ColumnError::Zero),
        (Column::Number(number), _) => Ok(number - 1),
        (Column::Name(name) | Column::List(name), None) => {
            wrong(ColumnError::NoHeader { name: name.clone() })
        }
        (Column::Name(name) | Column::List(name), Some(header)) => {
            let mut indices =
                header.iter().enumerate().filter(|(_, n)| n.trim() == name).map(|(i, _)| i);
            let name = name.clone();
            match (indices.next(), indices.next()) {
                (Some(index), None) => Ok(index),
                (Some(_), Some(_)) => wrong(ColumnError::Ambiguous { name }),
                (None, _) => wrong(ColumnError::Missing { name, header: header.to_vec() }),
            }
        }
    }
}

fn choose(path: &Path, row: &Row, chosen: &[usize]) -> Result<Row> {
    let field = |column: &usize| {
        row.fields.get(*column).cloned().ok_or_else(|| {
            let problem = RowError::TooFewColumns { found: row.fields.len(), wanted: column + 1 };
            bad_row(path, row.line, problem)
        })
    };
    Ok(Row { line: row.line, fields: chosen.iter().map(field).collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    fn rows(text: &str, format: TableFormat, header: Header, columns: &[&str]) -> Result<Vec<Row>> {
        let path = Path::new("t");
        let columns: Vec<Column> = columns.iter().map(|column| Column::parse(column)).collect();
        let text = TextReader::from_reader(path, std::io::Cursor::new(text.to_string()));
        rows_of(text, path, format, header, &columns)?.collect()
    }

    fn fields(
        text: &str,
        format: TableFormat,
        header: Header,
        columns: &[&str],
    ) -> Vec<Vec<String>> {
        rows(text, format, header, columns).unwrap().into_iter().map(|row| row.fields).collect()
    }

    fn error(text: &str, format: TableFormat, header: Header, columns: &[&str]) -> String {
        rows(text, format, header, columns).unwrap_err().to_string()
    }

    #[test]
    fn columns_are_found_by_name_and_by_number_in_every_format() {
        use TableFormat::{Csv, JsonLines, Tsv};
        let wanted = [["gut, ja", "1"], ["say \"no\"", "0"]];
        let tsv = "label\ttext\n1\tgut, ja\n0\tsay \"no\"\n";
        assert_eq!(fields(tsv, Tsv, Header::First, &["text", "label"]), wanted);
        assert_eq!(fields(&tsv[11..], Tsv, Header::Missing, &["2", "1"]), wanted);
        let csv = "label,text\r\n1,\"gut, ja\"\r\n0,\"say \"\"no\"\"\"\r\n";
        assert_eq!(fields(csv, Csv, Header::First, &["text", "label"]), wanted);
        assert_eq!(fields(csv, Csv, Header::First, &["2", "1"]), wanted);
        let json = "{\"text\": \"gut, ja\", \"label\": 1}\n\n\
                    {\"label\": \"0\", \"text\": \"say \\\"no\\\"\"}";
        assert_eq!(fields(json, JsonLines, Header::Missing, &["text", "label"]), wanted);
        assert_eq!(fields("", Csv, Header::First, &["text"]), Vec::<Vec<String>>::new());
    }

    #[test]
    fn errors_name_the_line_and_the_column() {
        use TableFormat::{Csv, JsonLines, Tsv};
        let (first, none) = (Header::First, Header::Missing);
        for (text, format, header, column, expected) in [
            ("a\tb\nc\n", Tsv, none, "2", "line 2: 1 columns, but column 2 was requested"),
            // A quoted field over two lines does not shift the numbers of those after it.
            (
                "a,b\n\"x\ny\",1\nz\n",
                Csv,
                first,
                "b",
                "line 4: 1 columns, but column 2 was requested",
            ),
            ("a,b\n1,2\n", Csv, first, "c", "no column \"c\""),
            ("a,a\n1,2\n", Csv, first, "a", "several columns are named \"a\""),
            ("{\"a\": 1}\n{\"b\": []}\n", JsonLines, none, "a", "line 2: no key \"a\""),
            (
                "{\"a\": 1}\n{\"a\": [1]}\n",
                JsonLines,
                none,
                "a",
                "line 2: \"a\" is neither a string nor a number",
            ),
            ("[1]\n", JsonLines, none, "a", "line 1: not a JSON object"),
            ("{}\n", JsonLines, none, "1", "line 1: JSON Lines has no numbered columns"),
            ("x\n", Tsv, none, "0", "columns are numbered from 1"),
            (
                "x\n",
                Tsv,
                none,
                "text",
                "column \"text\" was requested by name, but the file has no header",
            ),
        ] {
            assert_eq!(error(text, format, header, &[column]), format!("t: {expected}"), "{text}");
        }
        let text = error("{\"a\"", JsonLines, none, &["a"]);
        assert!(text.starts_with("t: line 1: not JSON"), "{text}");
        assert!(TableFormat::from_extension(Path::new("a.xlsx")).is_err());
        let missing = rows("a,b\n1,2\n", Csv, first, &["c"]).unwrap_err();
        let Error::Data(DataError::Column { problem, .. }) = missing else { panic!("{missing}") };
        let header = ["a", "b"].map(String::from).to_vec();
        assert_eq!(problem, ColumnError::Missing { name: "c".into(), header });
    }

    #[test]
    fn csv_quotes_are_read_as_rfc_4180_says_or_refused() {
        use TableFormat::Csv;
        let first = Header::First;
        // A mark inside a field that is not quoted is a mark.
        assert_eq!(fields("a,b\n5\" nail,0", Csv, first, &["a", "b"]), [["5\" nail", "0"]]);
        assert_eq!(fields("a,b\n\"x\",\"y\"", Csv, first, &["a", "b"]), [["x", "y"]]);
        let twice = "a,b\n\"x \"\"y\"\", z\",\"\"\n\"one\ntwo\",3";
        assert_eq!(fields(twice, Csv, first, &["a", "b"]), [["x \"y\", z", ""], ["one\ntwo", "3"]]);
        for (text, expected) in [
            ("a,b\nc,d\n\"e,f\ng,h\n", "line 3: a quotation mark opens and is never closed"),
            ("a,b\nc,d\n\"e\n", "line 3: a quotation mark opens and is never closed"),
            ("\"a,b\nc,d\n", "line 1: a quotation mark opens and is never closed"),
            // A mark that was not meant to open a field would swallow rows until the next one.
            (
                "a,b\n\"x,0\ny,1\n\"z\",1\n",
                "line 4: text after the quotation mark that closes a field (opened in line 2)",
            ),
            ("a,b\n\"x\"y,0\n", "line 2: text after the quotation mark that closes a field"),
            ("a,b\nx, \"y\"\n", "line 2: a space before the quotation mark that opens a field"),
            ("a,b\nx,y\nx, or y,z\n", "line 3: 3 fields, but the first line has 2"),
        ] {
            assert_eq!(error(text, Csv, first, &["b"]), format!("t: {expected}"), "{text}");
        }
        assert!(
            error("x\n\0", Csv, Header::Missing, &["1"]).contains("line 2 contains a zero byte")
        );
    }

    #[test]
    fn a_label_before_the_text_is_a_format_of_its_own() {
        let text = "1 a fine , long film\n\n0 a bad one\n";
        let wanted = [["a fine , long film", "1"], ["a bad one", "0"]];
        for header in [Header::First, Header::Missing] {
            assert_eq!(fields(text, TableFormat::LabelFirst, header, &["text", "label"]), wanted);
        }
        let text = error("1 a\n0\n", TableFormat::LabelFirst, Header::Missing, &["text"]);
        assert_eq!(text, "t: line 2: no space between a label and a text");
        assert_eq!(TableFormat::from_name("label-first").unwrap(), TableFormat::LabelFirst);
        assert!(TableFormat::from_name("xlsx").is_err());
    }
}
