//! `[data]`: the files of each task, and how they are read.

use super::Entries;
use super::section::section;
use super::settings::Settings;
use crate::data::clean::Duplicates;
use crate::data::labelled::TableSpec;
use crate::data::parallel::{Pairs, pair_table, parallel};
use crate::data::table::{Column, Header, TableFormat};
use crate::error::{Result, SettingError};
use crate::text::TextReader;
use std::path::{Path, PathBuf};

/// The share of the data that is held out where no validation files are given.
const VALIDATION_SPLIT: f64 = 0.1;

/// What a sequence of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As many tokens as fit, from anywhere in the text.
    Windows,
    /// A line; long ones are split.
    Lines,
    /// A line and the next one, or in half of the cases another (next-sentence prediction).
    Pairs,
}

section! {
    /// Plain text: of a language model, or of masked language modelling.
    pub struct TextData in "data" {
        /// Files to train on.
        text: Vec<PathBuf>,
        /// Files for validation.
        validation_text: Vec<PathBuf>,
        /// What a sequence is.
        unit: Unit,
        ;
        /// The share that is held out; `None` with validation files.
        validation_split: Option<f64>,
        /// What happens to duplicate lines; only lines are deduplicated.
        duplicates: Duplicates,
    }
}

impl TextData {
    pub(super) fn read(s: &mut Settings, units: &'static [Unit]) -> Result<Self> {
        let text = texts(s, "a language model or an encoder is trained on text")?;
        let unit = s.get("data.unit")?.unwrap_or(Unit::Windows);
        if !units.contains(&unit) {
            let (key, found) = ("data.unit".to_string(), "pairs".to_string());
            let expected = "one of windows, lines; bert has pairs".into();
            return Err(SettingError::Invalid { key, found, expected }.into());
        }
        let duplicates = match unit {
            Unit::Lines => duplicates(s)?,
            Unit::Windows | Unit::Pairs => Duplicates::Keep,
        };
        let validation_text: Vec<PathBuf> = s.get("data.validation_text")?.unwrap_or_default();
        let validation_split = validation_split(s, !validation_text.is_empty())?;
        Self::read_keys(s, Self { text, validation_text, unit, validation_split, duplicates })
    }

    pub(super) fn entries(&self, e: &mut Entries) {
        self.add_keys(e);
        e.add("data.validation_split", &self.validation_split);
        if self.unit == Unit::Lines {
            e.add("data.drop_duplicates", &(self.duplicates == Duplicates::Drop));
        }
    }
}

section! {
    /// Tables of labelled texts, of a classifier.
    pub struct LabelledData in "data" {
        /// Tables to train on.
        text: Vec<PathBuf>,
        /// Tables for validation.
        validation_text: Vec<PathBuf>,
        /// Format of the tables; by the extension of each file if `None`.
        format: Option<TableFormat>,
        /// The column of the text, or those of two texts.
        text_columns: Vec<Column>,
        /// The column of the label.
        label_column: Column,
        ;
        /// Whether the first line of a TSV or CSV file names the columns.
        header: bool,
        /// The share that is held out; `None` with validation files.
        validation_split: Option<f64>,
        /// What happens to duplicates.
        duplicates: Duplicates,
    }
}

impl LabelledData {
    pub(super) fn read(s: &mut Settings) -> Result<Self> {
        let format = s.get("data.format")?;
        let validation_text: Vec<PathBuf> = s.get("data.validation_text")?.unwrap_or_default();
        let defaults = Self {
            text: texts(s, "a classifier is trained on tables of labelled texts")?,
            validation_split: validation_split(s, !validation_text.is_empty())?,
            validation_text,
            format,
            text_columns: vec![Column::Name("text".into())],
            label_column: Column::Name("label".into()),
            header: !has_header(format) || s.get("data.header")?.unwrap_or(true),
            duplicates: duplicates(s)?,
        };
        let data = Self::read_keys(s, defaults)?;
        match data.text_columns.len() {
            1 | 2 => Ok(data),
            columns => Err(SettingError::OutOfRange {
                key: "data.text_columns".into(),
                found: format!("{columns} columns"),
                expected: "one or two".into(),
            }
            .into()),
        }
    }

