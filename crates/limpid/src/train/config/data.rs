//! `[data]`: the files of each task, and how they are read.

use super::TaskKind;
use super::section::{Keys, Section, section};
use super::settings::Settings;
use crate::data::clean::Duplicates;
use crate::data::labelled::{LabelKind, TableSpec};
use crate::data::parallel::PairFiles;
use crate::data::table::{Column, Header, TableFormat};
use crate::error::{Result, SettingError};
use crate::model::config::ProblemType;
use crate::nn::named;
use std::path::{Path, PathBuf};

/// The share of the data that is held out where no validation files are given.
pub(super) const VALIDATION_SPLIT: f64 = 0.1;

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

named!(Unit, "unit", "windows" => Windows, "lines" => Lines, "pairs" => Pairs);

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
    pub(super) fn read_for(s: &mut Settings, task: TaskKind) -> Result<Self> {
        let data = Self {
            text: texts(s, "a language model or an encoder is trained on text")?,
            validation_text: Vec::new(),
            unit: Unit::Windows,
            validation_split: Some(VALIDATION_SPLIT),
            duplicates: Duplicates::Keep,
        };
        let data = data.read(s)?;
        if data.unit == Unit::Pairs && task != TaskKind::Bert {
            let (key, found) = ("data.unit".to_string(), "pairs".to_string());
            let expected = "one of windows, lines; bert has pairs".into();
            return Err(SettingError::Invalid { key, found, expected }.into());
        }
        Ok(data)
    }
}

impl Section for TextData {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.own_keys(keys)?;
        let is_lines = self.unit == Unit::Lines;
        keys.key_if(is_lines, "data.drop_duplicates", &mut self.duplicates)?;
        split_key(keys, &mut self.validation_split, !self.validation_text.is_empty())
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
        /// What the label is: `model.problem_type` says so, and `data.label_separator` stands
        /// between several.
        labels: LabelKind,
    }
}

impl LabelledData {
    pub(super) fn read_keys(s: &mut Settings, problem: ProblemType) -> Result<Self> {
        let data = Self {
            text: texts(s, "a classifier is trained on tables of labelled texts")?,
            validation_text: Vec::new(),
            format: None,
            text_columns: vec![Column::Name("text".into())],
            label_column: Column::Name("label".into()),
            header: true,
            validation_split: Some(VALIDATION_SPLIT),
            duplicates: Duplicates::Keep,
            labels: match problem {
                ProblemType::SingleLabel => LabelKind::One,
                ProblemType::Regression => LabelKind::Number,
                ProblemType::MultiLabel => LabelKind::Several { separator: ',' },
            },
        };
        let data = data.read(s)?;
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

    /// How the tables are read.
    pub fn table(&self) -> TableSpec {
        TableSpec {
            format: self.format,
            header: if self.header { Header::First } else { Header::Missing },
            texts: self.text_columns.clone(),
            label: self.label_column.clone(),
            labels: self.labels,
        }
    }
}

impl Section for LabelledData {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.own_keys(keys)?;
        keys.key_if(has_header(self.format), "data.header", &mut self.header)?;
        if let LabelKind::Several { separator } = &mut self.labels {
            keys.key("data.label_separator", separator)?;
        }
        keys.key("data.drop_duplicates", &mut self.duplicates)?;
        split_key(keys, &mut self.validation_split, !self.validation_text.is_empty())
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
    /// The language of the sources, of a multilingual model; `None`: that of its folder.
    pub source_lang: Option<String>,
    /// The language of the targets, of a multilingual model; `None`: that of its folder.
    pub target_lang: Option<String>,
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

section! {
    /// How tables of pairs are read.
    #[derive(Default)]
    pub struct PairTable in "data" {
        /// By the extension of each file if `None`.
        format: Option<TableFormat>,
        /// The column of sources: 1 unless set, `source` in JSON Lines.
        source_column: Option<Column>,
        /// The column of targets: 2 unless set, `target` in JSON Lines.
        target_column: Option<Column>,
        ;
        /// Whether the first line of a TSV or CSV file names the columns. It does if a column is
        /// given by name.
        header: bool,
    }
}

impl PairTable {
    /// A table, ready to be read.
    ///
    /// # Errors
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

