//! Labelled datasets: the texts of a table, each with its label.
//!
//! ```
//! use limpid::data::clean::Duplicates;
//! use limpid::data::labelled::TableSpec;
//! use limpid::data::table::{Column, Header};
//!
//! let file = std::env::temp_dir().join("limpid-doc-labelled.tsv");
//! std::fs::write(&file, "text\tlabel\nA delight.\tgood\nA bore.\tbad\n").unwrap();
//! let [text, label] = ["text", "label"].map(Column::parse);
//! let spec = TableSpec { format: None, header: Header::First, texts: vec![text], label };
//! let set = spec.read(&[file.clone()], Duplicates::Keep)?;
//! assert_eq!(set.labels, ["bad", "good"]);
//! assert_eq!(set.examples[0].texts, ["A delight."]);
//! # std::fs::remove_file(&file).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::clean::{Cleaner, Cleaning, Duplicates};
use super::sequence_file::Record;
use super::table::{Column, Header, Row, TableFormat, read_rows};
use crate::error::{DataError, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text, or a pair of texts, and its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// One text, or two.
    pub texts: Vec<String>,
    /// The label as the file spells it.
    pub label: String,
    /// Where it was read.
    pub location: Location,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: u64,
}

/// How a labelled dataset is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSpec {
    /// The format; `None` takes it from the file's extension.
    pub format: Option<TableFormat>,
    /// Whether the first line is a header.
    pub header: Header,
    /// The columns of the text or texts.
    pub texts: Vec<Column>,
    /// The column of the label.
    pub label: Column,
}

/// A labelled dataset in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledSet {
    /// The examples, in the order of the file.
    pub examples: Vec<Example>,
    /// The distinct labels, sorted: as numbers if all are numbers, else as text.
    pub labels: Vec<String>,
    /// What was left out.
    pub cleaning: Cleaning,
}

impl TableSpec {
    /// The examples of some files, one after another, uncleaned. A file that cannot be opened
    /// yields an error in place of its examples.
    pub fn examples<'a>(
        &'a self,
        paths: &'a [PathBuf],
    ) -> impl Iterator<Item = Result<Example>> + 'a {
        let columns: Vec<Column> = self.texts.iter().chain([&self.label]).cloned().collect();
        paths.iter().flat_map(move |path| {
            let rows = self
                .format
                .map_or_else(|| TableFormat::from_extension(path), Ok)
                .and_then(|format| read_rows(path, format, self.header, &columns));
            let file: Arc<Path> = Arc::from(path.as_path());
            let rows = rows.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))));
            rows.map(move |row| example(&file, row?))
        })
    }

    /// The examples that remain after cleaning.
    pub fn cleaned<'a>(
        &'a self,
        paths: &'a [PathBuf],
        cleaner: &'a mut Cleaner,
    ) -> impl Iterator<Item = Result<Example>> + 'a {
        self.examples(paths).filter(move |example| {
            example.as_ref().map_or(true, |example| cleaner.keep(&example.fields()))
        })
    }

    /// Reads some files as one dataset, into memory.
    /// # Errors
    /// If a file or a row cannot be read, a label is missing, or there are no examples.
    pub fn read(&self, paths: &[PathBuf], duplicates: Duplicates) -> Result<LabelledSet> {
        let mut cleaner = Cleaner::new(duplicates);
        let examples: Vec<Example> = self.cleaned(paths, &mut cleaner).collect::<Result<_>>()?;
        let labels =
            sorted_labels(examples.iter().map(|example| example.label.clone()).collect(), paths)?;
        Ok(LabelledSet { examples, labels, cleaning: cleaner.stats() })
    }
}

fn example(file: &Arc<Path>, mut row: Row) -> Result<Example> {
    let label = row.fields.pop().expect("the label column was requested").trim().to_string();
    if label.is_empty() {
        return Err(DataError::NoLabel { path: file.to_path_buf(), line: row.line }.into());
    }
    let location = Location { file: file.clone(), line: row.line };
    Ok(Example { texts: row.fields, label, location })
}

/// Labels in order: as numbers if all are numbers, else as text. `paths` is for the error.
/// # Errors
/// [`DataError::NoExamples`] if there are none.
pub fn sorted_labels(distinct: BTreeSet<String>, paths: &[PathBuf]) -> Result<Vec<String>> {
    if distinct.is_empty() {
        return Err(no_examples(paths).into());
    }
    let mut labels: Vec<String> = distinct.into_iter().collect();
    if labels.iter().all(|label| label.parse::<f64>().is_ok_and(f64::is_finite)) {
        let number = |label: &String| label.parse::<f64>().expect("all are numbers");
        labels.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    Ok(labels)
}

/// Labels as a message lists them: the first twenty of many.
pub fn label_list(labels: &[String]) -> String {
    const MOST: usize = 20;
    match labels.get(..MOST) {
        Some(first) if labels.len() > MOST => {
            format!("{}, … ({} in all)", first.join(", "), labels.len())
        }
        _ => labels.join(", "),
    }
}

/// The error for files without a single example.
pub fn no_examples(paths: &[PathBuf]) -> DataError {
    DataError::NoExamples { files: paths.to_vec(), what: "examples" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_labels_the_first_are_listed() {
        let labels = |n: usize| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>();
        assert_eq!(label_list(&labels(3)), "1, 2, 3");
        assert!(label_list(&labels(20)).ends_with("19, 20"));
        assert!(label_list(&labels(200)).ends_with("19, 20, … (200 in all)"));
    }

    #[test]
    fn labels_are_sorted_as_numbers_if_they_are_numbers_and_empty_texts_are_counted() {
        let path = std::env::temp_dir().join(format!("limpid-labelled-{}.tsv", std::process::id()));
        let spec = TableSpec {
            format: None,
            header: Header::Missing,
            texts: vec![Column::Number(1)],
            label: Column::Number(2),
        };
        let set = |labels: [&str; 4]| {
            let rows: String = ["a", "b", " ", "b"]
                .iter()
                .zip(labels)
                .map(|(t, l)| format!("{t}\t{l}\n"))
                .collect();
            std::fs::write(&path, rows).unwrap();
            spec.read(std::slice::from_ref(&path), Duplicates::Keep)
        };
        let numbers = set(["10", "9", "9", "9"]).unwrap();
        assert_eq!(numbers.labels, ["9", "10"]);
        assert_eq!(
            (numbers.cleaning.duplicates, numbers.cleaning.empty, numbers.cleaning.kept),
            (1, 1, 3)
        );
        assert_eq!(numbers.examples[2].location.line, 4);
        assert_eq!(set(["pos", "neg", "neg", "pos"]).unwrap().labels, ["neg", "pos"]);
        assert!(set(["1", "", "1", "1"]).unwrap_err().to_string().ends_with("line 2 has no label"));
        std::fs::write(&path, "").unwrap();
        assert!(spec.read(std::slice::from_ref(&path), Duplicates::Keep).is_err());
        std::fs::remove_file(&path).unwrap();
    }
}
