//! Tables: columns of a TSV, CSV or JSON Lines file, with the number of the line in every error.

mod csv;

use self::csv::CsvRows;
use crate::error::{Error, Result};
use crate::text::{Text, is_blank};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Fields between tabs, as they are: no quotes, no escapes.
    Tsv,
    /// Fields between commas, in double quotes where they hold commas, quotes or line ends (RFC 4180).
    Csv,
    /// An object a line.
    JsonLines,
    /// The label, a space, the text: columns `label` and `text`, as SST-2 is often written. Never guessed from a name.
    LabelFirst,
}

impl TableFormat {
    /// By what people call it.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "tsv" => Ok(Self::Tsv),
            "csv" => Ok(Self::Csv),
            "jsonl" => Ok(Self::JsonLines),
            "label-first" => Ok(Self::LabelFirst),
            other => Err(Error::config(format!("'{other}' is not a way to write a table"))
                .hint("known are tsv, csv, jsonl and label-first (a label, a space, the text)")),
        }
    }

    /// By the end of the file's name.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("tsv" | "txt") => Ok(Self::Tsv),
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            _ => Err(Error::config(format!(
                "{}: how it is written cannot be seen from its name",
                path.display()
            ))
            .hint("name it .tsv, .csv or .jsonl, or say it with --format (label-first: a label, a space, the text)")),
        }
    }
}

/// Whether the first line names the columns. Said, not guessed: a guess that is wrong loses an example or learns from a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// It does.
    First,
    /// It is an example as all others.
    Missing,
}

/// Which column is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its name in the first line, or by the key of JSON Lines.
    Name(String),
    /// By its number, from 1.
    Number(usize),
}

impl Column {
    /// A number is a number, anything else is a name.
    pub fn parse(text: &str) -> Self {
        match text.parse() {
            Ok(number) => Self::Number(number),
            Err(_) => Self::Name(text.to_string()),
        }
    }
}

/// A line of a table: the chosen fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its line in the file, from 1 (of a field over several lines, the first).
    pub line: u64,
    /// The chosen fields, in the order in which they were asked for.
    pub fields: Vec<String>,
}

/// Rows, one at a time: a table may be larger than memory.
pub type Rows = Box<dyn Iterator<Item = Result<Row>> + Send>;

/// The chosen columns of a file, row by row.
pub fn read_rows(path: &Path, format: TableFormat, header: Header, columns: &[Column]) -> Result<Rows> {
    rows_of(Text::open(path)?, path, format, header, columns)
}

/// The same, from a text that is open already.
pub fn rows_of(
    text: Text,
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
        TableFormat::Csv => (Box::new(CsvRows::new(text, file.clone())), None),
    };
    let names = match header {
        Header::First if names.is_none() => match rows.next().transpose()? {
            Some(row) => Some(row.fields),
            // An empty file has no rows; that it names no columns is not what is wrong with it.
            None => return Ok(Box::new(std::iter::empty())),
        },
        _ => names,
    };
    let chosen = columns.iter().map(|column| place(path, column, names.as_deref()));
    let chosen = chosen.collect::<Result<Vec<usize>>>()?;
    Ok(Box::new(rows.map(move |row| choose(&file, &row?, &chosen))))
}

fn tsv(text: Text) -> Rows {
    let lines = text.lines().enumerate();
    Box::new(lines.map(|(i, line)| {
        let fields = line?.split('\t').map(String::from).collect();
        Ok(Row { line: i as u64 + 1, fields })
    }))
}

fn label_first(text: Text, path: Arc<Path>) -> Rows {
    let lines = text.lines().enumerate().filter(|(_, line)| !is_blank(line));
    Box::new(lines.map(move |(i, line)| {
        let line = line?;
        let (label, text) = line.split_once(' ').ok_or_else(|| {
            Error::format(&path, format!("line {} has no space between a label and a text", i + 1))
                .hint("each line should be: a label, a space, the text")
        })?;
        Ok(Row { line: i as u64 + 1, fields: vec![label.to_string(), text.to_string()] })
    }))
}