    pub(super) fn entries(&self, e: &mut Entries) {
        self.add_keys(e);
        if has_header(self.format) {
            e.add("data.header", &self.header);
        }
        e.add("data.validation_split", &self.validation_split);
        e.add("data.drop_duplicates", &(self.duplicates == Duplicates::Drop));
    }

    /// How the tables are read.
    pub fn table(&self) -> TableSpec {
        TableSpec {
            format: self.format,
            header: if self.header { Header::First } else { Header::Missing },
            texts: self.text_columns.clone(),
            label: self.label_column.clone(),
        }
    }
}

/// Whether tables of a format may begin with a line of column names; those of an unknown one may.
fn has_header(format: Option<TableFormat>) -> bool {
    !matches!(format, Some(TableFormat::JsonLines | TableFormat::LabelFirst))
}

/// Sentence pairs, of an encoder-decoder.
#[derive(Clone, Debug, PartialEq)]
pub struct PairData {
    /// Pairs to train on.
    pub train: PairSource,
    /// Pairs for validation.
    pub validation: Option<PairSource>,
    /// Pairs on which the trained model is scored; without them, the validation pairs.
    pub test: Option<PairSource>,
    /// How tables of pairs are read.
    pub table: PairTable,
    /// The share that is held out; `None` with validation files.
    pub validation_split: Option<f64>,
    /// Longer pairs, by tokens of a side, are not trained on.
    pub max_tokens: Option<usize>,
    /// What happens to duplicates.
    pub duplicates: Duplicates,
}

/// Where pairs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairSource {
    /// Line n of the second file translates line n of the first.
    Parallel(PathBuf, PathBuf),
    /// Two columns of a table.
    Table(PathBuf),
}

impl PairSource {
    /// The table, if it is one.
    pub(in crate::train) fn table(&self) -> Option<&PathBuf> {
        match self {
            PairSource::Table(path) => Some(path),
            PairSource::Parallel(..) => None,
        }
    }
}

/// How tables of pairs are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairTable {
    /// By the extension of each file if `None`.
    pub format: Option<TableFormat>,
    /// Whether the first line of a TSV or CSV file names the columns. It does if a column is given
    /// by name.
    pub header: bool,
    /// The column of sources: 1 unless set, `source` in JSON Lines.
    pub source_column: Option<Column>,
    /// The column of targets: 2 unless set, `target` in JSON Lines.
    pub target_column: Option<Column>,
}

impl PairTable {
    /// A table, ready to be read.
    ///
    /// # Errors
    ///
    /// No format is set, and the extension of `path` is not one of a table; or the format has no
    /// two texts.
    pub fn at(&self, path: &Path) -> Result<PairFiles> {
        let format = self.format.map_or_else(|| TableFormat::from_extension(path), Ok)?;
        if format == TableFormat::LabelFirst {
            let (key, found) = ("data.format".to_string(), "label-first".to_string());
            let expected = "one of tsv, csv, jsonl for pairs".into();
            return Err(SettingError::Invalid { key, found, expected }.into());
        }
        let is_json = format == TableFormat::JsonLines;
        let column = |set: &Option<Column>, name: &str, number: usize| match set {
            Some(column) => column.clone(),
            None if is_json => Column::Name(name.into()),
            None => Column::Number(number),
        };
        let source = column(&self.source_column, "source", 1);
        let target = column(&self.target_column, "target", 2);
        let is_named = [&source, &target].iter().any(|column| matches!(column, Column::Name(_)));
        let header = if is_named || self.header { Header::First } else { Header::Missing };
        Ok(PairFiles::Table { path: path.to_path_buf(), format, header, source, target })
    }

