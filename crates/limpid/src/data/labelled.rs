//! Labelled sets: the texts of a table, each with its class.

use super::clean::{Cleaner, Cleaning, Duplicates};
use super::table::{Column, Header, Row, Rows, TableFormat, read_rows};
use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

impl Example {
    /// All that makes it what it is.
    pub fn fields(&self) -> Vec<&str> {
        self.texts.iter().chain([&self.label]).map(String::as_str).collect()
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1 on.
    pub line: u64,
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

/// A labelled set in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The examples, in the order of the file.
    pub examples: Vec<Example>,
    /// The distinct labels, sorted: as numbers if all are numbers, else as text.
    pub labels: Vec<String>,
    /// What was left out.
    pub cleaning: Cleaning,
}

impl TableSpec {
    /// The examples of some files, one after another, as they are.
    pub fn examples<'a>(&'a self, paths: &'a [PathBuf]) -> impl Iterator<Item = Result<Example>> + 'a {
        let columns: Vec<Column> = self.texts.iter().chain([&self.label]).cloned().collect();
        paths.iter().flat_map(move |path| {
            let rows = self
                .format
                .map_or_else(|| TableFormat::of(path), Ok)
                .and_then(|format| read_rows(path, format, self.header, &columns));
            let file: Arc<Path> = Arc::from(path.as_path());
            rows_or_error(rows).map(move |row| example(&file, row?))
        })
    }

    /// Those that are left after cleaning.
    pub fn cleaned<'a>(
        &'a self,
        paths: &'a [PathBuf],
        cleaner: &'a mut Cleaner,
    ) -> impl Iterator<Item = Result<Example>> + 'a {
        self.examples(paths)
            .filter(move |example| example.as_ref().map_or(true, |example| cleaner.keeps(&example.fields())))
    }

    /// Reads one or several files as one labelled set, into memory.
    pub fn read(&self, paths: &[PathBuf], duplicates: Duplicates) -> Result<Labelled> {
        let mut cleaner = Cleaner::new(duplicates);
        let examples: Vec<Example> = self.cleaned(paths, &mut cleaner).collect::<Result<_>>()?;
        let labels = in_label_order(examples.iter().map(|example| example.label.clone()).collect(), paths)?;
        Ok(Labelled { examples, labels, cleaning: cleaner.found() })
    }
}

/// What cannot be opened is an error in place of the first row.
fn rows_or_error(rows: Result<Rows>) -> Rows {
    rows.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))))
}

fn example(file: &Arc<Path>, mut row: Row) -> Result<Example> {
    let label = row.fields.pop().expect("the label was asked for").trim().to_string();
    if label.is_empty() {
        return Err(
            Error::format(file, format!("line {} has no label", row.line)).hint("label it or leave it out")
        );
    }
    Ok(Example { texts: row.fields, label, place: Place { file: file.clone(), line: row.line } })
}

/// Labels in order: as numbers if all are numbers, else as text. `paths` is where they are from.
pub fn in_label_order(distinct: BTreeSet<String>, paths: &[PathBuf]) -> Result<Vec<String>> {
    if distinct.is_empty() {
        return Err(no_examples(paths));
    }
    let mut labels: Vec<String> = distinct.into_iter().collect();
    if labels.iter().all(|label| label.parse::<f64>().is_ok_and(f64::is_finite)) {
        let number = |label: &String| label.parse::<f64>().expect("all are numbers");
        labels.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    Ok(labels)
}

/// Labels as they are told to a reader: the first of very many.
pub fn listed(labels: &[String]) -> String {
    const MOST: usize = 20;
    match labels.get(..MOST) {
        Some(first) if labels.len() > MOST => format!("{}, … ({} in all)", first.join(", "), labels.len()),
        _ => labels.join(", "),
    }
}

/// What is said of files without a single example.
pub fn no_examples(paths: &[PathBuf]) -> Error {
    let path = paths.first().map_or(Path::new("no file"), |path| path);
    Error::format(path, "there are no examples in it").hint("is it the right file?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_very_many_labels_the_first_are_told() {
        let labels = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(listed(&labels(3)), "1, 2, 3");
        assert!(listed(&labels(20)).ends_with("19, 20"));
        assert!(listed(&labels(200)).ends_with("19, 20, … (200 in all)"));
    }

    #[test]
    fn labels_are_sorted_as_numbers_if_they_are_numbers_and_what_is_empty_is_counted() {
        let path = std::env::temp_dir().join(format!("limpid-labelled-{}.tsv", std::process::id()));
        let spec = TableSpec {
            format: None,
            header: Header::Missing,
            texts: vec![Column::Number(1)],
            label: Column::Number(2),
        };
        let set = |labels: [&str; 4]| {
            let rows: String =
                ["a", "b", " ", "b"].iter().zip(labels).map(|(t, l)| format!("{t}\t{l}\n")).collect();
            std::fs::write(&path, rows).unwrap();
            spec.read(std::slice::from_ref(&path), Duplicates::Keep)
        };
        let numbers = set(["10", "9", "9", "9"]).unwrap();
        assert_eq!(numbers.labels, ["9", "10"]);
        assert_eq!((numbers.cleaning.duplicates, numbers.cleaning.empty, numbers.cleaning.kept), (1, 1, 3));
        assert_eq!(numbers.examples[2].place.line, 4);
        assert_eq!(set(["pos", "neg", "neg", "pos"]).unwrap().labels, ["neg", "pos"]);
        assert!(set(["1", "", "1", "1"]).unwrap_err().to_string().ends_with("line 2 has no label"));
        std::fs::write(&path, "").unwrap();
        assert!(spec.read(std::slice::from_ref(&path), Duplicates::Keep).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