fn json_lines(text: Text, path: Arc<Path>, columns: Vec<Column>) -> Rows {
    let lines = text.lines().enumerate().filter(|(_, line)| !is_blank(line));
    Box::new(lines.map(move |(i, line)| {
        let (line, number) = (line?, i + 1);
        let bad = |what: String| Error::format(&path, format!("line {number}: {what}"));
        let object: Value = serde_json::from_str(&line)
            .map_err(|e| bad(format!("not JSON: {e}")).hint("JSON Lines has one object a line"))?;
        let field =
            |column: &Column| match column {
                Column::Number(_) => Err(bad("JSON Lines has no numbered columns".into())
                    .hint("give the key, such as text or label")),
                Column::Name(name) => match object.get(name) {
                    Some(Value::String(text)) => Ok(text.clone()),
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
                    Some(_) => Err(bad(format!("\"{name}\" is neither a text nor a number"))
                        .hint("write it between quotation marks, or leave the line out")),
                    None => Err(bad(format!("there is no \"{name}\"")).hint(keys(&object))),
                },
            };
        Ok(Row { line: number as u64, fields: columns.iter().map(field).collect::<Result<_>>()? })
    }))
}

fn keys(object: &Value) -> String {
    match object.as_object() {
        Some(object) => {
            let keys: Vec<&str> = object.keys().take(8).map(String::as_str).collect();
            format!("the line has: {}", keys.join(", "))
        }
        None => "each line should be an object: {\"text\": …}".into(),
    }
}

/// The number of a column, from 0.
fn place(path: &Path, column: &Column, names: Option<&[String]>) -> Result<usize> {
    match (column, names) {
        (Column::Number(0), _) => {
            Err(Error::config("columns are numbered from 1").hint("use 1 for the first"))
        }
        (Column::Number(number), _) => Ok(number - 1),
        (Column::Name(name), Some(names)) => {
            let mut places = names.iter().enumerate().filter(|(_, n)| n.trim() == name).map(|(i, _)| i);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (Some(_), Some(_)) => {
                    Err(Error::format(path, format!("two columns have the name \"{name}\""))
                        .hint("give the number of the one that is meant, from 1"))
                }
                (None, _) => {
                    Err(Error::format(path, format!("there is no column \"{name}\"")).hint(format!(
                        "its first line names: {}; a column can also be given by its number, from 1",
                        names.join(", ")
                    )))
                }
            }
        }
        (Column::Name(name), None) => {
            Err(Error::config(format!("column \"{name}\" is meant by name, but no line names the columns"))
                .hint("give its number, from 1, or say that the first line is a header"))
        }
    }
}

