//! Tables: columns of a TSV, CSV or JSON Lines file, with the number of the line in every error.

use super::clean::{Cleaning, Duplicates, clean};
use crate::error::{Error, Result};
use crate::text::Text;
use serde_json::Value;
use std::collections::BTreeSet;
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

/// The chosen columns of all rows of a file.
pub fn read_columns(
    path: &Path,
    format: TableFormat,
    header: Header,
    columns: &[Column],
) -> Result<Vec<Row>> {
    columns_of(Text::open(path)?, path, format, header, columns)
}

/// The same, from a text that is open already.
pub fn columns_of(
    text: Text,
    path: &Path,
    format: TableFormat,
    header: Header,
    columns: &[Column],
) -> Result<Vec<Row>> {
    match format {
        TableFormat::JsonLines => json_lines(text, path, columns),
        TableFormat::LabelFirst => {
            let names = ["label".to_string(), "text".to_string()];
            let chosen = columns.iter().map(|column| place(path, column, Some(&names)));
            let chosen = chosen.collect::<Result<Vec<usize>>>()?;
            label_first(text, path)?.iter().map(|row| choose(path, row, &chosen)).collect()
        }
        TableFormat::Tsv | TableFormat::Csv => {
            let mut rows = match format {
                TableFormat::Tsv => tsv(text)?,
                _ => csv_rows(text, path)?,
            };
            let names = match header {
                Header::First if !rows.is_empty() => Some(rows.remove(0).fields),
                _ => None,
            };
            let chosen = columns
                .iter()
                .map(|column| place(path, column, names.as_deref()))
                .collect::<Result<Vec<usize>>>()?;
            rows.iter().map(|row| choose(path, row, &chosen)).collect()
        }
    }
}

fn tsv(text: Text) -> Result<Vec<Row>> {
    let lines = text.lines().enumerate();
    let rows = lines.map(|(i, line)| {
        let fields = line?.split('\t').map(String::from).collect();
        Ok(Row { line: i as u64 + 1, fields })
    });
    rows.collect()
}

fn label_first(text: Text, path: &Path) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (label, text) = line.split_once(' ').ok_or_else(|| {
            Error::format(path, format!("line {} has no space between a label and a text", i + 1))
                .hint("each line should be: a label, a space, the text")
        })?;
        rows.push(Row { line: i as u64 + 1, fields: vec![label.to_string(), text.to_string()] });
    }
    Ok(rows)
}

fn csv_rows(text: Text, path: &Path) -> Result<Vec<Row>> {
    // Lines are checked first, so that bad bytes are reported as everywhere else; rows are kept in memory anyway.
    let mut whole = String::new();
    for line in text.lines() {
        whole.push_str(&line?);
        whole.push('\n');
    }
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(whole.as_bytes());
    // The reader takes the rest of the file for one field.
    let unclosed = whole.matches('"').count() % 2 == 1;
    let rows = reader.records().map(|record| {
        let record = record.map_err(|e| Error::format(path, format!("not CSV: {e}")))?;
        // A record knows where it begins, counted from the line after the one before it: empty lines are passed over.
        let line = record.position().map_or(0, csv::Position::line);
        Ok(Row { line, fields: record.iter().map(String::from).collect() })
    });
    let rows = rows.collect::<Result<Vec<Row>>>()?;
    match rows.last() {
        Some(last) if unclosed => Err(Error::format(
            path,
            format!("line {}: a quotation mark opens and is never closed", last.line),
        )
        .hint("close it; a mark inside a field is written twice")),
        _ => Ok(rows),
    }
}

fn json_lines(text: Text, path: &Path, columns: &[Column]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let (line, number) = (line?, i + 1);
        if line.trim().is_empty() {
            continue;
        }
        let bad = |what: String| Error::format(path, format!("line {number}: {what}"));
        let object: Value = serde_json::from_str(&line)
            .map_err(|e| bad(format!("not JSON: {e}")).hint("JSON Lines has one object a line"))?;
        let field =
            |column: &Column| match column {
                Column::Number(_) => Err(bad("JSON Lines has no numbered columns".into())
                    .hint("give the key, such as text or label")),
                Column::Name(name) => match object.get(name) {
                    Some(Value::String(text)) => Ok(text.clone()),
                    Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
                    Some(_) => Err(bad(format!("\"{name}\" is neither a text nor a number"))),
                    None => Err(bad(format!("there is no \"{name}\"")).hint(keys(&object))),
                },
            };
        rows.push(Row { line: number as u64, fields: columns.iter().map(field).collect::<Result<_>>()? });
    }
    Ok(rows)
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
        (Column::Name(name), Some(names)) => names.iter().position(|n| n.trim() == name).ok_or_else(|| {
            Error::format(path, format!("there is no column \"{name}\""))
                .hint(format!("its first line names: {}", names.join(", ")))
        }),
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