    fn read_keys(s: &mut Settings) -> Result<Self> {
        let mut table = Self::default().read(s)?;
        let columns = [
            ("data.source_column", &table.source_column),
            ("data.target_column", &table.target_column),
        ];
        let named = columns.iter().find(|(_, column)| matches!(column, Some(Column::Name(_))));
        if let Some((other, _)) = named.filter(|_| has_header(table.format)) {
            if s.get("data.header")? == Some(false) {
                let (key, other) = ("data.header".to_string(), other.to_string());
                let reason = "a column given by name needs a line of names".into();
                return Err(SettingError::Conflict { key, other, reason }.into());
            }
            table.header = true;
        }
        Ok(table)
    }
}

impl Section for PairTable {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.own_keys(keys)?;
        keys.key_if(has_header(self.format), "data.header", &mut self.header)
    }
}

/// The keys of the pairs of a split: two parallel files, or a table.
type PairKeys = [&'static str; 3];
const TRAIN: PairKeys = ["data.source", "data.target", "data.pairs"];
const VALIDATION: PairKeys =
    ["data.validation_source", "data.validation_target", "data.validation_pairs"];
const TEST: PairKeys = ["data.test_source", "data.test_target", "data.test_pairs"];

impl PairData {
    pub(super) fn read_keys(s: &mut Settings) -> Result<Self> {
        let train = pair_keys(&mut Keys::Read(s), TRAIN, None)?;
        let mut data = Self {
            train: train.ok_or(SettingError::Missing {
                key: "data.source",
                needs: "translation is trained on sentences and their translations",
            })?,
            validation: pair_keys(&mut Keys::Read(s), VALIDATION, None)?,
            test: pair_keys(&mut Keys::Read(s), TEST, None)?,
            table: PairTable::default(),
            validation_split: Some(VALIDATION_SPLIT),
            source_lang: None,
            target_lang: None,
            max_tokens: None,
            duplicates: Duplicates::Keep,
        };
        if data.has_table() {
            data.table = PairTable::read_keys(s)?;
        }
        data.tables().try_for_each(|path| data.table.at(path).map(drop))?;
        data.read(s)
    }

    /// The pairs that are in tables.
    fn tables(&self) -> impl Iterator<Item = &PathBuf> {
        let all = [Some(&self.train), self.validation.as_ref(), self.test.as_ref()];
        all.into_iter().flatten().filter_map(PairSource::table)
    }

    /// Whether any of the pairs are in a table.
    pub(super) fn has_table(&self) -> bool {
        self.tables().next().is_some()
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

impl Section for PairData {
    fn keys(&mut self, keys: &mut Keys) -> Result<()> {
        self.train = pair_keys(keys, TRAIN, Some(self.train.clone()))?.expect("there were some");
        self.validation = pair_keys(keys, VALIDATION, self.validation.take())?;
        self.test = pair_keys(keys, TEST, self.test.take())?;
        if self.has_table() {
            self.table.keys(keys)?;
        }
        keys.key("data.source_lang", &mut self.source_lang)?;
        keys.key("data.target_lang", &mut self.target_lang)?;
        keys.key("data.max_tokens", &mut self.max_tokens)?;
        keys.key("data.drop_duplicates", &mut self.duplicates)?;
        split_key(keys, &mut self.validation_split, self.validation.is_some())
    }
}

/// `data.text`, which must name a file.
pub(super) fn texts(s: &mut Settings, needs: &'static str) -> Result<Vec<PathBuf>> {
    match s.get("data.text")? {
        Some(files) if !Vec::is_empty(&files) => Ok(files),
        _ => Err(SettingError::Missing { key: "data.text", needs }.into()),
    }
}

/// The share that is held out, unless files for validation are given.
pub(super) fn split_key(keys: &mut Keys, split: &mut Option<f64>, has_files: bool) -> Result<()> {
    if has_files {
        *split = None;
        return Ok(());
    }
    keys.key("data.validation_split", split)
}

/// Pairs from two parallel files or one table, not both.
fn pair_keys(
    keys: &mut Keys,
    [source, target, pairs]: PairKeys,
    from: Option<PairSource>,
) -> Result<Option<PairSource>> {
    let (mut sources, mut targets, mut table) = match from {
        Some(PairSource::Parallel(sources, targets)) => (Some(sources), Some(targets), None),
        Some(PairSource::Table(table)) => (None, None, Some(table)),
        None => (None, None, None),
    };
    keys.key(source, &mut sources)?;
    keys.key(target, &mut targets)?;
    keys.key(pairs, &mut table)?;
    let conflict = |key: &str| {
        let (key, other) = (key.to_string(), pairs.to_string());
        let reason = "pairs are in two parallel files, or in two columns of one table".into();
        Err(SettingError::Conflict { key, other, reason }.into())
    };
    let missing = |key| {
        let needs = "parallel files come in two, source and target";
        Err(SettingError::Missing { key, needs }.into())
    };
    match (sources, targets, table) {
        (None, None, None) => Ok(None),
        (Some(source), Some(target), None) => Ok(Some(PairSource::Parallel(source, target))),
        (None, None, Some(path)) => Ok(Some(PairSource::Table(path))),
        (Some(_), _, Some(_)) => conflict(source),
        (None, Some(_), Some(_)) => conflict(target),
        (Some(_), None, None) => missing(target),
        (None, Some(_), None) => missing(source),
    }
}