    fn read(s: &mut Settings) -> Result<Self> {
        let format = s.get("data.format")?;
        let source_column = s.get("data.source_column")?;
        let target_column = s.get("data.target_column")?;
        let header = match has_header(format) {
            true => s.get("data.header")?,
            false => None,
        };
        let columns = [("source_column", &source_column), ("target_column", &target_column)];
        let named = columns.iter().find(|(_, column)| matches!(column, Some(Column::Name(_))));
        if let (Some(false), Some((name, _))) = (header, named) {
            let (key, other) = ("data.header".to_string(), format!("data.{name}"));
            let reason = "a column given by name needs a line of names".into();
            return Err(SettingError::Conflict { key, other, reason }.into());
        }
        let header = header.unwrap_or(named.is_some() && has_header(format));
        Ok(Self { format, header, source_column, target_column })
    }
}

impl PairData {
    pub(super) fn read(s: &mut Settings) -> Result<Self> {
        let train = source(s, ["data.source", "data.target", "data.pairs"])?;
        let train = train.ok_or(SettingError::Missing {
            key: "data.source",
            needs: "translation is trained on sentences and their translations",
        })?;
        let validation = source(
            s,
            ["data.validation_source", "data.validation_target", "data.validation_pairs"],
        )?;
        let test = source(s, ["data.test_source", "data.test_target", "data.test_pairs"])?;
        let all = [Some(&train), validation.as_ref(), test.as_ref()];
        let tables: Vec<&PathBuf> =
            all.into_iter().flatten().filter_map(PairSource::table).collect();
        let table = match tables.is_empty() {
            true => PairTable::default(),
            false => PairTable::read(s)?,
        };
        tables.into_iter().try_for_each(|path| table.at(path).map(drop))?;
        Ok(Self {
            train,
            test,
            table,
            validation_split: validation_split(s, validation.is_some())?,
            validation,
            max_tokens: s.get("data.max_tokens")?,
            duplicates: duplicates(s)?,
        })
    }

    pub(super) fn entries(&self, e: &mut Entries) {
        let all = [
            (Some(&self.train), ["data.source", "data.target", "data.pairs"]),
            (
                self.validation.as_ref(),
                ["data.validation_source", "data.validation_target", "data.validation_pairs"],
            ),
            (self.test.as_ref(), ["data.test_source", "data.test_target", "data.test_pairs"]),
        ];
        for (from, [source, target, pairs]) in all {
            match from {
                Some(PairSource::Parallel(sources, targets)) => {
                    e.add(source, sources);
                    e.add(target, targets);
                }
                Some(PairSource::Table(path)) => e.add(pairs, path),
                None => {}
            }
        }
        if self.has_table() {
            e.add("data.format", &self.table.format);
            if has_header(self.table.format) {
                e.add("data.header", &self.table.header);
            }
            e.add("data.source_column", &self.table.source_column);
            e.add("data.target_column", &self.table.target_column);
        }
        e.add("data.validation_split", &self.validation_split);
        e.add("data.max_tokens", &self.max_tokens);
        e.add("data.drop_duplicates", &(self.duplicates == Duplicates::Drop));
    }

    /// Whether any of the pairs are in a table.
    pub(super) fn has_table(&self) -> bool {
        let all = [Some(&self.train), self.validation.as_ref(), self.test.as_ref()];
        all.into_iter().flatten().any(|source| source.table().is_some())
    }

    fn files(&self, source: &PairSource) -> PairFiles {
        match source {
            PairSource::Parallel(source, target) => {
                PairFiles::Parallel(source.clone(), target.clone())
            }
            PairSource::Table(path) => self.table.at(path).expect("the format was checked"),
        }
    }

    /// The training pairs.
    pub fn training_pairs(&self) -> PairFiles {
        self.files(&self.train)
    }