/// A text, or two, and what they are to be classified as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// One text, or two to be compared.
    pub texts: Vec<String>,
    /// The label as the file writes it.
    pub label: String,
    /// Where it stands.
    pub place: Place,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1 on.
    pub line: u64,
}

/// A labelled set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The examples, in the order of the file.
    pub examples: Vec<Example>,
    /// The distinct labels, sorted: as numbers if all are numbers, else as text.
    pub labels: Vec<String>,
    /// What was left out.
    pub cleaning: Cleaning,
}

/// How a labelled set is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// Without it, by the end of the file's name.
    pub format: Option<TableFormat>,
    /// Whether the first line names the columns.
    pub header: Header,
    /// The columns of the text or texts.
    pub texts: Vec<Column>,
    /// The column of the label.
    pub label: Column,
}

impl TableSpec {
    /// Reads one or several files as one labelled set.
    pub fn read(&self, paths: &[std::path::PathBuf], duplicates: Duplicates) -> Result<Labelled> {
        let columns: Vec<Column> = self.texts.iter().chain([&self.label]).cloned().collect();
        let mut rows = Vec::new();
        for path in paths {
            let format = self.format.map_or_else(|| TableFormat::of(path), Ok)?;
            let file: Arc<Path> = Arc::from(path.as_path());
            rows.extend(
                read_columns(path, format, self.header, &columns)?.into_iter().map(|row| (file.clone(), row)),
            );
        }
        labelled(paths, rows, duplicates)
    }
}

fn labelled(
    paths: &[std::path::PathBuf],
    rows: Vec<(Arc<Path>, Row)>,
    duplicates: Duplicates,
) -> Result<Labelled> {
    let mut examples = Vec::new();
    for (file, mut row) in rows {
        let label = row.fields.pop().expect("the label was asked for").trim().to_string();
        if label.is_empty() {
            return Err(Error::format(&file, format!("line {} has no label", row.line))
                .hint("label it or leave it out"));
        }
        examples.push(Example { texts: row.fields, label, place: Place { file, line: row.line } });
    }
    fn fields(example: &Example) -> Vec<&str> {
        example.texts.iter().chain([&example.label]).map(String::as_str).collect()
    }
    let (examples, cleaning) = clean(examples, fields, duplicates);
    if examples.is_empty() {
        let path = paths.first().map_or(Path::new("no file"), |path| path);
        return Err(Error::format(path, "there are no examples in it").hint("is it the right file?"));
    }
    let distinct: BTreeSet<&String> = examples.iter().map(|example| &example.label).collect();
    let mut labels: Vec<String> = distinct.into_iter().cloned().collect();
    if labels.iter().all(|label| label.parse::<f64>().is_ok_and(f64::is_finite)) {
        let number = |label: &String| label.parse::<f64>().expect("all are numbers");
        labels.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    Ok(Labelled { examples, labels, cleaning })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, format: TableFormat, header: Header, columns: &[&str]) -> Result<Vec<Row>> {
        let path = Path::new("t");
        let columns: Vec<Column> = columns.iter().map(|column| Column::parse(column)).collect();
        columns_of(
            Text::from_reader(path, std::io::Cursor::new(text.to_string())),
            path,
            format,
            header,
            &columns,
        )
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
        assert_eq!(fields("", Csv, Header::First, &[]), Vec::<Vec<String>>::new());
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
            ("t: there is no column \"c\"", "its first line names: a, b")
        );
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

    #[test]
    fn labels_are_sorted_as_numbers_if_they_are_numbers_and_what_is_empty_is_counted() {
        let row = |line, fields: [&str; 2]| Row { line, fields: fields.map(String::from).to_vec() };
        let set = |labels: [&str; 4]| {
            let texts = ["a", "b", " ", "b"];
            let rows =
                (0..4).map(|i| (Arc::from(Path::new("t")), row(i as u64, [texts[i], labels[i]]))).collect();
            labelled(&["t".into()], rows, Duplicates::Keep)
        };
        let numbers = set(["10", "9", "9", "9"]).unwrap();
        assert_eq!(numbers.labels, ["9", "10"]);
        assert_eq!((numbers.cleaning.duplicates, numbers.cleaning.empty, numbers.cleaning.kept), (1, 1, 3));
        assert_eq!(set(["pos", "neg", "neg", "pos"]).unwrap().labels, ["neg", "pos"]);
        assert_eq!(set(["1", "", "1", "1"]).unwrap_err().to_string(), "t: line 1 has no label");
        assert!(labelled(&["t".into()], Vec::new(), Duplicates::Keep).is_err());
    }
}