fn choose(path: &Path, row: &Row, chosen: &[usize]) -> Result<Row> {
    let field = |column: &usize| {
        row.fields.get(*column).cloned().ok_or_else(|| {
            let (line, wanted, there) = (row.line, column + 1, row.fields.len());
            Error::format(path, format!("line {line} has {there} columns, column {wanted} was asked for"))
                .hint("is it the right file, and the right kind (.tsv, .csv)?")
        })
    };
    Ok(Row { line: row.line, fields: chosen.iter().map(field).collect::<Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, format: TableFormat, header: Header, columns: &[&str]) -> Result<Vec<Row>> {
        let path = Path::new("t");
        let columns: Vec<Column> = columns.iter().map(|column| Column::parse(column)).collect();
        let text = Text::from_reader(path, std::io::Cursor::new(text.to_string()));
        rows_of(text, path, format, header, &columns)?.collect()
    }

    fn fields(text: &str, format: TableFormat, header: Header, columns: &[&str]) -> Vec<Vec<String>> {
        rows(text, format, header, columns).unwrap().into_iter().map(|row| row.fields).collect()
    }

    fn error(text: &str, format: TableFormat, header: Header, columns: &[&str]) -> (String, String) {
        let error = rows(text, format, header, columns).unwrap_err();
        (error.to_string(), error.hint_text().unwrap_or_default().to_string())
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
        let json =
            "{\"text\": \"gut, ja\", \"label\": 1}\n\n{\"label\": \"0\", \"text\": \"say \\\"no\\\"\"}";
        assert_eq!(fields(json, JsonLines, Header::Missing, &["text", "label"]), wanted);
        assert_eq!(fields("", Csv, Header::First, &["text"]), Vec::<Vec<String>>::new());
    }

    #[test]
    fn errors_name_the_line_and_what_is_there_instead() {
        use TableFormat::{Csv, JsonLines, Tsv};
        let (text, hint) = error("a\tb\nc\n", Tsv, Header::Missing, &["2"]);
        assert_eq!(text, "t: line 2 has 1 columns, column 2 was asked for");
        assert!(hint.contains("right file"));
        // A quoted field over two lines does not shift the numbers of those after it.
        let (text, _) = error("a,b\n\"x\ny\",1\nz\n", Csv, Header::First, &["b"]);
        assert_eq!(text, "t: line 4 has 1 columns, column 2 was asked for");
        let (text, hint) = error("a,b\n1,2\n", Csv, Header::First, &["c"]);
        assert_eq!(
            (text.as_str(), hint.as_str()),
            (
                "t: there is no column \"c\"",
                "its first line names: a, b; a column can also be given by its number, from 1"
            )
        );
        assert!(error("a,a\n1,2\n", Csv, Header::First, &["a"]).0.contains("two columns have the name"));
        let (text, hint) = error("{\"a\": 1}\n{\"b\": []}\n", JsonLines, Header::Missing, &["a"]);
        assert_eq!((text.as_str(), hint.as_str()), ("t: line 2: there is no \"a\"", "the line has: b"));
        assert!(
            error("{\"a\": 1}\n{\"a\": [1]}\n", JsonLines, Header::Missing, &["a"])
                .0
                .contains("line 2: \"a\" is neither")
        );
        assert!(error("{\"a\"", JsonLines, Header::Missing, &["a"]).0.starts_with("t: line 1: not JSON"));
        assert!(error("x\n", Tsv, Header::Missing, &["0"]).0.contains("from 1"));
        assert!(error("x\n", Tsv, Header::Missing, &["text"]).1.contains("number"));
        for unclosed in ["a,b\nc,d\n\"e,f\ng,h\n", "a,b\nc,d\n\"e\n"] {
            let (text, hint) = error(unclosed, Csv, Header::First, &["b"]);
            assert_eq!(text, "t: line 3: a quotation mark opens and is never closed");
            assert!(hint.contains("twice"));
        }
        assert!(error("\"a,b\nc,d\n", Csv, Header::First, &["b"]).0.contains("never closed"));
        // A mark inside a field that is not quoted is a mark.
        assert_eq!(fields("a,b\n5\" nail,0", Csv, Header::First, &["a", "b"]), [["5\" nail", "0"]]);
        assert_eq!(fields("a,b\n\"x\",\"y\"", Csv, Header::First, &["a", "b"]), [["x", "y"]]);
        let twice = "a,b\n\"x \"\"y\"\", z\",\"\"\n\"one\ntwo\",3";
        assert_eq!(fields(twice, Csv, Header::First, &["a", "b"]), [["x \"y\", z", ""], ["one\ntwo", "3"]]);
        // A mark that was not meant to open a field would swallow rows until the next one.
        let (text, hint) = error("a,b\n\"x,0\ny,1\n\"z\",1\n", Csv, Header::First, &["b"]);
        assert_eq!(
            text,
            "t: line 4: text behind the quotation mark that closes a field (it opens in line 2)"
        );
        assert!(hint.contains("twice"));
        assert!(error("a,b\nx, \"y\"\n", Csv, Header::First, &["b"]).0.contains("line 2: a space before"));
        let (text, hint) = error("a,b\nx,y\nx, or y,z\n", Csv, Header::First, &["a"]);
        assert_eq!(text, "t: line 3 has 3 fields, the first line has 2");
        assert!(hint.contains("quotation marks"));
        let (text, _) = error("a,b\n\"x\"y,0\n", Csv, Header::First, &["b"]);
        assert_eq!(text, "t: line 2: text behind the quotation mark that closes a field");
        assert!(error("x\n\0", Csv, Header::Missing, &["1"]).0.contains("line 2 holds a zero byte"));
        assert!(TableFormat::of(Path::new("a.xlsx")).is_err());
    }

    #[test]
    fn a_label_before_the_text_is_a_format_of_its_own() {
        let text = "1 a fine , long film\n\n0 a bad one\n";
        let wanted = [["a fine , long film", "1"], ["a bad one", "0"]];
        for header in [Header::First, Header::Missing] {
            assert_eq!(fields(text, TableFormat::LabelFirst, header, &["text", "label"]), wanted);
        }
        let (text, hint) = error("1 a\n0\n", TableFormat::LabelFirst, Header::Missing, &["text"]);
        assert_eq!(text, "t: line 2 has no space between a label and a text");
        assert!(hint.contains("a label, a space"));
        assert_eq!(TableFormat::from_name("label-first").unwrap(), TableFormat::LabelFirst);
        assert!(TableFormat::from_name("xlsx").unwrap_err().hint_text().unwrap().contains("label-first"));
    }
}
