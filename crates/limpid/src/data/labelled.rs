//! Labelled datasets: the texts of a table, each with its label.
//!
//! ```
//! use limpid::data::clean::Duplicates;
//! use limpid::data::labelled::{LabelKind, TableSpec};
//! use limpid::data::table::{Column, Header};
//!
//! let file = std::env::temp_dir().join("limpid-doc-labelled.tsv");
//! std::fs::write(&file, "text\tlabel\nA delight.\tgood\nA bore.\tbad\n").unwrap();
//! let [text, label] = ["text", "label"].map(Column::parse);
//! let labels = LabelKind::One;
//! let spec = TableSpec { format: None, header: Header::First, texts: vec![text], label, labels };
//! let set = spec.read(&[file.clone()], Duplicates::Keep)?;
//! assert_eq!(set.labels, ["bad", "good"]);
//! assert_eq!(set.examples[0].texts, ["A delight."]);
//! # std::fs::remove_file(&file).unwrap();
//! # Ok::<(), limpid::error::Error>(())
//! ```

use super::clean::{Cleaner, Cleaning, Duplicates};
use super::sequence_file::Record;
use super::table::{Column, Header, Row, TableFormat, read_rows};
use crate::error::{DataError, Result, RowError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text, or a pair of texts, and its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// One text, or two.
    pub texts: Vec<String>,
    /// The label as the file spells it; several as a JSON array.
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

/// What the label of an example is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelKind {
    /// The name of the one that applies.
    One,
    /// A number, the target of a regression.
    Number,
    /// The names of those that apply, any number of them: a JSON array, or text with a character
    /// between the names.
    Several {
        /// That character.
        separator: char,
    },
}

impl LabelKind {
    /// The label of an example as it is kept.
    fn read(self, found: &str) -> Result<String, RowError> {
        match self {
            Self::One => {}
            Self::Number => {
                if number(found).is_none() {
                    return Err(RowError::NotANumber { label: found.into() });
                }
            }
            Self::Several { separator } => {
                let names = match found.starts_with('[') {
                    true => {
                        array(found).ok_or_else(|| RowError::NotLabels { labels: found.into() })?
                    }
                    false => {
                        let names = found.split(separator).map(str::trim);
                        names.filter(|name| !name.is_empty()).map(String::from).collect()
                    }
                };
                return Ok(Value::from(names).to_string());
            }
        }
        Ok(found.to_string())
    }
}

/// A finite number.
fn number(text: &str) -> Option<f32> {
    text.parse().ok().filter(|number: &f32| number.is_finite())
}

/// The names in a JSON array of strings or numbers.
fn array(text: &str) -> Option<Vec<String>> {
    let name = |value: &Value| match value {
        Value::String(name) => Some(name.trim().to_string()).filter(|name| !name.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    serde_json::from_str::<Vec<Value>>(text).ok()?.iter().map(name).collect()
}

impl Example {
    /// The label as a number.
    /// # Panics
    /// If it is not one: [`LabelKind::Number`] refuses others.
    pub fn number(&self) -> f32 {
        number(&self.label).expect("the label is a number")
    }

    /// The labels that apply.
    /// # Panics
    /// If they are not an array: [`LabelKind::Several`] makes one.
    pub fn names(&self) -> Vec<String> {
        array(&self.label).expect("the labels are an array")
    }
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
    /// What the label is.
    pub labels: LabelKind,
}

/// A labelled dataset in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledSet {
    /// The examples, in the order of the file.
    pub examples: Vec<Example>,
    /// The distinct labels, sorted: as numbers if all are numbers, else as text. None of a
    /// regression.
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
        let label = match (self.labels, &self.label) {
            (LabelKind::Several { .. }, Column::Name(name)) => Column::List(name.clone()),
            (_, column) => column.clone(),
        };
        let columns: Vec<Column> = self.texts.iter().cloned().chain([label]).collect();
        paths.iter().flat_map(move |path| {
            let rows = self
                .format
                .map_or_else(|| TableFormat::from_extension(path), Ok)
                .and_then(|format| read_rows(path, format, self.header, &columns));
            let file: Arc<Path> = Arc::from(path.as_path());
            let rows = rows.unwrap_or_else(|error| Box::new(std::iter::once(Err(error))));
            rows.map(move |row| self.example(&file, row?))
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

    /// The names of an example's labels; none of a regression.
    pub fn names(&self, example: &Example) -> Vec<String> {
        match self.labels {
            LabelKind::One => vec![example.label.clone()],
            LabelKind::Number => Vec::new(),
            LabelKind::Several { .. } => example.names(),
        }
    }

    fn example(&self, file: &Arc<Path>, mut row: Row) -> Result<Example> {
        let path = || file.to_path_buf();
        let found = row.fields.pop().expect("the label column was requested").trim().to_string();
        // Of several labels, none may apply.
        if found.is_empty() && !matches!(self.labels, LabelKind::Several { .. }) {
            return Err(DataError::NoLabel { path: path(), line: row.line }.into());
        }
        let bad_row = |problem| DataError::Row { path: path(), line: row.line, problem };
        let label = self.labels.read(&found).map_err(bad_row)?;
        let location = Location { file: file.clone(), line: row.line };
        Ok(Example { texts: row.fields, label, location })
    }

    /// Reads some files as one dataset, into memory.
    /// # Errors
    /// If a file or a row cannot be read, a label is missing, or there are no examples.
    pub fn read(&self, paths: &[PathBuf], duplicates: Duplicates) -> Result<LabelledSet> {
        let mut cleaner = Cleaner::new(duplicates);
        let examples: Vec<Example> = self.cleaned(paths, &mut cleaner).collect::<Result<_>>()?;
        if examples.is_empty() {
            return Err(no_examples(paths).into());
        }
        let distinct = examples.iter().flat_map(|example| self.names(example)).collect();
        let labels = sorted_labels(distinct);
        Ok(LabelledSet { examples, labels, cleaning: cleaner.stats() })
    }
}

/// Labels in order: as numbers if all are numbers, else as text.
pub fn sorted_labels(distinct: BTreeSet<String>) -> Vec<String> {
    let mut labels: Vec<String> = distinct.into_iter().collect();
    if labels.iter().all(|label| label.parse::<f64>().is_ok_and(f64::is_finite)) {
        let number = |label: &String| label.parse::<f64>().expect("all are numbers");
        labels.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    labels
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
            labels: LabelKind::One,
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

    #[test]
    fn a_number_is_a_number_and_several_labels_are_an_array_or_text_with_separators() {
        let several = LabelKind::Several { separator: ',' };
        for (kind, found, expected) in [
            (LabelKind::One, "1,2", Ok("1,2")),
            (LabelKind::Number, "-2.5", Ok("-2.5")),
            (LabelKind::Number, "nan", Err("label 'nan' is not a number")),
            (LabelKind::Number, "good", Err("label 'good' is not a number")),
            (several, "b, a", Ok(r#"["b","a"]"#)),
            (several, "", Ok("[]")),
            (several, r#"["a, b", 3]"#, Ok(r#"["a, b","3"]"#)),
            (several, "[[1]]", Err("labels [[1]] are not an array of strings")),
        ] {
            let read = kind.read(found).map_err(|problem| problem.to_string());
            assert_eq!(
                read.as_deref(),
                expected.map_err(String::from).as_ref().copied(),
                "{found}"
            );
        }
    }
}