    /// The validation pairs, if they are in files of their own.
    pub fn validation_pairs(&self) -> Option<PairFiles> {
        self.validation.as_ref().map(|source| self.files(source))
    }

    /// The test pairs.
    pub fn test_pairs(&self) -> Option<PairFiles> {
        self.test.as_ref().map(|source| self.files(source))
    }
}

/// Pairs on disk, ready to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairFiles {
    /// Line n of the second file translates line n of the first.
    Parallel(PathBuf, PathBuf),
    /// A TSV, CSV or JSON Lines file.
    Table {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: TableFormat,
        /// Whether its first line names the columns.
        header: Header,
        /// The column of sources.
        source: Column,
        /// The column of targets.
        target: Column,
    },
}

impl PairFiles {
    /// All pairs, in order, one at a time.
    ///
    /// # Errors
    ///
    /// A file cannot be opened.
    pub fn pairs(&self) -> Result<Pairs> {
        match self {
            PairFiles::Parallel(source, target) => {
                Ok(parallel(TextReader::open(source)?, TextReader::open(target)?))
            }
            PairFiles::Table { path, format, header, source, target } => {
                pair_table(path, (*format, *header), source, target)
            }
        }
    }

    /// The files.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            PairFiles::Parallel(source, target) => vec![source.clone(), target.clone()],
            PairFiles::Table { path, .. } => vec![path.clone()],
        }
    }

    /// The file of the source and that of the target.
    pub fn sides(&self) -> [&Path; 2] {
        match self {
            PairFiles::Parallel(source, target) => [source, target],
            PairFiles::Table { path, .. } => [path, path],
        }
    }

    /// How they are read, in words.
    pub(in crate::train) fn how(&self) -> String {
        match self {
            PairFiles::Parallel(..) => "parallel lines".into(),
            PairFiles::Table { format, header, source, target, .. } => {
                format!("{format:?} table, header {header:?}, columns {source:?} and {target:?}")
            }
        }
    }
}

/// `data.text`, which must name a file.
fn texts(s: &mut Settings, needs: &'static str) -> Result<Vec<PathBuf>> {
    match s.get("data.text")? {
        Some(files) if !Vec::is_empty(&files) => Ok(files),
        _ => Err(SettingError::Missing { key: "data.text", needs }.into()),
    }
}

/// The share that is held out, unless files for validation are given.
fn validation_split(s: &mut Settings, has_files: bool) -> Result<Option<f64>> {
    match has_files {
        true => Ok(None),
        false => Ok(Some(s.get("data.validation_split")?.unwrap_or(VALIDATION_SPLIT))),
    }
}

fn duplicates(s: &mut Settings) -> Result<Duplicates> {
    Ok(match s.get("data.drop_duplicates")? {
        Some(true) => Duplicates::Drop,
        _ => Duplicates::Keep,
    })
}

/// Pairs from two parallel files or one table, not both.
fn source(
    s: &mut Settings,
    [source, target, pairs]: [&'static str; 3],
) -> Result<Option<PairSource>> {
    let found = (s.get(source)?, s.get(target)?, s.get(pairs)?);
    let conflict = |key: &str| {
        let (key, other) = (key.to_string(), pairs.to_string());
        let reason = "pairs are in two parallel files, or in two columns of one table".into();
        Err(SettingError::Conflict { key, other, reason }.into())
    };
    let missing = |key| {
        let needs = "parallel files come in two, source and target";
        Err(SettingError::Missing { key, needs }.into())
    };
    match found {
        (None, None, None) => Ok(None),
        (Some(source), Some(target), None) => Ok(Some(PairSource::Parallel(source, target))),
        (None, None, Some(path)) => Ok(Some(PairSource::Table(path))),
        (Some(_), _, Some(_)) => conflict(source),
        (None, Some(_), Some(_)) => conflict(target),
        (Some(_), None, None) => missing(target),
        (None, Some(_), None) => missing(source),
    }
}
